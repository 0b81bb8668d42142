// Byte sets. In: bytes and ranges of them. Out: sets as 256 bits, which can be compared and tested fast.

/** Bit `byte & 31` of word `byte >> 5` is set for each byte in the set. [8] */
export type ByteSet = Uint32Array

export function emptySet(): ByteSet {
  return new Uint32Array(8)
}

export function addRange(set: ByteSet, low: number, high: number): void {
  for (let byte = low; byte <= high; byte++) set[byte >> 5] = set[byte >> 5]! | (1 << (byte & 31))
}

export function ofRange(low: number, high: number): ByteSet {
  const set = emptySet()
  addRange(set, low, high)
  return set
}

/** Every byte may occur. */
export const ALL_BYTES: ByteSet = ofRange(0, 255)

export function hasByte(set: ByteSet, byte: number): boolean {
  // hot
  return ((set[byte >> 5]! >>> (byte & 31)) & 1) === 1
}

/** Adds the bytes of another set. */
export function addSet(set: ByteSet, other: ByteSet): void {
  for (let word = 0; word < 8; word++) set[word] = set[word]! | other[word]!
}

/** Keeps the bytes that are also in the other set. */
export function keepSet(set: ByteSet, other: ByteSet): void {
  for (let word = 0; word < 8; word++) set[word] = set[word]! & other[word]!
}

/** Equal sets give equal texts. */
export function setKey(set: ByteSet): string {
  return set.join()
}
