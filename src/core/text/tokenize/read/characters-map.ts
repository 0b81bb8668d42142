// SentencePiece's compiled normaliser, as stored in a tokenizer.json or a GGUF file: replaces characters
// according to a table.
//
// Layout: u32 bytes of the trie | u32 units of the trie (a double array of darts-clone) | texts that end in a
// zero byte, in UTF-8. Keys are UTF-8; a value is the offset of a text.
//   unit  bit 31 with bits 0..7: label | bit 8: has a value | bit 9: the offset is in steps of 256
//         bits 10..30: offset of the children | without bit 31, a value's unit: bits 0..30
import { fromBase64 } from '../../../base/base64.ts'
import { malformed, shown, unsupported } from '../../spec.ts'

/** Maximum length in bytes of a text that replaces a character; the longest in Unicode has 33. */
const LONGEST_TEXT = 256
/** How many times longer a text may become; Unicode's longest replacement has 18 characters. */
const MAX_GROWTH = 32
/** Maximum number of cached replacements. */
const REMEMBERED = 4096
/** Clusters of at least this many bytes are replaced only character by character. */
const LONG_CLUSTER = 6

const decoder = new TextDecoder('utf-8', { fatal: true })
const encoder = new TextEncoder()

/**
 * The normaliser of `precompiled_charsmap`. Like Hugging Face's, it replaces a short grapheme cluster as a
 * whole by the value of the first key that is its prefix; otherwise it does the same for each character.
 * Throws `format` for a map that points outside itself, and so does the normaliser, which also throws
 * `unsupported` for a text that becomes more than 32 times longer.
 */
export function charactersMap(map: unknown): (text: string) => string {
  const bytes = decoded(map)
  const units = readUnits(bytes)
  const texts = bytes.subarray(4 + 4 * units.length)
  const replacements = new Map<string, string | undefined>()
  const replacementOf = (key: string): string | undefined => {
    if (!replacements.has(key)) {
      if (replacements.size === REMEMBERED) replacements.clear()
      const at = firstValue(units, encoder.encode(key))
      replacements.set(key, at === undefined ? undefined : textAt(texts, at))
    }
    return replacements.get(key)
  }
  const clusters = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const short = (cluster: string) =>
    encoder.encode(cluster).length < LONG_CLUSTER ? replacementOf(cluster) : undefined
  return (text) => {
    let out = ''
    for (const { segment } of clusters.segment(text)) {
      const whole = short(segment)
      if (whole !== undefined) out += whole
      else for (const character of segment) out += replacementOf(character) ?? character
      if (out.length > MAX_GROWTH * text.length) throw tooLong(text.length)
    }
    return out
  }
}

const tooLong = (length: number) =>
  unsupported(`expands a text of ${length} characters more than ${MAX_GROWTH} times`, 'choose another model')

/** A tokenizer.json stores the bytes in base64, GGUF as a list. */
function decoded(map: unknown): Uint8Array {
  try {
    if (typeof map === 'string') return fromBase64(map)
    if (Array.isArray(map) && map.every(Number.isInteger)) return Uint8Array.from(map)
  } catch {
    // The error shows the value.
  }
  throw malformed(`has ${shown(map)} for precompiled_charsmap instead of base64`)
}

function readUnits(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const size = bytes.length < 4 ? 0 : view.getUint32(0, true)
  if (size === 0 || size % 4 !== 0 || size > bytes.length - 4) {
    throw malformed(`has a precompiled_charsmap of ${bytes.length} bytes whose trie has ${size}`)
  }
  return Uint32Array.from({ length: size / 4 }, (_, index) => view.getUint32(4 + 4 * index, true))
}

/** The value of the shortest key that is a prefix of `key`. */
function firstValue(units: Uint32Array, key: Uint8Array): number | undefined {
  let at = childrenOf(units[0]!)
  for (const byte of key) {
    if (byte === 0) return undefined
    at ^= byte
    const unit = unitAt(units, at)
    if ((unit & 0x800000ff) >>> 0 !== byte) return undefined
    at ^= childrenOf(unit)
    if ((unit & 0x100) !== 0) return unitAt(units, at) & 0x7fffffff
  }
  return undefined
}

const childrenOf = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6)

function unitAt(units: Uint32Array, at: number): number {
  const unit = units[at]
  if (unit !== undefined) return unit
  throw malformed(`has a precompiled_charsmap that points to unit ${at} of ${units.length}`)
}

function textAt(texts: Uint8Array, at: number): string {
  const end = texts.indexOf(0, at)
  if (at >= texts.length || end < 0 || end - at > LONGEST_TEXT)
    throw malformed(`has a precompiled_charsmap that points to text ${at} of ${texts.length} bytes`)
  try {
    return decoder.decode(texts.subarray(at, end))
  } catch {
    throw malformed(`has a precompiled_charsmap whose text at ${at} is not UTF-8`)
  }
}
