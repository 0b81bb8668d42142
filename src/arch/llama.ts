// Llama. In: hyperparameters. Out: the graph of one step: attention and a gated MLP per layer, each behind a norm.
import { graphBuilder, matrix, vector } from '../graph/builder.ts'
import type { Graph } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'

/** What models of the same build have beyond Llama. */
export interface LlamaVariant {
  /** Biases on Q, K and V. */
  readonly qkvBias: boolean
}

/** Llama 1 to 3, and what was built like them: Mistral without a window, SmolLM, TinyLlama. */
export function llama(config: ModelConfig, { qkvBias }: LlamaVariant = { qkvBias: false }): Graph {
  const { hiddenSize, heads, kvHeads, headDim, intermediateSize, normEpsilon, rope } = config
  const b = graphBuilder()
  const table = matrix(hiddenSize, { 'embed.weight': config.vocabSize })
  const normWeight = (name: string) => vector({ [`${name}.weight`]: hiddenSize })
  const ropeUse = { table: 0, dims: rope.dims, pairing: rope.pairing }

  let x = b.embed('embed', table)
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const q = heads * headDim
    const kv = kvHeads * headDim

    const qkvParts = (kind: 'weight' | 'bias') => ({
      [`${at}.attn_q.${kind}`]: q,
      [`${at}.attn_k.${kind}`]: kv,
      [`${at}.attn_v.${kind}`]: kv,
    })
    const qkvWeight = matrix(hiddenSize, qkvParts('weight'))
    const attnInput = b.rmsnorm(`${at}.attn_norm`, x, normWeight(`${at}.attn_norm`), normEpsilon)
    const qkv = b.linear(
      `${at}.attn_qkv`,
      attnInput,
      qkvWeight,
      qkvBias ? vector(qkvParts('bias')) : undefined,
    )
    const shape = { layer, heads, kvHeads, headDim, window: 0 }
    const attended = b.attend(`${at}.attn`, b.parts(qkv, qkvWeight), shape, ropeUse)
    const attnWeight = matrix(q, { [`${at}.attn_output.weight`]: hiddenSize })
    x = b.add(`${at}.attn_output`, x, b.linear(`${at}.attn_product`, attended, attnWeight))

    const gateUpWeight = matrix(hiddenSize, {
      [`${at}.mlp_gate.weight`]: intermediateSize,
      [`${at}.mlp_up.weight`]: intermediateSize,
    })
    const mlpInput = b.rmsnorm(`${at}.mlp_norm`, x, normWeight(`${at}.mlp_norm`), normEpsilon)
    const gateUp = b.linear(`${at}.mlp_gate_up`, mlpInput, gateUpWeight)
    const gated = b.swiglu(`${at}.mlp_act`, b.parts(gateUp, gateUpWeight))
    const downWeight = matrix(intermediateSize, { [`${at}.mlp_down.weight`]: hiddenSize })
    x = b.add(`${at}.mlp_down`, x, b.linear(`${at}.mlp_product`, gated, downWeight))
  }

  const wanted = b.rmsnorm('norm', b.takeRows('wanted', x), normWeight('norm'), normEpsilon)
  const outputWeight = config.tiedEmbeddings
    ? table
    : matrix(hiddenSize, { 'output.weight': config.vocabSize })
  return b.finish(b.linear('logits', wanted, outputWeight), wanted)
}
