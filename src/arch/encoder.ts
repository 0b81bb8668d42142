// Builds the graph of one step of a sentence encoder: each row attends to all rows of its text.
import { graphBuilder, matrix, vector } from '../graph/builder.ts'
import { EVERY_POSITION, type Value } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import type { ModelConfig } from './config/config.ts'

/** Every layer writes its keys and values over those of the layer before, which nothing reads any more. */
const ONE_LAYER = 0

/**
 * The graph of BERT: embeddings of tokens and positions, layer norms after each block, biases everywhere. Its
 * output is the hidden states of the wanted rows, after the last norm. `kinds`: how many kinds of tokens have
 * an embedding of their own; without it, `positions.weight` contains that of the first kind.
 */
export function encoder(config: ModelConfig, kinds?: number): Graph {
  const { hiddenSize, vocabSize, contextLength, heads, headDim, intermediateSize, normEpsilon } = config
  const { activation = 'gelu_exact' } = config
  const b = graphBuilder()
  const norm = (name: string, input: Value): Value =>
    b.layernorm(
      name,
      input,
      vector({ [`${name}.weight`]: hiddenSize }),
      vector({ [`${name}.bias`]: hiddenSize }),
      normEpsilon,
    )
  const linear = (name: string, input: Value, n: number): Value =>
    b.linear(
      `${name}_product`,
      input,
      matrix(input.shape[1], { [`${name}.weight`]: n }),
      vector({ [`${name}.bias`]: n }),
    )
  const words = b.embed('embed', matrix(hiddenSize, { 'embed.weight': vocabSize }))
  const places = b.embedPositions('positions', matrix(hiddenSize, { 'positions.weight': contextLength }))
  const placed = b.add('embedded', words, places)
  const typed =
    kinds === undefined
      ? placed
      : b.add('typed', placed, b.embedKinds('kinds', matrix(hiddenSize, { 'kinds.weight': kinds })))
  let x = norm('embed_norm', typed)
  const shape = { layer: ONE_LAYER, heads, kvHeads: heads, headDim, window: 0, after: EVERY_POSITION }
  const rope = { table: 0, dims: 0, pairing: 'halves' } as const
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const parts = (kind: 'weight' | 'bias') =>
      Object.fromEntries(['q', 'k', 'v'].map((part) => [`${at}.attn_${part}.${kind}`, heads * headDim]))
    const weight = matrix(hiddenSize, parts('weight'))
    const qkv = b.linear(`${at}.attn_qkv`, x, weight, vector(parts('bias')))
    const attended = b.attend(`${at}.attn`, b.parts(qkv, weight), shape, rope)
    const mixed = b.add(`${at}.attn_sum`, x, linear(`${at}.attn_output`, attended, hiddenSize))
    x = norm(`${at}.attn_post_norm`, mixed)
    const up = b.swiglu(`${at}.mlp_act`, [linear(`${at}.mlp_up`, x, intermediateSize)], activation)
    const sum = b.add(`${at}.mlp_sum`, x, linear(`${at}.mlp_down`, up, hiddenSize))
    // The last norm gathers the rows that are wanted.
    x = norm(`${at}.mlp_post_norm`, layer === config.layers - 1 ? b.takeRows('wanted', sum) : sum)
  }
  return b.finish(x)
}
