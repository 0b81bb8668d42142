// The head of a reranker: reads it from safetensors, and scores the hidden state of a pair's first token.
import { unbuiltVariant } from '../../core/arch/config/fields.ts'
import { checkShape, requireTensor } from '../../core/arch/tensors/names.ts'
import { erf } from '../../core/base/erf.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { readVector } from '../../core/formats/dequantize.ts'
import { shown } from '../../core/formats/malformed.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import { prefixOf } from './bert.ts'
import type { Placed } from './placed.ts'
import { activationOf, type ScoreActivation } from './rank-activation.ts'
import { fieldsOf, isGguf, refuseOthers } from './stated.ts'

/**
 * score = activation(out . pooled + outBias), where pooled = tanh(dense x + bias), as in transformers'
 * sequence classification classes, or norm(gelu(dense x + bias)) in ModernBERT.
 */
interface Head {
  /** [width][width] */
  readonly dense: Float32Array
  readonly bias: Float32Array | undefined
  readonly out: Float32Array
  readonly outBias: number
  /** Weight and epsilon of a layer norm. Without it, `dense` is followed by tanh. */
  readonly norm: { readonly weight: Float32Array; readonly epsilon: number } | undefined
  readonly activation: ScoreActivation
}

/** Scores a pair, and defines how its hidden states are pooled for that. */
export interface RankHead {
  readonly pooling: 'cls' | 'mean'
  readonly score: (state: Float32Array) => number
}

/** Names of the first and of the last matrix. BERT's first is the encoder's own pooler. */
function namesOf(file: ModelFile, family: string): readonly [dense: string, out: string] {
  if (isGguf(file)) {
    // Converters omit the pooler, so converted BERT rerankers would give different scores.
    if (file.tensors.has('cls.weight')) return ['cls', 'cls.output']
    throw unbuiltVariant(file.name, 'a head without its first matrix', 'its folder of safetensors')
  }
  if (family === 'bert') return [`${prefixOf(file)}pooler.dense`, 'classifier']
  return family === MODERN ? ['head.dense', 'classifier'] : ['classifier.dense', 'classifier.out_proj']
}

const MODERN = 'modern-bert'

/**
 * Reads the head. Throws `architecture` for tensors that are missing or have the wrong shape, `unsupported`
 * for more than one label, or for another activation or pooling.
 */
export async function readRankHead(
  file: ModelFile,
  { config: { family, hiddenSize, normEpsilon: epsilon } }: Placed,
  signal: AbortSignal,
): Promise<RankHead> {
  const isModern = family === MODERN
  const [dense, out] = namesOf(file, family)
  const labels = requireTensor(file, `${out}.weight`).shape[0] ?? 0
  if (labels !== 1) {
    throw unbuiltVariant(
      file.name,
      `a head of ${labels} labels`,
      'a reranker, whose head has one label; run other classifiers with Network',
    )
  }
  const read = (name: string, shape: readonly number[]) => {
    const tensor = requireTensor(file, name)
    checkShape(file.name, tensor, shape)
    return readVector({ ...tensor, shape: [shape.reduce((product, size) => product * size, 1)] }, signal)
  }
  const [outBias = 0] = await read(`${out}.bias`, [1])
  const fields = fieldsOf(file, '')
  const hasBias = isGguf(file)
    ? file.tensors.has(`${dense}.bias`)
    : !isModern || fields.fact('classifier_bias', false)
  if (isModern) refuseOthers(fields, { norm_bias: false })
  // GGUF does not state ModernBERT's pooling; llama.cpp uses the mean.
  const pooling = isModern ? fields.text('classifier_pooling', isGguf(file) ? 'mean' : 'cls') : 'cls'
  if (pooling !== 'cls' && pooling !== 'mean')
    throw unbuiltVariant(file.name, `the pooling ${shown(pooling)} of its head`, 'cls or mean')
  const act = isModern ? fields.text('classifier_activation', 'gelu') : 'gelu'
  if (act !== 'gelu') throw unbuiltVariant(file.name, `the activation ${shown(act)} in its head`, 'gelu')
  return {
    pooling,
    score: scorer({
      dense: await read(`${dense}.weight`, [hiddenSize, hiddenSize]),
      bias: hasBias ? await read(`${dense}.bias`, [hiddenSize]) : undefined,
      out: await read(`${out}.weight`, [1, hiddenSize]),
      outBias,
      norm: isModern
        ? { weight: await read(isGguf(file) ? 'cls.norm.weight' : 'head.norm.weight', [hiddenSize]), epsilon }
        : undefined,
      activation: activationOf(file),
    }),
  }
}

const gelu = (x: number): number => (x * (1 + erf(x / Math.SQRT2))) / 2

function normalized(x: Float64Array, { weight, epsilon }: NonNullable<Head['norm']>): Float64Array {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length
  return x.map((value, i) => ((value - mean) / Math.sqrt(variance + epsilon)) * weight[i]!)
}

const scorer =
  ({ dense, bias, out, outBias, norm, activation }: Head): RankHead['score'] =>
  (state) => {
    const width = state.length
    const inner = new Float64Array(width)
    for (let n = 0; n < width; n++) {
      let sum = bias?.[n] ?? 0
      for (let k = 0; k < width; k++) sum += dense[n * width + k]! * state[k]!
      inner[n] = norm === undefined ? Math.tanh(sum) : gelu(sum)
    }
    const pooled = norm === undefined ? inner : normalized(inner, norm)
    const score = pooled.reduce((sum, value, n) => sum + out[n]! * value, outBias)
    if (Number.isFinite(score)) return activation(score)
    throw new HalfbyteError(
      'integrity',
      "the score is not a number, so the model's weights are corrupt; remove the stored model and download it again",
    )
  }
