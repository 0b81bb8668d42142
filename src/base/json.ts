// Parses untrusted JSON, and refuses it before a hostile text exhausts memory or stack.

import { HalfbyteError } from './errors.ts'

/**
 * Browsers can send about 6,000 levels and receive about 1,500. They drop deeper messages without an error.
 */
const MOST_LEVELS = 256

/**
 * Throws `unsupported` for a value with more nested lists and objects than that. A circular value always has
 * more.
 */
export function checkLevels(value: unknown): void {
  let level: readonly object[] = [[value]]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS)
      throw new HalfbyteError(
        'unsupported',
        `a value nests more than ${MOST_LEVELS} levels or comes back to itself, so the engine cannot be given it; flatten it`,
        { most: MOST_LEVELS },
      )
    // Visit each object once per level: objects that share children could otherwise multiply without limit.
    const below = new Set<object>()
    for (const each of level) {
      if (ArrayBuffer.isView(each)) continue
      for (const child of Object.values(each)) if (typeof child === 'object' && child) below.add(child)
    }
    level = [...below]
  }
}

/** Limit of nested brackets. Code that walks the parsed value may recurse this deep. */
export const MOST_DEPTH = 128
/**
 * Limit of opening brackets and commas; each value takes up to 60 bytes. A tokenizer of 262,144 tokens and
 * 514,906 merges has 1.8 million.
 */
const MOST_VALUES = 1 << 22

/** Python writes two numbers that JSON lacks: `Infinity` is kept as a number, `NaN` becomes null. */
const PYTHON = { I: ['Infinity', '1e999'], N: ['NaN', 'null'] } as const

/** Parses JSON of up to `most` levels. Throws SyntaxError beyond the limits. */
export function parseJson(text: string, most = MOST_DEPTH): unknown {
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
    else if (char === 'I' || char === 'N') {
      const [word, written] = PYTHON[char]
      if (!text.startsWith(word, at)) continue
      before += text.slice(done, at) + written
      done = at + word.length
      at = done - 1
      values++
    }
    if (depth > most) throw new SyntaxError(`it nests more than ${most} levels`)
    if (values > MOST_VALUES) throw new SyntaxError(`it has more than ${MOST_VALUES} values`)
  }
  return JSON.parse(before + text.slice(done))
}
