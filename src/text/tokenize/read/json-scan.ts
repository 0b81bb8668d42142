// JSON scan. In: text that grows. Out: where an object or array in it ends, without parsing incomplete JSON.
import { MOST_DEPTH } from '../../../base/json.ts'

/**
 * Follows brackets and strings from `at` in a growing text; only the parser decides whether the contents are
 * JSON. Returns the index after the value, undefined while it is incomplete, or -1 when it is not an object
 * or array or nests too deeply.
 */
export function jsonScan(at: number): (text: string) => number | undefined {
  let depth = 0
  let isString = false
  let isEscaped = false
  return (text) => {
    for (; at < text.length; at++) {
      const char = text[at]!
      if (isString) {
        isString = isEscaped || char !== '"'
        isEscaped = !isEscaped && char === '\\'
      } else if (char === '{' || char === '[') {
        depth += 1
        if (depth > MOST_DEPTH) return -1
      } else if (depth === 0 && !/\s/.test(char)) return -1
      else if (char === '"') isString = true
      else if (char === '}' || char === ']') {
        depth -= 1
        if (depth === 0) return at + 1
      }
    }
    return undefined
  }
}
