// The roofline as numbers. In: a machine's limits and the steps of one build and thread count. Out: lines and
// points to draw.
import {
  dotPeak,
  KIND_NAMES,
  type Line,
  peakOf,
  readBandwidth,
  type StepAnalysis,
} from '../../../lab/bench/roofline/analyse.ts'
import type { Limits } from '../../../lab/bench/roofline/limits.ts'
import type { Stage } from '../../../lab/bench/roofline/steps.ts'

export type Kind = 'linear' | 'attention' | 'other'

/** Attainable GOP/s against operations per byte. */
export interface Roof {
  readonly label: string
  readonly gigabytesPerSecond: number
  readonly gigaopsPerSecond: number
}
export interface Point {
  readonly label: string
  readonly kind: Kind
  readonly stage: Stage
  readonly opsPerByte: number
  readonly gigaopsPerSecond: number
}
export interface Figure {
  readonly roofs: readonly Roof[]
  readonly points: readonly Point[]
  /** The powers of ten that enclose everything in the plot. */
  readonly x: readonly [number, number]
  readonly y: readonly [number, number]
}

/** `steps` belong to the build and thread count of the roofs. */
export function figureOf(limits: Limits, threads: number, steps: readonly StepAnalysis[]): Figure {
  const cold = readBandwidth(limits, threads, Number.POSITIVE_INFINITY)
  const warm = readBandwidth(limits, threads, 0)
  const dot = dotPeak(limits, threads)
  const float = peakOf(limits, threads, 'mul_add')
  const roofs: Roof[] = [
    { label: 'Memory, integer dot', gigabytesPerSecond: cold, gigaopsPerSecond: dot },
    { label: 'Cache, integer dot', gigabytesPerSecond: warm, gigaopsPerSecond: dot },
    { label: 'Memory, f32', gigabytesPerSecond: cold, gigaopsPerSecond: float },
  ]
  const points = steps.flatMap((step) => step.lines.flatMap((line) => pointOf(line, step.stage)))
  const x = bounds([...points.map((point) => point.opsPerByte), ...roofs.map(ridge)])
  const y = bounds([
    ...points.map((point) => point.gigaopsPerSecond),
    ...roofs.map((roof) => roof.gigaopsPerSecond),
  ])
  return { roofs, points, x, y }
}

export const attainable = (roof: Roof, opsPerByte: number): number =>
  Math.min(roof.gigabytesPerSecond * opsPerByte, roof.gigaopsPerSecond)

/** Operations per byte where memory stops being the limit. */
export const ridge = ({ gigabytesPerSecond, gigaopsPerSecond }: Roof): number =>
  gigaopsPerSecond / gigabytesPerSecond

/** A logarithmic axis cannot show times below the clock's resolution. */
function pointOf({ label, kind, ops, bytes, ms }: Line, stage: Stage): Point[] {
  if (kind === 'step' || ops <= 0 || bytes <= 0 || ms.median <= 0) return []
  const gigaopsPerSecond = ops / ms.median / 1e6
  return [{ label: `${stage}: ${label}`, kind, stage, opsPerByte: ops / bytes, gigaopsPerSecond }]
}

function bounds(values: readonly number[]): [number, number] {
  const low = 10 ** Math.floor(Math.log10(Math.min(...values)))
  const high = 10 ** Math.ceil(Math.log10(Math.max(...values)))
  return [low, high > low ? high : low * 10]
}

/** One sentence that describes the drawing. */
export function describe({ roofs, points }: Figure): string {
  const [memory] = roofs
  if (memory === undefined) return ''
  const kinds = [...new Set(points.map(({ kind }) => KIND_NAMES[kind].toLowerCase()))].join(', ')
  return (
    `Memory gives ${memory.gigabytesPerSecond.toFixed(1)} GB/s and integer dots ${memory.gigaopsPerSecond.toFixed(0)} GOP/s; ` +
    `the roof bends at ${ridge(memory).toFixed(1)} operations per byte. ` +
    `${points.length} points stand for ops (${kinds}). The tables have every figure.`
  )
}
