// Builds the graph of one step of a decoder from its hyperparameters and its family's traits.
import { graphBuilder, matrix } from '../graph/builder.ts'
import type { Value } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import { attention } from './blocks/attention.ts'
import { feedForward } from './blocks/feed-forward.ts'
import {
  attends,
  decoderParts,
  hasMlp,
  isRecurrent,
  type Mixer,
  normsOf,
  type Parts,
  PLAIN,
} from './blocks/parts.ts'
import type { ModelConfig } from './config/config.ts'

/** One step of a decoder. Each layer is a mixer and, if the model has one, a feed-forward block. */
export function decoder(config: ModelConfig, traits = PLAIN, mix: Mixer = attention): Graph {
  const { hiddenSize, vocabSize, logitScale = 1, logitCap = 0 } = config
  const b = graphBuilder()
  const parts = decoderParts(b, config, traits)
  const table = matrix(hiddenSize, { 'embed.weight': vocabSize })
  let x = b.embed('embed', table, config.embeddingScale)
  if (traits.positions === 'learned') {
    const positions = matrix(hiddenSize, { 'positions.weight': config.contextLength })
    x = b.add('embedded', x, b.embedPositions('positions', positions))
  }
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const mixer = isRecurrent(config, layer) && !attends(config, layer) ? 'ssm' : 'attn'
    const before = x
    if (config.mlpLayers?.includes(layer) !== true) {
      x = addedTo(parts, layer, mixer, x, (input) => mix(parts, layer, input))
    }
    if (hasMlp(config, layer)) {
      x = addedTo(parts, layer, 'mlp', x, (input) => feedForward(parts, at, input), before)
    }
  }
  const wanted = parts.norm('norm', b.takeRows('wanted', x))
  const output = config.tiedEmbeddings ? table : matrix(hiddenSize, { 'output.weight': vocabSize })
  const logits = b.linear('logits', wanted, output)
  if (logitScale === 1 && logitCap === 0) return b.finish(logits, wanted)
  return b.finish(b.rescale('scaled_logits', logits, logitScale, logitCap), wanted)
}

/** x + block(x), with the family's norms. `before` is x before the last block. */
function addedTo(
  { b, traits, config, norm }: Parts,
  layer: number,
  kind: 'attn' | 'ssm' | 'mlp',
  x: Value,
  block: (input: Value) => Value,
  before = x,
): Value {
  const name = `layers.${layer}.${kind}`
  const norms = normsOf(config, traits, layer)
  const read = config.parallelResidual === true ? before : x
  const input = norms === 'after' ? read : norm(`${name}_norm`, read)
  const made = block(input)
  const added = norms === 'before' ? made : norm(`${name}_post_norm`, made)
  return b.add(`${name}_sum`, x, added, config.residualScale)
}
