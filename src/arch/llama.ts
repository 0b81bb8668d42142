// Llama. In: hyperparameters. Out: the graph of one step: attention and a gated MLP per layer, each behind a norm.
import { type GraphBuilder, graphBuilder, matrix, vector } from '../graph/builder.ts'
import type { Graph, Value } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'

/** What models of the same build have beyond Llama. */
export interface LlamaVariant {
  /** Biases on Q, K and V. */
  readonly qkvBias: boolean
}

/** Llama 1 to 3, and what was built like them: Mistral without a window, SmolLM, TinyLlama. */
export function llama(config: ModelConfig, variant?: LlamaVariant): Graph {
  const { hiddenSize, normEpsilon } = config
  const b = graphBuilder()
  const table = matrix(hiddenSize, { 'embed.weight': config.vocabSize })
  const normWeight = (name: string) => vector({ [`${name}.weight`]: hiddenSize })

  let x = b.embed('embed', table)
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const attnInput = b.rmsnorm(`${at}.attn_norm`, x, normWeight(`${at}.attn_norm`), normEpsilon)
    x = b.add(`${at}.attn_output`, x, attentionLayer(b, config, layer, attnInput, variant))
    const mlpInput = b.rmsnorm(`${at}.mlp_norm`, x, normWeight(`${at}.mlp_norm`), normEpsilon)
    x = b.add(`${at}.mlp_down`, x, gatedMlp(b, config, layer, mlpInput))
  }

  const wanted = b.rmsnorm('norm', b.takeRows('wanted', x), normWeight('norm'), normEpsilon)
  const outputWeight = config.tiedEmbeddings
    ? table
    : matrix(hiddenSize, { 'output.weight': config.vocabSize })
  return b.finish(b.linear('logits', wanted, outputWeight), wanted)
}

/** Q, K and V of `input`, attention over all positions, and the output projection. */
export function attentionLayer(
  b: GraphBuilder,
  config: ModelConfig,
  layer: number,
  input: Value,
  { qkvBias }: LlamaVariant = { qkvBias: false },
): Value {
  const { hiddenSize, heads, kvHeads, headDim, rope } = config
  const at = `layers.${layer}`
  const q = heads * headDim
  const kv = kvHeads * headDim
  const qkvParts = (kind: 'weight' | 'bias') => ({
    [`${at}.attn_q.${kind}`]: q,
    [`${at}.attn_k.${kind}`]: kv,
    [`${at}.attn_v.${kind}`]: kv,
  })
  const qkvWeight = matrix(hiddenSize, qkvParts('weight'))
  const qkv = b.linear(`${at}.attn_qkv`, input, qkvWeight, qkvBias ? vector(qkvParts('bias')) : undefined)
  const shape = { layer, heads, kvHeads, headDim, window: 0 }
  const ropeUse = { table: 0, dims: rope.dims, pairing: rope.pairing }
  const scale = config.multipliers?.attention
  const attended = b.attend(`${at}.attn`, b.parts(qkv, qkvWeight), shape, ropeUse, scale)
  return b.linear(`${at}.attn_product`, attended, matrix(q, { [`${at}.attn_output.weight`]: hiddenSize }))
}

/** down(silu(gate) * up) of `input`. */
export function gatedMlp(b: GraphBuilder, config: ModelConfig, layer: number, input: Value): Value {
  const { hiddenSize, intermediateSize } = config
  const at = `layers.${layer}`
  const gateUpWeight = matrix(hiddenSize, {
    [`${at}.mlp_gate.weight`]: intermediateSize,
    [`${at}.mlp_up.weight`]: intermediateSize,
  })
  const gateUp = b.linear(`${at}.mlp_gate_up`, input, gateUpWeight)
  const gated = b.swiglu(`${at}.mlp_act`, b.parts(gateUp, gateUpWeight))
  const downWeight = matrix(intermediateSize, { [`${at}.mlp_down.weight`]: hiddenSize })
  return b.linear(`${at}.mlp_product`, gated, downWeight)
}
