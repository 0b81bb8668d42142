// A real sentence encoder. In: all-MiniLM-L6-v2 with 8-bit weights ("npm run setup -- minilm"). Out: whether
// its vectors match onnxruntime-web's, up to activation rounding, which differs between the two.
import { readFile } from 'node:fs/promises'
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { expect, test } from 'vitest'
import { requireModel } from '../../../scripts/models/real-models.mjs'
import { Network } from '../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../src/network/compile/staged/ort-tensors.ts'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { Random } from '../../helpers/random.ts'

const path = requireModel('minilm')
const SHAPES = [
  ...[1, 3, 8, 17, 40, 128].map((tokens) => [1, tokens] as const),
  ...[
    [2, 5],
    [3, 16],
    [8, 9],
    [16, 12],
  ].map(([batch, tokens]) => [batch!, tokens!] as const),
]
/** Cosine of our vector of a text with onnxruntime-web's; the minimum measured was 0.985. */
const MIN_COSINE = 0.97
/** The ids of the vocabulary's whole words, between those of single characters and word pieces. */
const FIRST = 2000
const WORDS = 6000

function cosine(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let dot = 0
  let a = 0
  let b = 0
  for (let at = 0; at < left.length; at++) {
    dot += left[at]! * right[at]!
    a += left[at]! ** 2
    b += right[at]! ** 2
  }
  return dot / Math.sqrt(a * b)
}

/**
 * Cosine of our vectors from 8-bit rows with a scale each and from f32 rows; the minimum measured was 0.9976.
 */
const MIN_OWN = 0.996

test('vectors of MiniLM', { timeout: 60_000 }, async () => {
  const bytes = new Uint8Array(await readFile(path))
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  const network = await Network.load(new File([bytes], 'model.onnx'))
  const exact = await Network.load(new File([bytes], 'model.onnx'), { weights: 'f32' })
  const random = new Random(3)
  let least = 1
  for (const dims of SHAPES) {
    const make = (value: () => number) =>
      tensorOf('i64', dims, Float64Array.from({ length: dims[0] * dims[1] }, value))
    const inputs = {
      input_ids: make(() => FIRST + random.below(WORDS)),
      attention_mask: make(() => 1),
      token_type_ids: make(() => 0),
    }
    const feeds = toOrtFeeds(Tensor, Object.entries(inputs))
    const wanted = (await session.run(feeds))['last_hidden_state']!.data as Float32Array
    const found = (await network.run(inputs))['last_hidden_state']!.data as Float32Array
    const floats = (await exact.run(inputs))['last_hidden_state']!.data as Float32Array
    const size = wanted.length / dims[0]
    for (let text = 0; text < dims[0]; text++) {
      const part = (all: Float32Array) => all.subarray(text * size, (text + 1) * size)
      expect(cosine(part(found), part(wanted)), `text ${text} of ${dims}`).toBeGreaterThan(MIN_COSINE)
      least = Math.min(least, cosine(part(found), part(floats)))
    }
  }
  expect(least).toBeGreaterThan(MIN_OWN)
  await Promise.all([network.dispose(), exact.dispose()])
})
