// Byte mutations. In: a valid file and the offsets of its numbers. Out: the file with bits flipped, numbers
// replaced, parts moved or cut off.
import type { Random } from '../../helpers/random.ts'

/** A number of a binary header. */
export interface Field {
  readonly at: number
  readonly bytes: 1 | 2 | 4 | 8
}

/** Values near the limits of every integer type, and near those with which readers compare sizes. */
const NUMBERS: readonly bigint[] = [
  0n,
  1n,
  2n,
  3n,
  7n,
  8n,
  9n,
  12n,
  31n,
  32n,
  33n,
  64n,
  127n,
  128n,
  255n,
  256n,
  65535n,
  65536n,
  2n ** 20n,
  2n ** 24n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 40n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 60n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
  2n ** 64n - 32n,
]

/** Makes one to six changes. `end`: the end of the header, where most changes are made. */
export function mutateBytes(
  random: Random,
  good: Uint8Array,
  fields: readonly Field[] = [],
  end = good.length,
): Uint8Array {
  let bytes = good.slice()
  for (let left = random.few(); left > 0; left--) bytes = mutateOnce(random, bytes, fields, end)
  return bytes
}

function mutateOnce(
  random: Random,
  bytes: Uint8Array<ArrayBuffer>,
  fields: readonly Field[],
  end: number,
): Uint8Array<ArrayBuffer> {
  if (bytes.length === 0) return bytes
  const within = Math.min(bytes.length, random.chance(0.95) ? Math.max(1, end) : bytes.length)
  const at = random.below(within)
  const kind = random.below(fields.length > 0 ? 16 : 8)
  if (kind >= 8) {
    const field = random.pick(fields)
    if (field.at + field.bytes <= bytes.length) replaceNumber(random, bytes, field)
    return bytes
  }
  if (kind <= 1) bytes[at]! ^= 1 << random.below(8)
  else if (kind === 2) bytes[at] = random.below(256)
  else if (kind === 3) {
    const size = random.pick([1, 2, 4, 8] as const)
    if (at + size <= bytes.length) replaceNumber(random, bytes, { at, bytes: size })
  } else if (kind === 4) {
    return bytes.slice(0, random.chance(0.5) ? at : bytes.length - random.below(Math.min(64, bytes.length)))
  } else if (kind === 5) {
    const length = Math.min(1 + random.below(64), bytes.length - at)
    bytes.copyWithin(random.below(within), at, at + length)
  } else {
    const length = 1 + random.below(random.pick([4, 16, 64]))
    return kind === 6 ? without(bytes, at, length) : withMore(random, bytes, at, length)
  }
  return bytes
}

function replaceNumber(random: Random, bytes: Uint8Array<ArrayBuffer>, { at, bytes: size }: Field): void {
  const view = new DataView(bytes.buffer)
  const old =
    size === 8
      ? view.getBigUint64(at, true)
      : BigInt(size === 4 ? view.getUint32(at, true) : size === 2 ? view.getUint16(at, true) : bytes[at]!)
  const value = random.chance(0.6)
    ? random.pick(NUMBERS)
    : old + BigInt(random.pick([-64, -32, -2, -1, 1, 2, 8, 32, 64, 4096])) * (random.chance(0.2) ? old : 1n)
  if (size === 8) view.setBigUint64(at, BigInt.asUintN(64, value), true)
  else if (size === 4) view.setUint32(at, Number(BigInt.asUintN(32, value)), true)
  else if (size === 2) view.setUint16(at, Number(BigInt.asUintN(16, value)), true)
  else bytes[at] = Number(BigInt.asUintN(8, value))
}

function without(bytes: Uint8Array, at: number, length: number): Uint8Array<ArrayBuffer> {
  const rest = bytes.subarray(Math.min(bytes.length, at + length))
  const shorter = new Uint8Array(at + rest.length)
  shorter.set(bytes.subarray(0, at))
  shorter.set(rest, at)
  return shorter
}

/** Repeats a stretch of the file, or one byte many times. */
function withMore(random: Random, bytes: Uint8Array, at: number, length: number): Uint8Array<ArrayBuffer> {
  const from = random.below(bytes.length)
  const more = random.chance(0.5)
    ? bytes.slice(from, from + length)
    : new Uint8Array(length).fill(random.below(256))
  const longer = new Uint8Array(bytes.length + more.length)
  longer.set(bytes.subarray(0, at))
  longer.set(more, at)
  longer.set(bytes.subarray(at), at + more.length)
  return longer
}
