// The head of a reranker: reads it from safetensors, and scores the hidden state of a pair's first token.
import { HalfbyteError } from '../../base/errors.ts'
import { readVector } from '../../formats/dequantize.ts'
import { shown } from '../../formats/malformed.ts'
import type { ModelFile } from '../../formats/readers.ts'
import { Fields, unbuiltVariant } from '../config/fields.ts'
import { checkShape, requireTensor } from '../tensors/names.ts'
import { prefixOf } from './bert.ts'
import type { Placed } from './placed.ts'

/**
 * score = activation(out . tanh(dense x + bias) + outBias), as transformers' classes for sequences have
 * it.
 */
interface Head {
  /** [width][width] */
  readonly dense: Float32Array
  readonly bias: Float32Array
  readonly out: Float32Array
  readonly outBias: number
  readonly activation: (score: number) => number
}

export type RankHead = (state: Float32Array) => number

const ACTIVATIONS: ReadonlyMap<string, (score: number) => number> = new Map([
  ['Identity', (score) => score],
  ['Sigmoid', (score) => 1 / (1 + Math.exp(-score))],
])

/**
 * Reads the head. BERT's has the encoder's own pooler before the classifier. Throws `architecture` for
 * tensors that are missing or of another shape, `unsupported` for more than one label or another
 * activation.
 */
export async function readRankHead(
  file: ModelFile,
  { config: { family, hiddenSize } }: Placed,
  signal: AbortSignal,
): Promise<RankHead> {
  const [dense, out] =
    family === 'bert'
      ? [`${prefixOf(file)}pooler.dense`, 'classifier']
      : ['classifier.dense', 'classifier.out_proj']
  const labels = requireTensor(file, `${out}.weight`).shape[0] ?? 0
  if (labels !== 1) {
    throw unbuiltVariant(
      file.name,
      `a head of ${labels} labels`,
      'a reranker, whose head has one; run other classifiers as networks',
    )
  }
  const read = (name: string, shape: readonly number[]) => {
    const tensor = requireTensor(file, name)
    checkShape(file.name, tensor, shape)
    return readVector({ ...tensor, shape: [shape.reduce((product, size) => product * size, 1)] }, signal)
  }
  const [outBias = 0] = await read(`${out}.bias`, [1])
  return scorer({
    dense: await read(`${dense}.weight`, [hiddenSize, hiddenSize]),
    bias: await read(`${dense}.bias`, [hiddenSize]),
    out: await read(`${out}.weight`, [1, hiddenSize]),
    outBias,
    activation: activationOf(file),
  })
}

/** By the class that sentence-transformers writes into the configuration. Default: a sigmoid, as there. */
function activationOf({ name, metadata }: ModelFile): Head['activation'] {
  const config = new Fields(name, (key) => metadata.get(key)).record('config')
  const written =
    config?.record('sentence_transformers')?.text('activation_fn', '') ||
    config?.text('sbert_ce_default_activation_function', '')
  const kind = written ? written.split('.').at(-1) : 'Sigmoid'
  const activation = ACTIVATIONS.get(kind ?? '')
  if (activation !== undefined) return activation
  throw unbuiltVariant(name, `scores by ${shown(written ?? '')}`, [...ACTIVATIONS.keys()].join(' or '))
}

const scorer =
  ({ dense, bias, out, outBias, activation }: Head): RankHead =>
  (state) => {
    const width = state.length
    let score = outBias
    for (let n = 0; n < width; n++) {
      let sum = bias[n]!
      for (let k = 0; k < width; k++) sum += dense[n * width + k]! * state[k]!
      score += out[n]! * Math.tanh(sum)
    }
    if (Number.isFinite(score)) return activation(score)
    throw new HalfbyteError(
      'integrity',
      "the score is not a number, so the model's weights are damaged; remove the stored model and download it again",
    )
  }
