// Checksum. In: bytes. Out: 128 bits that detect accidental changes. Use SHA-256 against deliberate ones.

/**
 * Returns 32 lower-case hex digits. Each of four lanes takes every fourth 4-byte word:
 * h = rotl(h ^ word, 15) * 0x9e3779b1 mod 2^32.
 * This is one to one in h and in the word, so a single changed word always changes the result. The bytes may
 * be in shared memory; they are read once, at a few GB/s.
 */
export function checksum(bytes: Uint8Array): string {
  const words = wordsOf(bytes)
  let [a, b, c, d] = [bytes.length, 1, 2, 3]
  for (let at = 0; at < words.length; at += 4) {
    a = step(a, words[at]!)
    b = step(b, words[at + 1]!)
    c = step(c, words[at + 2]!)
    d = step(d, words[at + 3]!)
  }
  return checksumText([a, b, c, d])
}

/** The four lanes as hex digits. */
export const checksumText = (lanes: readonly number[]): string =>
  lanes.map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('')

function step(lane: number, word: number): number {
  const mixed = lane ^ word
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x9e3779b1)
}

/** The bytes as words; an incomplete last word is padded with zeros. */
function wordsOf(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, length } = bytes
  if (byteOffset % 4 === 0 && length % 4 === 0) return new Uint32Array(buffer, byteOffset, length / 4)
  const whole = new Uint8Array(Math.ceil(length / 4) * 4)
  whole.set(bytes)
  return new Uint32Array(whole.buffer)
}
