// RoPE tables. In: cosines and sines by position, as a constant or as what a graph computes. Out: the base
// and divisors of the frequencies that they are of, or why they are none.
import type { RopeScaling } from '../../arch/config/config.ts'

/** Cosines and sines of positions. [position][dims / 2] */
export interface Angles {
  readonly cos: Float32Array
  readonly sin: Float32Array
}

export interface RopeRows {
  readonly half: number
  /** Positions from 0 on that are compared with the frequencies. */
  readonly positions: number
  /** Of positions [from, to). */
  rows(from: number, to: number): Promise<Angles>
}

export interface FoundRope {
  readonly theta: number
  readonly scaling?: RopeScaling | undefined
}

/** Cosines of f32 tables differ by this from those of f64 angles. */
const TOLERANCE = 3e-5
/** An f32 angle is off by its own rounding: position * 2^-24. */
const ANGLE_ERROR = 2 ** -23
const USUAL_BASE = 10_000
/** Positions whose rows are read at once. */
const BLOCK = 1024

/**
 * undefined: the rows are no rotation by frequencies that do not change with the position. The base is a
 * round number where one fits; else frequencies are those of base 10,000 with a divisor each.
 */
export async function recogniseRope(rows: RopeRows): Promise<FoundRope | undefined> {
  const { half, positions } = rows
  if (positions < 2 || half < 1) return undefined
  const frequencies = await measured(rows)
  if (frequencies === undefined) return undefined
  const theta = roundBase(frequencies)
  const found: FoundRope =
    theta !== undefined
      ? { theta }
      : {
          theta: USUAL_BASE,
          scaling: {
            type: 'factors',
            factors: frequencies.map((each, pair) => USUAL_BASE ** (-pair / half) / each),
          },
        }
  const used = frequenciesOf(half, found)
  for (let from = 0; from < positions; from += BLOCK) {
    const to = Math.min(from + BLOCK, positions)
    if (wrongPosition(await rows.rows(from, to), from, used) !== undefined) return undefined
  }
  return found
}

/** Radians per position of each pair. */
export const frequenciesOf = (half: number, { theta, scaling }: FoundRope): number[] =>
  Array.from({ length: half }, (_, pair) => {
    const factor = scaling?.type === 'factors' ? scaling.factors[pair]! : 1
    return theta ** (-pair / half) / factor
  })

/** The first position whose cosines and sines are not of these frequencies; `from` is that of row 0. */
export function wrongPosition(
  { cos, sin }: Angles,
  from: number,
  frequencies: readonly number[],
): number | undefined {
  const half = frequencies.length
  for (let at = 0; at < cos.length; at++) {
    const position = from + Math.floor(at / half)
    const angle = position * frequencies[at % half]!
    const off = Math.max(Math.abs(cos[at]! - Math.cos(angle)), Math.abs(sin[at]! - Math.sin(angle)))
    if (!(off <= TOLERANCE + position * ANGLE_ERROR)) return position
  }
  return undefined
}

/** Radians per position: from row 1, then sharpened by rows further on. */
async function measured(rows: RopeRows): Promise<number[] | undefined> {
  const first = await rows.rows(1, 2)
  let found = Array.from(first.cos, (cos, pair) => Math.atan2(first.sin[pair]!, cos))
  if (found.some((each) => !(each > 0))) return undefined
  for (let position = 2; position < rows.positions; position *= 2) {
    const { cos, sin } = await rows.rows(position, position + 1)
    found = found.map((each, pair) => {
      const turns =
        2 * Math.PI * Math.round((each * position - Math.atan2(sin[pair]!, cos[pair]!)) / (2 * Math.PI))
      return (Math.atan2(sin[pair]!, cos[pair]!) + turns) / position
    })
    // Beyond this, the rounding of the angles in an f32 table outweighs what a further row tells.
    if (position >= 1024) break
  }
  return found
}

/** The base as a number of few digits; undefined when the frequencies are not powers of one base. */
function roundBase(frequencies: readonly number[]): number | undefined {
  const half = frequencies.length
  const last = half - 1
  if (last === 0) return USUAL_BASE
  const raw = frequencies[last]! ** (-half / last)
  const fits = (theta: number) =>
    frequencies.every((each, pair) => Math.abs(each / theta ** (-pair / half) - 1) < 1e-5)
  for (let digits = 1; digits <= 7; digits++) {
    const rounded = Number(raw.toPrecision(digits))
    if (fits(rounded)) return rounded
  }
  return undefined
}
