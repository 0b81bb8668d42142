// Converts between bytes and the characters that represent them in GPT-2 vocabularies.

export const MARK = '\u2581'

/** A run of marks, and the text up to the next mark. */
const WORD = /\u2581*[^\u2581]+|\u2581+/g
const CROSSING = /[^\u2581]\u2581/

/** True if some token spans two words, so that a text cannot be encoded word by word. */
export function crossesWords(tokens: Iterable<string>): boolean {
  for (const token of tokens) if (CROSSING.test(token)) return true
  return false
}

export function markedWords(text: string): readonly string[] {
  return text.match(WORD) ?? []
}

/** Printable bytes represent themselves, the others are mapped to the characters from U+0100, in order. */
function isPrintable(byte: number): boolean {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
}

function charCodes(): readonly number[] {
  let next = 0x100
  return Array.from({ length: 256 }, (_, byte) => (isPrintable(byte) ? byte : next++))
}

/** The character that represents each byte. */
export const BYTE_CHARS: readonly string[] = charCodes().map((code) => String.fromCharCode(code))

const BYTES = new Map(BYTE_CHARS.map((char, byte) => [char, byte]))

/** The bytes of a byte-level token; undefined if one of its characters does not represent a byte. */
export function bytesOfChars(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length)
  for (let at = 0; at < token.length; at++) {
    const byte = BYTES.get(token.charAt(at))
    if (byte === undefined) return undefined
    bytes[at] = byte
  }
  return bytes
}

/** The characters that represent `count` bytes. */
export function charsOfBytes(bytes: Uint8Array, count: number): string {
  let chars = ''
  for (let at = 0; at < count; at++) chars += BYTE_CHARS[bytes[at]!]
  return chars
}
