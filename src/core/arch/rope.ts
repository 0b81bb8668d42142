// Computes RoPE's inverse frequencies in f64, and tables of cosines and sines for positions.
import type { ModelConfig, QueryScale, RopeConfig, RopeScaling } from './config/config.ts'

/** The frequencies and scale of one rotation. */
export interface RopeTable {
  /** Radians per position of each pair. */
  readonly frequencies: Float64Array
  /** Factor applied to cosines and sines. */
  readonly magnitude: number
  /** Which of a row's three coordinates each pair rotates by. Absent: by its position. */
  readonly axes?: Uint8Array | undefined
  /** An additional factor of `magnitude` for each position. Absent: 1. */
  readonly scale?: QueryScale | undefined
}

/** Time, height and width of each row. */
export const AXES = 3

/**
 * The rotations of a model's layers, in the order of the graph's tables, for contexts up to `contextLength`.
 */
export function ropeTables(config: ModelConfig, contextLength: number): RopeTable[] {
  const { rope, localRope, queryScale } = config
  const table = (config: RopeConfig): RopeTable => ({
    frequencies: inverseFrequencies(config, contextLength),
    magnitude: magnitudeOf(config),
    axes:
      config.sections && Uint8Array.from(config.sections.flatMap((pairs, axis) => Array(pairs).fill(axis))),
  })
  if (rope.dims === 0) return []
  const tables = localRope === undefined ? [table(rope)] : [table(rope), table(localRope)]
  return queryScale === undefined ? tables : [...tables, { ...table(rope), scale: queryScale }]
}

/** The table for queries that are scaled by position; always the last table. */
export const queryTableOf = ({ localRope, queryScale }: ModelConfig): number | undefined =>
  queryScale === undefined ? undefined : localRope === undefined ? 1 : 2

/** The factor of cosines and sines; 1 if the scaling defines none. */
export const magnitudeOf = ({ scaling }: Pick<RopeConfig, 'scaling'>): number =>
  scaling !== undefined && 'magnitude' in scaling ? (scaling.magnitude ?? 1) : 1

/** Radians per position of each rotated pair: theta^(-2i / dims), adjusted by `scaling`. [dims/2] */
export function inverseFrequencies(rope: RopeConfig, contextLength = 0): Float64Array {
  const { dims, scaling } = rope
  const theta = rope.theta * (scaling?.type === 'dynamic' ? growth(scaling, dims, contextLength) : 1)
  if (scaling?.type === 'yarn') return yarn(rope, scaling)
  return Float64Array.from({ length: dims / 2 }, (_, pair) =>
    scaled(theta ** ((-2 * pair) / dims), pair, scaling, contextLength),
  )
}

/** The factor by which dynamic scaling multiplies `theta` for a context of this length. */
function growth(
  { factor, originalContextLength }: Extract<RopeScaling, { type: 'dynamic' }>,
  dims: number,
  contextLength: number,
): number {
  const times = Math.max(contextLength, originalContextLength) / originalContextLength
  return (factor * times - (factor - 1)) ** (dims / (dims - 2))
}

/** YaRN (Peng et al., 2023), rounded to whole dimensions unless the model says otherwise. */
function yarn({ theta, dims }: RopeConfig, scaling: Extract<RopeScaling, { type: 'yarn' }>): Float64Array {
  const { factor, originalContextLength, fast, slow } = scaling
  /** The dimension that makes `turns` full turns over the original context length. */
  const dimensionOf = (turns: number) =>
    (dims * Math.log(originalContextLength / (turns * 2 * Math.PI))) / (2 * Math.log(theta))
  const [first, last] = [dimensionOf(fast), dimensionOf(slow)]
  const low = Math.max(0, scaling.isUnrounded === true ? first : Math.floor(first))
  const high = Math.min(dims - 1, scaling.isUnrounded === true ? last : Math.ceil(last))
  return Float64Array.from({ length: dims / 2 }, (_, pair) => {
    const frequency = theta ** ((-2 * pair) / dims)
    const share = Math.min(1, Math.max(0, (pair - low) / Math.max(0.001, high - low)))
    return frequency * (1 - share + share / factor)
  })
}

function scaled(
  frequency: number,
  pair: number,
  scaling: RopeScaling | undefined,
  contextLength: number,
): number {
  switch (scaling?.type) {
    case undefined:
      return frequency
    case 'linear':
      return frequency / scaling.factor
    case 'factors':
      return frequency / (scaling.factors[pair] ?? 1)
    case 'longrope': {
      const isLong = contextLength > scaling.originalContextLength
      return frequency / ((isLong ? scaling.longFactors : scaling.shortFactors)[pair] ?? 1)
    }
    case 'yarn':
      return frequency / scaling.factor
    case 'dynamic':
      return frequency
    case 'llama3': {
      const { factor, lowFrequencyFactor, highFrequencyFactor, originalContextLength } = scaling
      const turns = (originalContextLength * frequency) / (2 * Math.PI)
      const kept = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor)
      const share = Math.min(1, Math.max(0, kept))
      return frequency * (share + (1 - share) / factor)
    }
    default:
      return scaling satisfies never
  }
}

/**
 * Writes f32 [rows][dims/2][cosine, sine] of the first `rows` positions into `target`. `places` [rows][AXES]:
 * the rows' coordinates. Default: their positions on each axis.
 */
// hot
export function fillRopeTable(
  target: Float32Array,
  positions: Uint32Array,
  rows: number,
  { frequencies, magnitude, axes, scale }: RopeTable,
  places?: Uint32Array,
): void {
  let at = 0
  for (let row = 0; row < rows; row++) {
    const position = positions[row]!
    const size = scale === undefined ? magnitude : magnitude * scaleAt(scale, position)
    for (let pair = 0; pair < frequencies.length; pair++) {
      const place = axes && places ? places[AXES * row + axes[pair]!]! : position
      const angle = place * frequencies[pair]!
      target[at++] = size * Math.cos(angle)
      target[at++] = size * Math.sin(angle)
    }
  }
}

const scaleAt = ({ beta, length }: QueryScale, position: number): number =>
  1 + beta * Math.log(1 + Math.floor(position / length))
