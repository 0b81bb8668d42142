// Builds the graph of one step of a decoder from its hyperparameters and its family's traits.
import { graphBuilder, matrix } from '../graph/builder.ts'
import type { Value } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import { attention } from './blocks/attention.ts'
import { experts } from './blocks/experts.ts'
import { feedForward } from './blocks/feed-forward.ts'
import { latentAttention } from './blocks/latent-attention.ts'
import { decoderParts, hasExperts, isRecurrent, type Mixer, type Parts, PLAIN } from './blocks/parts.ts'
import type { ModelConfig } from './config/config.ts'

/** One step of a decoder. Each layer is a mixer and, if the model has one, a feed-forward block. */
export function decoder(config: ModelConfig, traits = PLAIN, mix?: Mixer): Graph {
  const { hiddenSize, vocabSize, logitScale = 1, logitCap = 0 } = config
  const b = graphBuilder()
  const parts = decoderParts(b, config, traits)
  const made = mix ?? (traits.latent === true ? latentAttention : attention)
  const table = matrix(hiddenSize, { 'embed.weight': vocabSize })
  let x = b.embed('embed', table, config.embeddingScale)
  if (traits.positions === 'learned') {
    const positions = matrix(hiddenSize, { 'positions.weight': config.contextLength })
    x = b.add('embedded', x, b.embedPositions('positions', positions))
  }
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const mixer = isRecurrent(config, layer) ? 'ssm' : 'attn'
    const mixed = addedTo(parts, `${at}.${mixer}`, x, (input) => made(parts, layer, input))
    if (config.intermediateSize === 0) x = mixed
    else {
      const block = hasExperts(config, layer) ? experts : feedForward
      x = addedTo(parts, `${at}.mlp`, mixed, (input) => block(parts, at, input), x)
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
  name: string,
  x: Value,
  block: (input: Value) => Value,
  before = x,
): Value {
  const read = config.parallelResidual === true ? before : x
  const input = traits.norms === 'after' ? read : norm(`${name}_norm`, read)
  const made = block(input)
  const added = traits.norms === 'before' ? made : norm(`${name}_post_norm`, made)
  return b.add(`${name}_sum`, x, added, config.residualScale)
}
