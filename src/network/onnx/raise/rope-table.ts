// Finds the base and divisors of the frequencies of cosines and sines, from a constant table or as computed
// by a graph, or gives the reason why there are none.

import type { RopeScaling } from '../../../core/arch/config/config.ts'
import { magnitudeOf } from '../../../core/arch/rope.ts'
import { floatToHalf, halfToFloat } from '../../../core/base/half.ts'
import { type Constant, isStored, type Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'
import { limitProof } from './findings.ts'
import type { Rotation } from './meaning.ts'
import type { StepSizes } from './probe.ts'
import { prove } from './prove.ts'
import type { Translator } from './translator.ts'
import { floatsOf } from './weights/block-weights.ts'

/** Length of the prompt whose rows determine the frequencies. */
const PROMPT_TOKENS = 1024
/**
 * Maximum table rows to read from a file: a table must be loaded to be checked, and may have more rows than
 * needed.
 */
const MAX_ROWS = 32_768

/** The frequencies of constant tables [position][dims / 2], checked in all rows of the context. */
export async function tableRope(
  t: Translator,
  node: Node,
  [cos, sin]: readonly [Constant, Constant],
  names: readonly string[],
): Promise<FoundRope> {
  const [positions = 0, half = 0] = cos.dims
  if (cos.dims.length !== 2 || `${sin.dims}` !== `${cos.dims}`)
    throw unclaimed(node, `its tables have the shapes [${cos.dims}] and [${sin.dims}]`)
  const most = isStored(cos) ? MAX_ROWS : positions
  const read = Math.min(positions, most)
  const part = (table: Constant, from: number, to: number) =>
    floatsOf(table, from * half, to * half, t.signal)
  const found = await recogniseRope({
    half,
    positions: read,
    rows: async (from, to) => ({ cos: await part(cos, from, to), sin: await part(sin, from, to) }),
  })
  if (found === undefined)
    throw unclaimed(node, `its tables ${names.join(' and ')} are not a rotation with fixed frequencies`)
  if (read < positions)
    limitProof(
      t.findings,
      read,
      `node ${node.name} (${node.op}): ${read} of ${positions} rows of ${names[0]} were checked`,
    )
  return found
}

/** The frequencies of rows that the graph computes for a step. */
export async function computedRope(t: Translator, node: Node, rotation: Rotation): Promise<FoundRope> {
  const { cos, sin, dims } = rotation
  const half = dims / 2
  const anglesOf = (sizes: StepSizes, values: readonly [Tensor, Tensor]): Angles => ({
    cos: rowsOf(node, cos, values[0], sizes, rotation),
    sin: rowsOf(node, sin, values[1], sizes, rotation),
  })
  const prompt = { tokens: Math.min(PROMPT_TOKENS, t.control.end), past: 0 }
  const first = anglesOf(prompt, [
    await t.control.prober.value(cos, prompt),
    await t.control.prober.value(sin, prompt),
  ])
  const found = await recogniseRope({
    half,
    positions: prompt.tokens,
    rows: async (from, to) => ({
      cos: first.cos.subarray(from * half, to * half),
      sin: first.sin.subarray(from * half, to * half),
    }),
  })
  if (found === undefined)
    throw unclaimed(node, `${cos} and ${sin} are not a rotation with fixed frequencies`)
  const turning = turningOf(half, found)
  await prove(t, node, [cos, sin], {
    shape: { width: dims },
    check([cosines, sines], sizes) {
      const angles = anglesOf(sizes, [cosines!, sines!])
      const wrong = wrongPosition(angles, sizes.past, turning)
      if (wrong === undefined) return
      throw unclaimed(
        node,
        `${cos} and ${sin} rotate position ${wrong} with frequencies that differ from those of earlier positions, ` +
          `in a step of ${sizes.tokens} tokens after ${sizes.past}`,
      )
    },
  })
  return found
}

/** The angles of each token: the whole row, or one of every equal pair. */
function rowsOf(
  node: Node,
  name: string,
  tensor: Tensor,
  { tokens }: StepSizes,
  { dims, isHalf, isBetween = false, pairing }: Rotation,
): Float32Array {
  const dim = isHalf ? dims / 2 : dims
  const [width = 1, ...outer] = tensor.dims.toReversed()
  const rows = outer[isBetween ? 1 : 0] ?? 1
  if (rows !== tokens || width !== dim || tensor.data.length !== rows * width)
    throw unclaimed(
      node,
      `${name} has the shape [${tensor.dims}] instead of [${tokens}, ${isBetween ? '1, ' : ''}${dim}]`,
    )
  const value = reader(tensor)
  const half = dims / 2
  const isPaired = pairing === 'interleaved' && !isHalf
  const [step, apart] = isPaired ? [2, 1] : [1, half]
  return Float32Array.from({ length: tokens * half }, (_, at) => {
    const index = Math.floor(at / half) * dim + (at % half) * step
    const first = value(index)
    if (isHalf || first === value(index + apart)) return first
    throw unclaimed(
      node,
      `${name} has ${first} and ${value(index + apart)} for numbers ${apart} apart, but one angle must rotate both`,
    )
  })
}

/** Cosines and sines by position, [position][dims / 2]. */
export interface Angles {
  readonly cos: Float32Array
  readonly sin: Float32Array
}

interface RopeRows {
  readonly half: number
  /** How many positions, from 0, are checked against the frequencies. */
  readonly positions: number
  /** The rows of positions [from, to). */
  rows(from: number, to: number): Promise<Angles>
}

export interface FoundRope {
  readonly theta: number
  readonly scaling?: RopeScaling | undefined
  readonly precision: Precision
}

/** How far cosines and sines may deviate from those of the exact angles. */
export interface Precision {
  readonly value: number
  /** Error per position: an f32 angle is rounded by position * 2^-24. */
  readonly position: number
  /** Error per radian. */
  readonly radian: number
  /** Relative tolerance between a frequency and the power of a round base. */
  readonly frequency: number
}

const F32: Precision = { value: 3e-5, position: 2 ** -23, radian: 0, frequency: 1e-5 }

/**
 * Candidate tolerances for tables of these values, strictest first. With short types (f16 has 11 bits, bf16
 * has 8), either only the table is rounded, or also the frequencies and angles behind it.
 */
function precisionsOf({ cos, sin }: Angles): readonly Precision[] {
  const bits = Math.max(bitsOf(cos), bitsOf(sin))
  if (bits > 11) return [F32]
  const unit = 2 ** -bits
  const rounded = { value: F32.value + unit, position: F32.position, radian: 0, frequency: 2 * unit }
  return [F32, rounded, { ...rounded, radian: 2 * unit, frequency: 4 * unit }]
}

/** Significant bits of the narrowest float type that holds all these values. */
function bitsOf(values: Float32Array): number {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length)
  if (words.every((word) => (word & 0xffff) === 0)) return 8
  return values.every((value) => halfToFloat(floatToHalf(value)) === value) ? 11 : 24
}

const USUAL_BASE = 10_000
/** Positions whose rows are read in one block. */
const BLOCK = 1024

/**
 * Undefined if the rows are not a rotation with fixed frequencies. The base is a round number if one fits;
 * otherwise the frequencies are those of base 10,000, each with a divisor.
 */
export async function recogniseRope(rows: RopeRows): Promise<FoundRope | undefined> {
  const { half, positions } = rows
  if (positions < 2 || half < 1) return undefined
  const frequencies = await measured(rows)
  if (frequencies === undefined) return undefined
  const first = await rows.rows(0, Math.min(BLOCK, positions))
  for (const precision of precisionsOf(first)) {
    const found = withBase(frequencies, magnitudeIn(first, precision), precision)
    if (await rotatesAll(rows, found)) return found
  }
  return undefined
}

/** The table's factor, as in YaRN: the cosine at position 0. */
function magnitudeIn({ cos }: Angles, { value }: Precision): number {
  const [magnitude = 1] = cos
  return Math.abs(magnitude - 1) <= value || !(magnitude > 0) ? 1 : magnitude
}

function withBase(frequencies: readonly number[], magnitude: number, precision: Precision): FoundRope {
  const half = frequencies.length
  const theta = roundBase(frequencies, precision.frequency)
  if (theta !== undefined && magnitude === 1) return { theta, precision }
  const base = theta ?? USUAL_BASE
  const factors = frequencies.map((each, pair) => (theta === undefined ? base ** (-pair / half) / each : 1))
  const scaling = { type: 'factors', factors, ...(magnitude !== 1 && { magnitude }) } as const
  return { theta: base, scaling, precision }
}

async function rotatesAll({ half, positions, rows }: RopeRows, found: FoundRope): Promise<boolean> {
  const turning = turningOf(half, found)
  for (let from = 0; from < positions; from += BLOCK) {
    const angles = await rows(from, Math.min(from + BLOCK, positions))
    if (wrongPosition(angles, from, turning) !== undefined) return false
  }
  return true
}

/** Radians per position of each pair. */
export const frequenciesOf = (half: number, { theta, scaling }: Omit<FoundRope, 'precision'>): number[] =>
  Array.from({ length: half }, (_, pair) => {
    const factor = scaling?.type === 'factors' ? scaling.factors[pair]! : 1
    return theta ** (-pair / half) / factor
  })

/** The rotation that rows are checked against. */
interface Turning {
  readonly frequencies: readonly number[]
  readonly magnitude: number
  readonly precision: Precision
}

const turningOf = (half: number, found: FoundRope): Turning => ({
  frequencies: frequenciesOf(half, found),
  magnitude: magnitudeOf(found),
  precision: found.precision,
})

/** The first position whose cosines and sines differ from the rotation's; `from` is the position of row 0. */
function wrongPosition(
  { cos, sin }: Angles,
  from: number,
  { frequencies, magnitude, precision }: Turning,
): number | undefined {
  const half = frequencies.length
  for (let at = 0; at < cos.length; at++) {
    const position = from + Math.floor(at / half)
    const angle = position * frequencies[at % half]!
    const offCos = Math.abs(cos[at]! - magnitude * Math.cos(angle))
    const offSin = Math.abs(sin[at]! - magnitude * Math.sin(angle))
    const most = precision.value + position * precision.position + angle * precision.radian
    if (!(Math.max(offCos, offSin) <= magnitude * most)) return position
  }
  return undefined
}

/** Radians per position, from row 1, then refined with later rows. */
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
    // Beyond this, f32 rounding of the angles outweighs what another row adds.
    if (position >= 1024) break
  }
  return found
}

/**
 * The base as a number with few digits; undefined if the frequencies are not powers of one base within the
 * relative `tolerance`.
 */
function roundBase(frequencies: readonly number[], tolerance: number): number | undefined {
  const half = frequencies.length
  const last = half - 1
  if (last === 0) return USUAL_BASE
  const raw = frequencies[last]! ** (-half / last)
  const fits = (theta: number) =>
    frequencies.every((each, pair) => Math.abs(each / theta ** (-pair / half) - 1) < tolerance)
  for (let digits = 1; digits <= 7; digits++) {
    const rounded = Number(raw.toPrecision(digits))
    if (fits(rounded)) return rounded
  }
  return undefined
}
