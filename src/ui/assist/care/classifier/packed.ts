// The stored form of the classifier. In: the lexicon and weights. Out: text that cannot be compressed much
// further, and back.
import { CONCEPTS, type Lexicon, MEANINGS, SURFACES } from './features.ts'
import { NEEDS, type Weights } from './scores.ts'

/** Integers as Rice codes in base64. */
export interface Packed {
  /** The differences of each concept's sorted keys; a 0 ends each list. */
  readonly lexicon: string
  /** Biases and weights of meanings. */
  readonly meanings: string
  /** Weights of surfaces. */
  readonly surfaces: string
}

/** How weights are stored: rounded to multiples of `step`, at most `most` of them. */
interface Scale {
  readonly step: number
  readonly most: number
  /** Low bits of a multiple that are stored as they are. */
  readonly lowBits: number
}
const MEANING: Scale = { step: 0.1, most: 24, lowBits: 3 }
/** A passage sums about a hundred of these weights, so that few steps are enough. */
const SURFACE: Scale = { step: 0.5, most: 4, lowBits: 1 }
/** Low bits of a difference of keys: about 130 keys of a concept share 2^24 values. */
const KEY_BITS = 16

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const DIGIT_BITS = 6

/** Integers from 0 as Rice codes: their high bits in unary, a 0, their low bits. */
function write(numbers: readonly number[], lowBits: number): string {
  const bits: number[] = []
  for (const number of numbers) {
    for (let count = number >>> lowBits; count > 0; count--) bits.push(1)
    bits.push(0)
    for (let bit = lowBits - 1; bit >= 0; bit--) bits.push((number >>> bit) & 1)
  }
  while (bits.length % DIGIT_BITS !== 0) bits.push(0)
  let text = ''
  for (let index = 0; index < bits.length; index += DIGIT_BITS)
    text += BASE64[bits.slice(index, index + DIGIT_BITS).reduce((value, bit) => value * 2 + bit, 0)]
  return text
}

/** Reads one integer after the other. */
function reader(text: string, lowBits: number): () => number {
  const values = new Uint8Array(128)
  for (let value = 0; value < BASE64.length; value++) values[BASE64.charCodeAt(value)] = value
  let next = 0
  let digit = 0
  let left = 0
  const bit = () => {
    if (left === 0) {
      digit = values[text.charCodeAt(next++)] ?? 0
      left = DIGIT_BITS
    }
    return (digit >>> --left) & 1
  }
  return () => {
    let number = 0
    while (bit() === 1) number++
    for (let count = 0; count < lowBits; count++) number = 2 * number + bit()
    return number
  }
}

const packLexicon = (keys: readonly ReadonlySet<number>[]) =>
  write(
    keys.flatMap((set) => {
      const sorted = [...set].sort((one, other) => one - other)
      return [...sorted.map((key, index) => key - (sorted[index - 1] ?? -1)), 0]
    }),
    KEY_BITS,
  )

function unpackLexicon(text: string): Lexicon {
  const read = reader(text, KEY_BITS)
  const lexicon = new Map<number, number>()
  for (let concept = 0; concept < CONCEPTS; concept++)
    for (let key = -1, difference = read(); difference !== 0; difference = read()) {
      key += difference
      lexicon.set(key, concept)
    }
  return lexicon
}

/** Multiples of the step in the order 0, -1, 1, -2, 2. */
const packWeights = (values: readonly number[], { step, most, lowBits }: Scale) =>
  write(
    values.map((value) => {
      const steps = Math.max(-most, Math.min(most, Math.round(value / step)))
      return steps < 0 ? -2 * steps - 1 : 2 * steps
    }),
    lowBits,
  )

function unpackWeights(text: string, count: number, { lowBits }: Scale): Int8Array {
  const read = reader(text, lowBits)
  return Int8Array.from({ length: count }, () => {
    const code = read()
    return code % 2 === 1 ? -(code + 1) / 2 : code / 2
  })
}

export const pack = (keys: readonly ReadonlySet<number>[], weights: Weights): Packed => ({
  lexicon: packLexicon(keys),
  meanings: packWeights([...Array.from(weights.biases), ...Array.from(weights.meanings)], MEANING),
  surfaces: packWeights(
    Array.from(weights.surfaces, (value) => value * weights.surfaceUnit),
    SURFACE,
  ),
})

export function unpack(packed: Packed): { readonly lexicon: Lexicon; readonly weights: Weights } {
  const steps = unpackWeights(packed.meanings, NEEDS.length * (1 + MEANINGS), MEANING)
  const meanings = Float32Array.from(steps, (count) => count * MEANING.step)
  return {
    lexicon: unpackLexicon(packed.lexicon),
    weights: {
      biases: meanings.subarray(0, NEEDS.length),
      meanings: meanings.subarray(NEEDS.length),
      surfaces: unpackWeights(packed.surfaces, SURFACES, SURFACE),
      surfaceUnit: SURFACE.step,
    },
  }
}
