// Prepares a sentence encoder from its headers: everything that can be known before a weight is read.
import type { PackedEncoding } from '../../abi/encodings.ts'
import { encoder, NOMIC } from '../../arch/encoder.ts'
import { encoderConfig, encoderWeights, kindsOf, type Placed } from '../../arch/encoders/bert.ts'
import { isNomic, nomicConfig, nomicWeights } from '../../arch/encoders/nomic.ts'
import { roleOf, weightOf } from '../../arch/tensors/names.ts'
import type { ModelFile } from '../../formats/readers.ts'
import { compile } from '../../graph/compile-graph.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { shardGraph } from '../../graph/shard/shard.ts'
import { chooseEncoding, type WeightPolicy } from '../../weights/choose-encoding.ts'
import type { PreparedModel } from '../load/prepare.ts'

/**
 * Rows of a step, if the longest text has no more: enough for the tiles of products to pay, few enough that
 * the activations stay in cache.
 */
const STEP_ROWS = 256

export interface EncoderOptions {
  readonly weights: WeightPolicy
  /** Most tokens of a text. Default: as many as the model has positions for. */
  readonly mostTokens?: number | undefined
}

export interface PreparedEncoder extends PreparedModel {
  readonly placed: Placed
}

/**
 * All rows of a text are in one step, so a step has room for the longest text. Throws `architecture` or
 * `unsupported`.
 */
export function prepareEncoder(
  file: ModelFile,
  { weights: policy, mostTokens }: EncoderOptions,
): PreparedEncoder {
  const isGated = isNomic(file)
  const placed = isGated ? nomicConfig(file) : encoderConfig(file)
  const { config } = placed
  const weights = isGated ? nomicWeights(file, placed) : encoderWeights(file, placed)
  const encodingOf = (name: string): PackedEncoding => {
    const { dtype, like = dtype } = weightOf(weights, name)
    return chooseEncoding(policy, roleOf(name), [like])
  }
  const contextLength = Math.min(mostTokens ?? config.contextLength, config.contextLength)
  const rows = Math.max(STEP_ROWS, contextLength)
  const sizes = { tokens: rows, logitRows: rows, encodingOf }
  const graph = isGated ? encoder(config, placed.types, NOMIC) : encoder(config, kindsOf(placed))
  const parameters = [...weights.values()].reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  )
  return {
    file,
    placed,
    config,
    plan: compile(graph, sizes),
    shardPlan: (shares, shard): Plan => compile(shardGraph(graph, { shares, shard, encodingOf }), sizes),
    parameters,
    contextLength,
    weights,
    sampling: {},
    notes: [],
  }
}
