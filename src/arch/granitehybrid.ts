// Granite 4 hybrids. In: hyperparameters. Out: the graph of one step: Mamba-2 in most layers, attention in some, an MLP in each.
import { graphBuilder, matrix, vector } from '../graph/builder.ts'
import type { Graph } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'
import { attention, decoderParts, feedForward } from './decoder.ts'
import { mamba2Layer } from './mamba2.ts'

/**
 * `GraniteMoeHybridForCausalLM` without experts. What a layer makes is multiplied by `residual` before it is added: instead
 * the whole residual stream is kept divided by it, which the embedding's scale and the norms' epsilon make up for.
 */
export function granitehybrid(config: ModelConfig): Graph {
  const { hiddenSize } = config
  const { embedding = 1, residual = 1 } = config.multipliers ?? {}
  const epsilon = config.normEpsilon / residual ** 2
  const b = graphBuilder()
  const parts = decoderParts(b, config)
  const table = matrix(hiddenSize, { 'embed.weight': config.vocabSize })
  const normWeight = (name: string) => vector({ [`${name}.weight`]: hiddenSize })
  let x = b.embed('embed', table, embedding / residual)
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const attends = config.attentionLayers?.includes(layer) === true
    const norm = `${at}.${attends ? 'attn' : 'ssm'}_norm`
    const input = b.rmsnorm(norm, x, normWeight(norm), epsilon)
    const made = attends
      ? attention(parts, layer, input)
      : // The norm behind the gate is inside the layer, where nothing is divided.
        mamba2Layer(b, config, layer, input)
    x = b.add(`${at}.${attends ? 'attn' : 'ssm'}_output`, x, made)
    const mlpInput = b.rmsnorm(`${at}.mlp_norm`, x, normWeight(`${at}.mlp_norm`), epsilon)
    x = b.add(`${at}.mlp_down`, x, feedForward(parts, at, mlpInput))
  }
  // The weight of this norm comes multiplied by what the logits are multiplied by.
  const wanted = b.rmsnorm('norm', b.takeRows('wanted', x), normWeight('norm'), epsilon)
  const output = config.tiedEmbeddings ? table : matrix(hiddenSize, { 'output.weight': config.vocabSize })
  return b.finish(b.linear('logits', wanted, output), wanted)
}
