// A decoder with a part unknown to every family. In: a step exported by torch, with a branch parallel to its
// feed-forward layers. Out: whether the engine's error says what can run it, and whether a network continues
// a text with it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bufferSource } from '../../../../src/core/base/bytes.ts'
import { Network } from '../../../../src/network/api/network.ts'
import { tensorOf } from '../../../../src/network/onnx/ir/tensor.ts'
import { byteTokenizer } from '../byte-tokenizer.ts'
import { largestRelative } from '../exporters/verdict.ts'
import { openGraph } from '../open-graph.ts'

const bytes = new Uint8Array(
  gunzipSync(readFileSync(join(import.meta.dirname, 'exports/dynamo-decoder-branch.onnx.gz'))),
)
const IDS = [5, 17, 60, 3, 44, 81, 9]
const LAYERS = 2
const HEADS = 2
const WIDTH = 8

test('the engine rejects it, and names the node and what can run it', async () => {
  const opened = openGraph([bufferSource('model.onnx', bytes), byteTokenizer(97)])
  await expect(opened).rejects.toThrow(
    /node node_sin_1 \(Sin\): .* run the graph with Network\.load of halfbyte\/network/,
  )
})

test.each(['relaxed', 'simd128'] as const)('a network continues a text, %s', async (build) => {
  const network = await Network.load(new File([bytes], 'model.onnx'), { build })
  const names = network.inputs.slice(3).map(({ name }) => name)
  expect(names).toHaveLength(2 * LAYERS)
  const step = async (ids: readonly number[], past: number, states: Awaited<ReturnType<Network['run']>>) => {
    const whole = (values: readonly number[]) => tensorOf('i64', [1, values.length], [...values])
    const made = await network.run({
      input_ids: whole(ids),
      attention_mask: whole(Array.from({ length: past + ids.length }, () => 1)),
      position_ids: whole(ids.map((_, at) => past + at)),
      ...states,
    })
    const [logits, ...present] = Object.values(made)
    return {
      logits: logits!.data as Float32Array,
      states: Object.fromEntries(names.map((name, at) => [name, present[at]!])),
    }
  }
  const none = () =>
    Object.fromEntries(names.map((name) => [name, tensorOf('f32', [1, HEADS, 0, WIDTH], [])]))
  const { logits: wanted } = await step(IDS, 0, none())
  const found: number[] = []
  let states: Awaited<ReturnType<Network['run']>> = none()
  for (const [past, id] of IDS.entries()) {
    const made = await step([id], past, states)
    found.push(...made.logits)
    states = made.states
  }
  expect(largestRelative([Float32Array.from(found)], [wanted])).toBeLessThan(1e-5)
  await network.dispose()
})
