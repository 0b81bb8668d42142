// SHA-256 in hex, computed by the platform if possible, and a 128-bit checksum that detects accidental
// changes only.

/**
 * Returns 32 lower-case hex digits. Each of the four lanes takes every fourth 4-byte word:
 * h = rotl(h ^ word, 15) * 0x9e3779b1 mod 2^32.
 * This is one-to-one in h and in the word, so a single changed word always changes the result. The bytes may
 * be in shared memory; they are read once, at a few GB/s.
 */
export function checksum(bytes: Uint8Array): string {
  const words = wordsOf(bytes)
  let a = bytes.length
  let b = 1
  let c = 2
  let d = 3
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

/** Returns 64 lower-case hex digits. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  // Pages served without TLS have no `subtle`, although its type says otherwise.
  const subtle: SubtleCrypto | undefined = globalThis.crypto?.subtle
  if (subtle === undefined) return hex(digest(bytes))
  return hex(new Uint8Array(await subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)))
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** FIPS 180-4, section 6.2. */
export function digest(bytes: Uint8Array): Uint8Array {
  const { initial, constants } = tables()
  const state = Uint32Array.from(initial)
  const schedule = new Uint32Array(64)
  const whole = bytes.length - (bytes.length % 64)
  for (let at = 0; at < whole; at += 64) compress(state, schedule, constants, bytes, at)
  // The tail: the remaining bytes, a 1 bit, zeros, and the length in bits as a big-endian u64.
  const rest = bytes.subarray(whole)
  const tail = new Uint8Array(rest.length < 56 ? 64 : 128)
  tail.set(rest)
  tail[rest.length] = 0x80
  new DataView(tail.buffer).setBigUint64(tail.length - 8, BigInt(bytes.length) * 8n)
  for (let at = 0; at < tail.length; at += 64) compress(state, schedule, constants, tail, at)
  const out = new Uint8Array(32)
  const view = new DataView(out.buffer)
  for (let i = 0; i < 8; i++) view.setUint32(4 * i, state[i]!)
  return out
}

function compress(
  state: Uint32Array,
  w: Uint32Array,
  constants: Uint32Array,
  bytes: Uint8Array,
  at: number,
): void {
  for (let i = 0; i < 16; i++, at += 4) {
    w[i] = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!
  }
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15]!
    const y = w[i - 2]!
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    w[i] = w[i - 16]! + s0 + w[i - 7]! + s1
  }
  let a = state[0]! | 0
  let b = state[1]! | 0
  let c = state[2]! | 0
  let d = state[3]! | 0
  let e = state[4]! | 0
  let f = state[5]! | 0
  let g = state[6]! | 0
  let h = state[7]! | 0
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i]! + w[i]!) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0]! += a
  state[1]! += b
  state[2]! += c
  state[3]! += d
  state[4]! += e
  state[5]! += f
  state[6]! += g
  state[7]! += h
}

function rotate(value: number, count: number): number {
  return (value >>> count) | (value << (32 - count))
}

let made: { readonly initial: Uint32Array; readonly constants: Uint32Array } | undefined

/** The first 32 bits of the fractional parts of the first primes' square and cube roots. */
function tables(): { readonly initial: Uint32Array; readonly constants: Uint32Array } {
  if (made !== undefined) return made
  const primes: number[] = []
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  const fraction = (root: number) => (root - Math.floor(root)) * 2 ** 32
  made = {
    initial: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    constants: Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
  }
  return made
}
