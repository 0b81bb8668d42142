// Builds the graph of one step of a decoder from its hyperparameters and its family's traits.
import { graphBuilder, matrix } from '../graph/builder.ts'
import type { Value } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import { attention } from './blocks/attention.ts'
import { experts } from './blocks/experts.ts'
import { feedForward } from './blocks/feed-forward.ts'
import { latentAttention } from './blocks/latent-attention.ts'
import {
  attends,
  decoderParts,
  type Framing,
  hasExperts,
  hasMlp,
  isRecurrent,
  type Mixer,
  normsOf,
  type Parts,
  PLAIN,
} from './blocks/parts.ts'
import type { ModelConfig } from './config/config.ts'

/**
 * One step of a decoder. Each layer is a mixer and, if the model has one, a feed-forward block; `frame` wraps
 * the layers.
 */
export function decoder(config: ModelConfig, traits = PLAIN, mix?: Mixer, frame?: Framing): Graph {
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
  if (traits.embeddingNorm === true) x = parts.norm('embed_norm', x, 0)
  const plain = (layer: number, input: Value) => layerOf(parts, layer, input, made)
  const { first = x, each, leave } = frame?.(parts, plain, x) ?? { each: plain }
  x = first
  for (let layer = 0; layer < config.layers; layer++) x = each(layer, x)
  if (leave !== undefined) x = leave(x)
  const wanted =
    traits.predictionHead === true
      ? predictionHead(parts, x)
      : parts.norm('norm', b.takeRows('wanted', x), config.layers)
  const output = config.tiedEmbeddings ? table : matrix(hiddenSize, { 'output.weight': vocabSize })
  const logits = b.linear('logits', wanted, output, parts.biasOf({ output: vocabSize }, 'logits'))
  if (logitScale === 1 && logitCap === 0) return b.finish(logits, wanted)
  return b.finish(b.rescale('scaled_logits', logits, logitScale, logitCap), wanted)
}

function layerOf(parts: Parts, layer: number, x: Value, mix: Mixer): Value {
  const { config } = parts
  const mixer = isRecurrent(config, layer) && !attends(config, layer) ? 'ssm' : 'attn'
  const block = hasExperts(config, layer) ? experts : feedForward
  if (config.mlpLayers?.includes(layer) === true) {
    const made = block(parts, layer, normedInput(parts, layer, 'mlp', x))
    return addedTo(parts, layer, 'mlp', x, made)
  }
  const isBare = layer === 0 && parts.traits.firstNorm === false
  const input = isBare ? x : normedInput(parts, layer, mixer, x)
  // A parallel block must read x before the mixer's output is added to it in place.
  const isParallel = config.parallelResidual === true && hasMlp(config, layer)
  const early = isParallel && (config.sharedNorm === true ? input : normedInput(parts, layer, 'mlp', x))
  const mixed = addedTo(parts, layer, mixer, x, mix(parts, layer, input))
  if (!hasMlp(config, layer)) return mixed
  const made = block(parts, layer, early || normedInput(parts, layer, 'mlp', mixed))
  return addedTo(parts, layer, 'mlp', mixed, made)
}

/** The last norm selects the wanted rows, so the linear layer before it processes all of them. */
function predictionHead({ b, config, traits, norm }: Parts, x: Value): Value {
  const { hiddenSize } = config
  const made = b.linear(
    'head',
    norm('norm', x, config.layers),
    matrix(hiddenSize, { 'head.weight': hiddenSize }),
  )
  // The class has a separate setting for this activation, but no model changes it.
  const active = b.swiglu('head_act', [made], traits.activation)
  return norm('head_norm', b.takeRows('wanted', active), config.layers)
}

type Block = 'attn' | 'ssm' | 'mlp'

/** The input of a block, from x. */
const normedInput = ({ config, traits, norm }: Parts, layer: number, block: Block, x: Value): Value =>
  normsOf(config, traits, layer) === 'after' ? x : norm(`layers.${layer}.${block}_norm`, x, layer)

/** x plus the block's output. */
function addedTo(
  { b, traits, config, norm }: Parts,
  layer: number,
  block: Block,
  x: Value,
  made: Value,
): Value {
  const name = `layers.${layer}.${block}`
  const added = normsOf(config, traits, layer) === 'before' ? made : norm(`${name}_post_norm`, made, layer)
  return b.add(`${name}_sum`, x, added, config.residualScale)
}
