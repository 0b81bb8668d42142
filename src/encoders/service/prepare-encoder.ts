// Prepares a sentence encoder from its headers: everything that can be known before a weight is read.
import type { PackedEncoding } from '../../core/abi/encodings.ts'
import { roleOf, weightOf } from '../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { compile } from '../../core/graph/compile-graph.ts'
import type { Plan } from '../../core/graph/plan/plan.ts'
import { shardGraph } from '../../core/graph/shard/shard.ts'
import { chooseEncoding } from '../../core/weights/choose-encoding.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import { DISTANCES } from '../encoder.ts'
import type { Placed } from '../families/placed.ts'
import { encoderFamily } from '../families/table.ts'
import type { EmbedSettings } from './embed-settings.ts'

/**
 * Rows per step, unless the longest text has more: enough for GEMM tiles to pay off, few enough to keep the
 * activations in cache.
 */
const STEP_ROWS = 256

/**
 * Default maximum number of tokens of a text, for models whose number of positions would need a step of half
 * a gigabyte or more.
 */
const DECODER_TOKENS = 2048

interface EncoderOptions {
  readonly weights: WeightPolicy
  readonly settings: Pick<EmbedSettings, 'mostTokens' | 'isStated'>
  /**
   * Maximum number of tokens of a text, if the files allow as many. Default: the model's number of positions.
   */
  readonly mostTokens?: number | undefined
}

export interface PreparedEncoder extends PreparedModel {
  readonly placed: Placed
}

/**
 * All rows of a text must be in one step, so a step has space for the longest text. Throws `architecture` or
 * `unsupported`.
 */
export function prepareEncoder(
  file: ModelFile,
  { weights: policy, settings, mostTokens }: EncoderOptions,
): PreparedEncoder {
  const family = encoderFamily(file)
  if (family.isDecoder === true && !settings.isStated) throw chatModel(file)
  const placed = family.config(file)
  const { config } = placed
  const weights = family.weights(file, placed)
  const encodingOf = (name: string): PackedEncoding => {
    const { dtype, like = dtype } = weightOf(weights, name)
    return chooseEncoding(policy, roleOf(name), [like])
  }
  const most = mostTokens ?? (family.isDecoder ? DECODER_TOKENS : config.contextLength)
  const contextLength = Math.min(most, settings.mostTokens ?? most, config.contextLength)
  const rows = Math.max(STEP_ROWS, contextLength)
  const sizes = { tokens: rows, logitRows: rows, encodingOf }
  const graph = family.graph(placed)
  // Biases by distance are computed from a few numbers, or from none.
  const stored = [...weights].filter(([name]) => name !== DISTANCES)
  const parameters = stored.reduce(
    (sum, [, { shape }]) => sum + shape.reduce((product, size) => product * size, 1),
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

function chatModel({ name, format }: ModelFile): HalfbyteError {
  const missing = format === 'gguf' ? 'the key pooling_type' : 'modules.json'
  return new HalfbyteError(
    'architecture',
    `${name}: without ${missing}, a model of this architecture is a chat model; load it with Engine, or choose an ` +
      'encoder such as Qwen3-Embedding',
    { file: name },
  )
}
