// JSON scan. In: text in pieces. Out: where one object or array ends in it, without parsing what is not there yet.
import { MOST_DEPTH } from '../../base/json.ts'

/**
 * Follows brackets and strings from `at` of a text that grows; whether what they hold is JSON is for the parser to say. The
 * answer is the index behind the value; undefined while it is not whole; -1 when what is there is no object or array, or nests too deep.
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
