// Per-layer token embeddings, and how a layer adds its own to the residual.
import { GROUP_SIZE, roundUp } from '../../abi/encodings.ts'
import { matrix, vector } from '../../graph/builder.ts'
import type { Value } from '../../graph/ir.ts'
import type { LayerEmbedding } from '../config/config.ts'
import type { Framing, Parts } from './parts.ts'

/**
 * Each layer's input: its part of the token's row plus a projection of the token's embedding, both divided by
 * sqrt(2). These factors are already in the table and in the norm's weights.
 */
export function layerInputs(
  { b, config }: Parts,
  embedded: Value,
  { size }: LayerEmbedding,
): (layer: number) => Value {
  const { layers, hiddenSize, vocabSize, normEpsilon } = config
  const table = matrix(layers * size, { 'layer_embed.weight': vocabSize })
  const rows = b.embed('layer_embed', table, Math.sqrt(size / 2))
  const width = roundUp(size, GROUP_SIZE)
  const all =
    width === size
      ? rows
      : b.node('layer_embed_rows', { op: 'joinHeads', input: rows, heads: layers, own: size, width })
  return (layer) => {
    const at = `layers.${layer}`
    const own = b.node(`${at}.layer_embed`, { op: 'slice', input: all, start: layer * width, width: size })
    const weight = matrix(hiddenSize, { [`${at}.layer_proj.weight`]: size })
    const projected = b.linear(`${at}.layer_projected`, embedded, weight)
    // transformers divides the projection by sqrt(hiddenSize); a larger epsilon has the same effect.
    const norm = vector({ 'layer_embed_norm.weight': size })
    const normed = b.rmsnorm(`${at}.layer_normed`, projected, norm, normEpsilon * hiddenSize)
    return b.add(`${at}.layer_input`, normed, own)
  }
}

/** The layer's input, gated by x and projected. */
export function gatedInput({ b, config, traits, norm }: Parts, layer: number, x: Value, input: Value): Value {
  const { hiddenSize, activation = traits.activation } = config
  const at = `layers.${layer}`
  const weight = matrix(hiddenSize, { [`${at}.layer_gate.weight`]: input.shape[1] })
  const gate = b.linear(`${at}.layer_gate`, x, weight)
  const gated = b.swiglu(`${at}.layer_gated`, [gate, input], activation)
  const made = b.linear(
    `${at}.layer_product`,
    gated,
    matrix(input.shape[1], { [`${at}.layer_output.weight`]: hiddenSize }),
  )
  return norm(`${at}.layer_post_norm`, made, layer)
}

/** Adds a per-layer embedding to each layer's output, then scales it. */
export const withInputs: Framing = (parts, plain, embedded) => {
  const { b, config } = parts
  const { layerEmbedding, layerScales } = config
  const inputOf = layerEmbedding && layerInputs(parts, embedded, layerEmbedding)
  return {
    each(layer, x) {
      const at = `layers.${layer}`
      const made = plain(layer, x)
      const whole =
        inputOf === undefined
          ? made
          : b.add(`${at}.layer_sum`, made, gatedInput(parts, layer, made, inputOf(layer)))
      const scale = layerScales?.[layer] ?? 1
      return scale === 1 ? whole : b.rescale(`${at}.layer_scaled`, whole, scale, 0)
    },
  }
}
