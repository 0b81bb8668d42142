// Untrusted JSON. In: text. Out: its value, or a SyntaxError before a hostile text exhausts memory or stack.

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
  let [depth, values, done, before] = [0, 0, 0, '']
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
