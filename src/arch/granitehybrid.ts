// Granite 4 hybrids. In: hyperparameters. Out: the graph of one step: Mamba-2 in most layers, attention in some, an MLP in each.
import { graphBuilder, matrix, vector } from '../graph/builder.ts'
import type { Graph } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'
import { attention, decoderParts, feedForward } from './decoder.ts'
import type { FamilyFile, Place } from './family.ts'
import { mamba2Layer } from './mamba2.ts'
import { mergedGateUp } from './phi3.ts'

/**
 * `GraniteMoeHybridForCausalLM` without experts. What a layer makes is multiplied by `residual` before it is added: instead
 * the whole residual stream is kept divided by it, which the embedding's scale and the norms' epsilon make up for.
 */
function build(config: ModelConfig): Graph {
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

/** The logits are divided by a number: the norm in front of them does it. */
const scaledNorm =
  (tensor: string) =>
  ({ multipliers }: ModelConfig): Place => ({
    tensor,
    change: multipliers && { scale: multipliers.logits },
  })

const MLP = 'model.layers.N.shared_mlp'

export const granitehybrid: FamilyFile = {
  build,
  gguf: {
    architecture: 'granitehybrid',
    pairing: 'interleaved',
    names: { 'norm.weight': scaledNorm('output_norm.weight') },
  },
  hf: {
    classes: ['GraniteMoeHybridForCausalLM'],
    names: {
      'norm.weight': scaledNorm('model.norm.weight'),
      ...mergedGateUp(`${MLP}.input_linear.weight`),
      'layers.N.mlp_down.weight': `${MLP}.output_linear.weight`,
    },
  },
}
