// Parses untrusted JSON, and rejects hostile text before it exhausts memory or stack.

import { HalfbyteError } from './errors.ts'

/**
 * Browsers can send about 6,000 levels and receive about 1,500. They drop deeper messages without an error.
 */
const MAX_LEVELS = 256

/** Throws `unsupported` for values nested deeper than MAX_LEVELS, which circular values always are. */
export function checkLevels(value: unknown): void {
  if (countValues(value, MAX_LEVELS) !== undefined) return
  throw new HalfbyteError(
    'unsupported',
    `a value is nested more than ${MAX_LEVELS} levels or contains itself, so it cannot be passed to the engine; flatten it`,
    { most: MAX_LEVELS },
  )
}

/**
 * Counts a value and all values in it; shared values count each time they occur. Returns undefined if lists
 * and objects nest deeper than `levels`. Calls `onLeaf` with each value that is neither a list nor an object.
 */
export function countValues(
  value: unknown,
  levels: number,
  onLeaf?: (leaf: unknown) => void,
): number | undefined {
  let count = 0
  // How often each object of a level occurs. Each object is visited only once, so shared children do not
  // multiply the work.
  let level = new Map<object, number>()
  const add = (each: unknown, times: number) => {
    count += times
    if (typeof each === 'object' && each !== null) level.set(each, (level.get(each) ?? 0) + times)
    else onLeaf?.(each)
  }
  add(value, 1)
  for (let depth = 0; level.size > 0; depth++) {
    if (depth === levels) return undefined
    const above = level
    level = new Map()
    for (const [each, times] of above) {
      if (ArrayBuffer.isView(each)) continue
      for (const child of Object.values(each)) add(child, times)
    }
  }
  return count
}

/** Limit of nested brackets. Code that walks the parsed value may recurse this deep. */
export const MAX_DEPTH = 128
/**
 * Limit of opening brackets and commas; each value takes up to 60 bytes. A tokenizer of 262,144 tokens and
 * 514,906 merges has 1.8 million.
 */
const MAX_VALUES = 1 << 22

/** Python writes two numbers that JSON lacks: `Infinity` is kept as a number, `NaN` becomes null. */
const PYTHON = { I: ['Infinity', '1e999'], N: ['NaN', 'null'] } as const

/**
 * Parses JSON of up to `most` levels. `isPython`: accepts Python's `Infinity` and `NaN`. Throws SyntaxError
 * beyond the limits.
 */
export function parseJson(text: string, most = MAX_DEPTH, isPython = true): unknown {
  let depth = 0
  let values = 0
  let done = 0
  let before = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    } else if (char === '[' || char === '{') {
      depth++
      values++
    } else if (char === ']' || char === '}') depth--
    else if (char === ',') values++
    else if (isPython && (char === 'I' || char === 'N')) {
      const [word, written] = PYTHON[char]
      if (!text.startsWith(word, at)) continue
      before += text.slice(done, at) + written
      done = at + word.length
      at = done - 1
      values++
    }
    if (depth > most) throw new SyntaxError(`it is nested more than ${most} levels deep`)
    if (values > MAX_VALUES) throw new SyntaxError(`it has more than ${MAX_VALUES} values`)
  }
  return JSON.parse(before + text.slice(done))
}

interface JsonPart {
  /** Empty for list items. */
  readonly name: string
  /** The value as it was written. */
  readonly text: string
}

/** The members of an object, or the items of a list, whose text is JSON. */
export function jsonParts(text: string): readonly JsonPart[] {
  const parts: JsonPart[] = []
  let depth = 0
  let start = 1
  let name = ''
  const add = (end: number) => {
    const part = text.slice(start, end).trim()
    if (part !== '') parts.push({ name, text: part })
    start = end + 1
    name = ''
  }
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === '\\') at++
    } else if (char === '{' || char === '[') depth += 1
    else if (char === '}' || char === ']') {
      depth -= 1
      if (depth === 0) add(at)
    } else if (char === ',' && depth === 1) add(at)
    else if (char === ':' && depth === 1) {
      name = JSON.parse(text.slice(start, at))
      start = at + 1
    }
  }
  return parts
}
