// The stored form of the classifier. In: the lexicon and weights. Out: text that compresses well, and back.
import { CONCEPTS, type Lexicon, MEANINGS, SURFACES } from './features.ts'
import { NEEDS, type Weights } from './scores.ts'

export interface Packed {
  /** The differences of each concept's sorted keys, as Rice codes in base64; a 0 ends each list. */
  readonly lexicon: string
  /** Biases, weights of meanings and weights of surfaces, one character each. */
  readonly weights: string
}

/**
 * How many low bits of a difference are stored unchanged: about 130 keys of a concept are spread over 2^24
 * values.
 */
const LOW_BITS = 16
/** The value of one step of a stored weight. */
const STEP = 0.1
/**
 * Weights are stored as characters from `(` on, none of which needs escaping; the one `MIDDLE` steps above it
 * is 0.
 */
const FIRST = 40
const MIDDLE = 24
const MOST = 2 * MIDDLE

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const DIGIT_BITS = 6

function packLexicon(keys: readonly ReadonlySet<number>[]): string {
  const bits: number[] = []
  const write = (difference: number) => {
    for (let count = difference >>> LOW_BITS; count > 0; count--) bits.push(1)
    bits.push(0)
    for (let bit = LOW_BITS - 1; bit >= 0; bit--) bits.push((difference >>> bit) & 1)
  }
  for (const set of keys) {
    let last = -1
    for (const key of [...set].sort((one, other) => one - other)) {
      write(key - last)
      last = key
    }
    write(0)
  }
  while (bits.length % DIGIT_BITS !== 0) bits.push(0)
  let text = ''
  for (let index = 0; index < bits.length; index += DIGIT_BITS)
    text += BASE64[bits.slice(index, index + DIGIT_BITS).reduce((value, bit) => value * 2 + bit, 0)]
  return text
}

function unpackLexicon(text: string): Lexicon {
  const values = new Map([...BASE64].map((digit, value) => [digit.charCodeAt(0), value]))
  const bits = new Uint8Array(text.length * DIGIT_BITS)
  for (let index = 0; index < text.length; index++) {
    const value = values.get(text.charCodeAt(index)) ?? 0
    for (let bit = 0; bit < DIGIT_BITS; bit++)
      bits[index * DIGIT_BITS + bit] = (value >>> (DIGIT_BITS - 1 - bit)) & 1
  }
  const lexicon = new Map<number, number>()
  let at = 0
  for (let concept = 0; concept < CONCEPTS; concept++) {
    for (let key = -1; ; ) {
      let difference = 0
      while (bits[at++] === 1) difference += 2 ** LOW_BITS
      let low = 0
      for (const end = at + LOW_BITS; at < end; at++) low = 2 * low + bits[at]!
      difference += low
      if (difference === 0) break
      key += difference
      lexicon.set(key, concept)
    }
  }
  return lexicon
}

const packWeight = (weight: number) =>
  String.fromCharCode(FIRST + Math.max(0, Math.min(MOST, Math.round(weight / STEP) + MIDDLE)))
const unpackWeight = (code: number) => (code - FIRST - MIDDLE) * STEP

export const pack = (keys: readonly ReadonlySet<number>[], weights: Weights): Packed => ({
  lexicon: packLexicon(keys),
  weights: [weights.biases, weights.meanings, weights.surfaces]
    .map((values) => Array.from(values, packWeight).join(''))
    .join(''),
})

export function unpack(packed: Packed): { readonly lexicon: Lexicon; readonly weights: Weights } {
  const values = Float32Array.from(packed.weights, (character) => unpackWeight(character.charCodeAt(0)))
  const meanings = NEEDS.length
  const surfaces = meanings + NEEDS.length * MEANINGS
  return {
    lexicon: unpackLexicon(packed.lexicon),
    weights: {
      biases: values.subarray(0, meanings),
      meanings: values.subarray(meanings, surfaces),
      surfaces: values.subarray(surfaces, surfaces + SURFACES),
    },
  }
}
