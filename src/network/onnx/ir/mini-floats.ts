// Floats of 8 and 4 bits: "FP8 Formats for Deep Learning" (Micikevicius et al. 2022), its variants without
// infinities and negative zero (fnuz), and the OCP microscaling formats E2M1 and E8M0.

/** Named after their bits of exponent and mantissa. Tensors hold their values as f32. */
export type MiniFloat = keyof typeof FORMATS

interface Format {
  readonly exponent: number
  readonly mantissa: number
  readonly bias: number
  /** The largest finite magnitude's pattern. */
  readonly largest: number
  /** Patterns of NaN and, if there is one, of infinity. */
  readonly nan?: number
  readonly infinity?: number
}

const FORMATS = {
  f8e4m3fn: { exponent: 4, mantissa: 3, bias: 7, largest: 0x7e, nan: 0x7f },
  f8e4m3fnuz: { exponent: 4, mantissa: 3, bias: 8, largest: 0x7f, nan: 0x80 },
  f8e5m2: { exponent: 5, mantissa: 2, bias: 15, largest: 0x7b, nan: 0x7e, infinity: 0x7c },
  f8e5m2fnuz: { exponent: 5, mantissa: 2, bias: 16, largest: 0x7f, nan: 0x80 },
  f4e2m1: { exponent: 2, mantissa: 1, bias: 1, largest: 7 },
  f8e8m0: { exponent: 8, mantissa: 0, bias: 127, largest: 0xfe, nan: 0xff },
} as const satisfies Record<string, Format>

export const isMiniFloat = (dtype: string): dtype is MiniFloat => Object.hasOwn(FORMATS, dtype)

/** Values of a format, by pattern without the sign; E8M0 has no sign and no zero. */
const TABLES = new Map<MiniFloat, Float64Array>()

function magnitudes(dtype: MiniFloat): Float64Array {
  const known = TABLES.get(dtype)
  if (known !== undefined) return known
  const { mantissa, bias, largest } = FORMATS[dtype]
  const made = Float64Array.from({ length: largest + 1 }, (_, pattern) => {
    if (dtype === 'f8e8m0') return 2 ** (pattern - bias)
    const exponent = pattern >> mantissa
    const fraction = (pattern & ((1 << mantissa) - 1)) / 2 ** mantissa
    return exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias)
  })
  TABLES.set(dtype, made)
  return made
}

const signOf = (dtype: MiniFloat): number => (dtype === 'f8e8m0' ? 0 : dtype === 'f4e2m1' ? 8 : 0x80)

/** The value of a pattern. */
export function miniFloatOf(dtype: MiniFloat, pattern: number): number {
  const format: Format = FORMATS[dtype]
  if (pattern === format.nan && format.nan > format.largest) return Number.NaN
  const sign = signOf(dtype)
  const own = pattern & ~sign
  if (own === format.infinity) return pattern & sign ? -Infinity : Infinity
  if (own > format.largest) return Number.NaN
  const value = magnitudes(dtype)[own]!
  return pattern & sign ? -value : value
}

/**
 * The nearest value, ties to an even pattern. Beyond the largest one, it is the largest if `saturates`,
 * otherwise infinity or NaN. E8M0 rounds up to a power of two. E2M1 has no NaN, which becomes 0.
 */
export function toMiniFloat(dtype: MiniFloat, value: number, saturates = true): number {
  const { nan, infinity, largest }: Format = FORMATS[dtype]
  if (Number.isNaN(value)) return nan === undefined ? 0 : Number.NaN
  const table = magnitudes(dtype)
  const magnitude = Math.abs(value)
  const sign = value < 0 || Object.is(value, -0) ? -1 : 1
  const at = placeOf(table, magnitude, dtype === 'f8e8m0')
  if (at > largest) {
    const most = sign * table[largest]!
    if (saturates || nan === undefined) return most
    return infinity === undefined ? Number.NaN : sign * Infinity
  }
  const made = table[at]!
  // The variants without a negative zero round to zero.
  return made === 0 && nan === 0x80 ? 0 : dtype === 'f8e8m0' ? made : sign * made
}

/** The pattern of the nearest value; beyond the last value, one more than its pattern. */
function placeOf(table: Float64Array, magnitude: number, isUp: boolean): number {
  let [low, high] = [0, table.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (table[middle]! < magnitude) low = middle + 1
    else high = middle
  }
  if (low === 0 || isUp) return low
  const below = table[low - 1]!
  // Past the last value, the next one would be as far away as the one before.
  const above = low < table.length ? table[low]! : 2 * below - table[low - 2]!
  const rest = magnitude - below - (above - magnitude)
  if (rest === 0) return low % 2 === 0 ? low : low - 1
  return rest < 0 ? low - 1 : low
}

/** The pattern of a value of the format. */
export function miniFloatPattern(dtype: MiniFloat, value: number): number {
  const { nan = 0, infinity = 0, largest }: Format = FORMATS[dtype]
  if (Number.isNaN(value)) return nan
  const sign = value < 0 || Object.is(value, -0) ? signOf(dtype) : 0
  const magnitude = Math.abs(value)
  if (magnitude === Infinity) return sign | infinity
  return sign | Math.min(largest, placeOf(magnitudes(dtype), magnitude, false))
}
