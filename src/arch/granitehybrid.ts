// Granite 4 hybrids. In: hyperparameters. Out: the graph of one step: Mamba-2 in most layers, attention in some, an MLP in each.
import type { Graph } from '../graph/ir.ts'
import type { ModelConfig } from './config.ts'
import { attention, decoder, isRecurrent, PLAIN } from './decoder.ts'
import type { FamilyFile, Place } from './family.ts'
import { mamba2Layer } from './mamba2.ts'
import { mergedGateUp } from './phi3.ts'

/**
 * `GraniteMoeHybridForCausalLM` without experts. What a layer makes is multiplied by `residual` before it is added: instead
 * the whole residual stream is kept divided by it, which the embedding's scale and the norms' epsilon make up for.
 */
function build(config: ModelConfig): Graph {
  const { embedding = 1, residual = 1 } = config.multipliers ?? {}
  const divided = {
    ...config,
    embeddingScale: embedding / residual,
    normEpsilon: config.normEpsilon / residual ** 2,
  }
  return decoder(divided, PLAIN, (parts, layer, input) => {
    if (!isRecurrent(config, layer)) return attention(parts, layer, input)
    // The norm behind the gate is inside the layer, where nothing is divided.
    return mamba2Layer({ ...parts, config }, layer, input)
  })
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
