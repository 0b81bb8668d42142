// Converts f16 bit patterns to numbers, exactly, and numbers to patterns, rounded to nearest even.

const ROUNDER = 2 ** 52
const double = new Float64Array(1)
/** The low and high words of `double`. */
const words = new Uint32Array(double.buffer)
let table: Float32Array | undefined

/** The value of each of the 65536 bit patterns. Created on first use. */
export function halfTable(): Float32Array {
  if (table !== undefined) return table
  table = new Float32Array(65536)
  for (let pattern = 0; pattern < 65536; pattern++) {
    const exponent = (pattern >>> 10) & 31
    const mantissa = pattern & 1023
    const sign = pattern & 0x8000 ? -1 : 1
    if (exponent === 31) table[pattern] = mantissa === 0 ? sign * Infinity : Number.NaN
    else if (exponent === 0) table[pattern] = sign * mantissa * 2 ** -24
    else table[pattern] = sign * (1024 + mantissa) * 2 ** (exponent - 25)
  }
  return table
}

export function halfToFloat(pattern: number): number {
  return halfTable()[pattern & 0xffff]!
}

/** Rounds to nearest even; magnitudes of 65520 and above become infinity. */
export function floatToHalf(value: number): number {
  double[0] = value
  const sign = (words[1]! >>> 16) & 0x8000
  // The bits of the low half can only break a tie, so one sticky bit represents all of them.
  const bits = (words[1]! & 0x7fffffff) | (words[0] === 0 ? 0 : 1)
  // From 2^-14, the smallest normal f16, to just below 65520, which becomes infinity. A mantissa that rounds
  // up carries into the exponent, which is correct.
  if (bits >= 0x3f100000 && bits < 0x40effe00)
    return sign | (((bits + 0x1ff + ((bits >>> 10) & 1)) >>> 10) - (1008 << 10))
  if (Number.isNaN(value)) return 0x7e00
  return bits < 0x3f100000 ? sign | roundToEven(Math.abs(value) * 2 ** 24) : sign | 0x7c00
}

/** Like `floatToHalf` for many numbers that are already f32, and about twice as fast. */
export function floatsToHalves(values: Float32Array): Uint16Array {
  const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const halves = new Uint16Array(values.length)
  // hot
  for (let i = 0; i < values.length; i++) {
    const pattern = patterns[i]!
    const magnitude = pattern & 0x7fffffff
    // From 2^-14, the smallest normal f16, to just below 65520, which becomes infinity.
    if (magnitude < 0x38800000 || magnitude >= 0x477ff000) halves[i] = floatToHalf(values[i]!)
    else {
      const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1)
      halves[i] = ((pattern >>> 16) & 0x8000) | ((rounded >>> 13) - (112 << 10))
    }
  }
  return halves
}

/** Requires 0 <= value < 2^51. */
function roundToEven(value: number): number {
  return value + ROUNDER - ROUNDER
}

/** The bfloat16 patterns nearest to the values, ties to even. */
export function floatsToBfloats(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const patterns = new Uint16Array(bits.length)
  for (let i = 0; i < bits.length; i++) patterns[i] = (bits[i]! + 0x7fff + ((bits[i]! >>> 16) & 1)) >>> 16
  return patterns
}
