// Quantised per-layer embeddings. In: a small random Gemma 4 whose table has quantised blocks, and the same
// model with the values of these blocks in f32. Out: the same logits.
import '../../../scripts/test/rare-families.ts'
import { expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource, bufferSource } from '../../../src/core/base/bytes.ts'
import { readVector } from '../../../src/core/formats/dequantize.ts'
import { BLOCKS } from '../../../src/core/formats/dtypes.ts'
import { codingOf } from '../../../src/core/formats/gguf/group-readers.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import type { CodedDType, TensorInfo } from '../../../src/core/formats/tensors.ts'
import { randomBlocks } from '../../../src/core/formats/testing/random-blocks.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { storedCases } from '../testing/families/dense-cases.ts'
import { drawFamily, familySafetensors } from '../testing/families/family-files.ts'
import { VOCABULARY } from '../testing/families/family-tensors.ts'
import { largestDifference, logitsOf, withModel } from '../testing/node-engine.ts'

const SIZES = { hidden: 64, heads: 4, kvHeads: 2, headDim: 16, wide: 96, context: 128 }
const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 53 + 1) % VOCABULARY)
const TABLE = 'model.embed_tokens_per_layer.weight'
const LAYERS = 4
/** Rows are whole blocks of 256. */
const SIZE = 128
/** The table has fewer rows than the vocabulary has tokens. */
const ROWS = VOCABULARY - 5

const CASE = {
  family: 'gemma4',
  layers: LAYERS,
  config: {
    tie_word_embeddings: true,
    hidden_size_per_layer_input: SIZE,
    vocab_size_per_layer_input: ROWS,
    global_head_dim: 16,
  },
  extra: Array.from(
    { length: LAYERS },
    (_, layer) =>
      ({ name: `model.layers.${layer}.layer_scalar`, shape: [1], kind: 'norm', value: 1 }) as const,
  ),
  gguf: { keys: {} },
}

/** The model with `table` in place of its own. */
async function withTable(table: TensorInfo): Promise<ModelFile> {
  const [made] = storedCases([CASE], SIZES)
  const one = { ...made!, sizes: SIZES }
  const files = familySafetensors(one, drawFamily(one, 4))
  const file = await openModel(files.map((each) => blobSource(each.name, each)))
  return { ...file, tensors: new Map([...file.tensors, [TABLE, table]]) }
}

const tensorOf = (dtype: TensorInfo['dtype'], bytes: Uint8Array): TensorInfo => ({
  name: TABLE,
  dtype,
  coding: codingOf(dtype),
  shape: [ROWS, LAYERS * SIZE],
  offset: 0,
  byteLength: bytes.length,
  source: bufferSource(TABLE, bytes),
})

const logitsOfModel = async (table: TensorInfo, weights: 'auto' | 'f32') =>
  withModel(await withTable(table), { weights, contextLength: 128 }, (built) => logitsOf(built, TOKENS))

test.each<[CodedDType, string]>([
  ['Q5_0', 'w8_g32'],
  ['Q8_1', 'w8_g32'],
  ['Q4_K', 'w4m_g32'],
  ['Q6_K', 'w8_g32'],
])('rows of %s give the logits of their values', async (dtype, encoding) => {
  const { elements } = BLOCKS[dtype]
  const blocks = tensorOf(dtype, randomBlocks(dtype, (ROWS * LAYERS * SIZE) / elements, 7, 2 ** -8))
  const values = await readVector({ ...blocks, shape: [ROWS * LAYERS * SIZE] })
  const floats = tensorOf('F32', new Uint8Array(values.buffer))
  const { plan } = await prepareModel(await withTable(blocks), { weights: 'auto' })
  const slot = plan.slots.find(({ ref }) => ref.parts[0]?.name === 'layer_embed.weight')
  expect(slot?.encoding).toBe(encoding)
  const right = await logitsOfModel(floats, 'f32')
  const largest = Math.max(...right.flatMap((row) => [...row].map(Math.abs)))
  // Scales are rounded to f16, and Q6_K is rounded again.
  const bound = dtype === 'Q6_K' ? 3e-2 : 3e-3
  expect(largestDifference(await logitsOfModel(blocks, 'auto'), right)).toBeLessThan(bound * largest)
})
