// RoPE. In: how a model rotates, positions. Out: inverse frequencies in f64; a step's table of cosines and sines.
import type { RopeConfig, RopeScaling } from './config.ts'

/** Radians per position of each rotated pair: theta^(-2i / dims), changed as `scaling` says. [dims/2] */
export function inverseFrequencies({ theta, dims, scaling }: RopeConfig): Float64Array {
  return Float64Array.from({ length: dims / 2 }, (_, pair) =>
    scaled(theta ** ((-2 * pair) / dims), pair, scaling),
  )
}

function scaled(frequency: number, pair: number, scaling: RopeScaling | undefined): number {
  switch (scaling?.type) {
    case undefined:
      return frequency
    case 'linear':
      return frequency / scaling.factor
    case 'factors':
      return frequency / (scaling.factors[pair] ?? 1)
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

/** Writes f32 [rows][dims/2][cosine, sine] of the first `rows` positions into `target`. */
// hot
export function fillRopeTable(
  target: Float32Array,
  positions: Uint32Array,
  rows: number,
  frequencies: Float64Array,
): void {
  let at = 0
  for (let row = 0; row < rows; row++) {
    const position = positions[row]!
    for (let pair = 0; pair < frequencies.length; pair++) {
      const angle = position * frequencies[pair]!
      target[at++] = Math.cos(angle)
      target[at++] = Math.sin(angle)
    }
  }
}
