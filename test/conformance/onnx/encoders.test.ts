// Encoders. In: exports of BERT's form with random weights. Out: whether a network matches onnxruntime-web,
// on ten input shapes in both builds.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { expect, test } from 'vitest'
import { bertBytes } from '../../../lab/bench/graphs/bert.ts'
import { Network } from '../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../src/network/compile/staged/ort-tensors.ts'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { Random } from '../../helpers/random.ts'

const SHAPES = [
  [1, 1],
  [1, 2],
  [1, 7],
  [1, 16],
  [1, 33],
  [2, 5],
  [3, 1],
  [4, 24],
  [7, 3],
  [16, 16],
] as const
const FORMS = [
  { layers: 2, hidden: 64, heads: 4, intermediate: 96, vocabulary: 100, positions: 64 },
  // Sizes that are not multiples of a vector.
  { layers: 1, hidden: 35, heads: 5, intermediate: 51, vocabulary: 100, positions: 64 },
]

test.each(FORMS)('an encoder of $hidden by $heads heads', { timeout: 60_000 }, async (form) => {
  const bytes = bertBytes(form)
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  const random = new Random(5)
  for (const build of ['relaxed', 'simd128'] as const) {
    const network = await Network.load(new File([new Uint8Array(bytes)], 'bert.onnx'), { build })
    for (const dims of SHAPES) {
      const make = (value: () => number) =>
        tensorOf('i64', dims, Float64Array.from({ length: dims[0] * dims[1] }, value))
      const inputs = {
        input_ids: make(() => random.below(form.vocabulary)),
        attention_mask: make(() => Number(random.chance(0.8))),
        token_type_ids: make(() => random.below(2)),
      }
      const feeds = toOrtFeeds(Tensor, Object.entries(inputs))
      const wanted = (await session.run(feeds))['last_hidden_state']!.data as Float32Array
      const found = (await network.run(inputs))['last_hidden_state']!.data as Float32Array
      const worst = wanted.reduce((most, value, at) => Math.max(most, Math.abs(value - found[at]!)), 0)
      expect(worst, `${build} ${dims}`).toBeLessThan(1e-4)
    }
    await network.dispose()
  }
})
