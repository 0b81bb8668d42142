// Differential attention (Ye et al., 2024): computes two maps of scores and subtracts the second.
//
// The first half of the heads computes the first map. A value is two heads wide, so keys and queries are
// zero-padded to that width.
import { GROUP_SIZE, roundUp } from '../../abi/encodings.ts'
import { vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { ModelConfig } from '../config/config.ts'
import type { Parts } from './parts.ts'

/**
 * The fraction of the second map that an untrained layer subtracts. 1 minus this fraction scales the
 * normalised difference.
 */
export const initialShare = (layer: number): number => 0.8 - 0.6 * Math.exp(-0.3 * layer)

/** The name of the norm's weights, without the layer. The weights are all equal. */
export const DIFFERENCE_NORM = 'attn_difference_norm.weight'

/**
 * The width of a pair of heads, which share a norm; that width padded to whole groups; and the number of
 * pairs.
 */
const normSizes = ({ heads, headDim }: ModelConfig) => ({
  width: 2 * headDim,
  padded: roundUp(2 * headDim, GROUP_SIZE),
  count: heads / 2,
})

export const differenceNormSize = (config: ModelConfig): number => {
  const { padded, count } = normSizes(config)
  return padded * count
}

/** The zeros of a padded pair count in its mean; the weight and epsilon compensate for that. */
export function differenceNormWeight(config: ModelConfig, layer: number): number {
  const { width, padded } = normSizes(config)
  return (1 - initialShare(layer)) * Math.sqrt(width / padded)
}

/** Differential attention of one layer, including its output projection. */
export function differentialAttention(parts: Parts, layer: number, input: Value): Value {
  const { b, config, linear, linears } = parts
  const { hiddenSize, heads, kvHeads, headDim, rope, subtracted } = config
  const at = `layers.${layer}`
  const sizes = {
    [`${at}.attn_q`]: heads * headDim,
    [`${at}.attn_k`]: kvHeads * headDim,
    [`${at}.attn_v`]: kvHeads * headDim,
  }
  const [q, k, v] = linears(`${at}.attn_qkv`, input, sizes, 'qkv') as [Value, Value, Value]
  const width = 2 * headDim
  const widened = (name: string, value: Value, count: number) =>
    b.node(`${at}.${name}`, { op: 'joinHeads', input: value, heads: count, own: headDim, width })
  const all = kvHeads * headDim
  const qkv = [
    widened('attn_q_heads', q, heads),
    widened('attn_k_heads', k, kvHeads),
    // Both halves of the heads use the same values, each two heads wide.
    b.node(`${at}.attn_v_heads`, {
      ...{ op: 'joinHeads', input: v, shared: v, heads: 1, own: all, width: 2 * all },
    }),
  ]
  const shape = { layer, heads, kvHeads, headDim: width, window: 0 }
  const use = { table: 0, dims: rope.dims, pairing: rope.pairing }
  const attended = b.attend(`${at}.attn`, qkv, shape, use, { scale: 1 / Math.sqrt(headDim) })
  const difference = b.add(
    `${at}.attn_difference`,
    half(parts, layer, attended, 0),
    half(parts, layer, attended, 1),
    -(subtracted?.[layer] ?? 0),
  )
  const normed = normedPairs(parts, layer, difference)
  return linear(`${at}.attn_product`, normed, `${at}.attn_output`, hiddenSize, 'output')
}

/** The outputs of one half of the heads, aligned to a group. */
function half({ b, config }: Parts, layer: number, attended: Value, index: number): Value {
  const width = config.heads * config.headDim
  const label = `layers.${layer}.attn_half.${index}`
  const input = b.node(label, { op: 'slice', input: attended, start: index * width, width })
  if (width % GROUP_SIZE === 0) return input
  return b.node(`${label}.own`, { op: 'joinHeads', input, heads: 1, own: width, width })
}

/** Normalises each pair of heads. */
function normedPairs({ b, config }: Parts, layer: number, input: Value): Value {
  const { width, padded, count } = normSizes(config)
  const at = `layers.${layer}`
  const rows =
    width === padded
      ? input
      : b.node(`${at}.attn_pairs`, { op: 'joinHeads', input, heads: count, own: width, width: padded })
  const weight = vector({ [`${at}.${DIFFERENCE_NORM}`]: count * padded })
  const epsilon = (config.normEpsilon * width) / padded
  const normed = b.rmsnorm(`${at}.attn_normed`, rows, weight, epsilon, count)
  if (width === padded) return normed
  return b.node(`${at}.attn_values`, { op: 'joinHeads', input: normed, heads: count, own: width, width })
}
