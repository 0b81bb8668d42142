// The comparison of plans with the evaluator. In: exports, including one with its states in a different order
// from their outputs, all seeds of the fuzzer, graphs with codes inside If. Out: whether both do the same
// computation, which requires that both pair states in the same way, and whether a graph that no kernel can
// run is rejected.
import { expect, test } from 'vitest'
import { Random } from '../../helpers/random.ts'
import { withStateFirst, withSumOfColumns } from '../corpus/onnx.ts'
import { mutateGraph } from '../mutate/mutate-graph.ts'
import { exported, exportNames, shortExport, smallDecoders } from '../onnx-seeds.ts'
import { loadAndCompare } from './compare-onnx.ts'

const decoders = [...(await smallDecoders())]

test.each([
  ['states in the order of their outputs', () => exported('multi-head-causal')],
  ['states in another order', withStateFirst],
  // The evaluator clamps activations like the plan, but does not round them to codes.
  ['activations that are limited', () => exported('qdq-limits')],
])('%s: plan and evaluator give the same logits', async (_, bytes) => {
  expect(await loadAndCompare(bytes(), 'nothing')).toBe('compared')
})

test.each([
  ...exportNames().map((name) => [`${name} with one layer`, () => shortExport(name)] as const),
  ...decoders.map(([index, bytes]) => [`small decoder ${index}`, () => bytes] as const),
])('%s is a valid file, in which each change gives a different graph', async (_, bytes) => {
  expect(['compared', 'known']).toContain(await loadAndCompare(bytes(), 'nothing'))
})

test('a graph that differs only in names is not loaded again, but a graph with another number is', async () => {
  const good = decoders[3]![1]
  await loadAndCompare(good, 'nothing')
  const names = Buffer.from(good).toString('latin1').replaceAll('MatMul_', 'Matmul_')
  expect(await loadAndCompare(new Uint8Array(Buffer.from(names, 'latin1')), 'names')).toBe('known')
  const weights = new Uint8Array(good)
  // A byte in the middle of the file belongs to a weight.
  weights[good.length >> 1]! ^= 1
  expect(await loadAndCompare(weights, 'a weight')).toBe('compared')
})

test('activations whose codes are made inside If are not rounded', async () => {
  const good = shortExport('dynamic-u8')
  let wrapped = 0
  for (let index = 0; wrapped < 3; index++) {
    const { bytes, change } = mutateGraph(new Random(5, index), good)
    if (!/^wrappedInIf (DynamicQuantizeLinear|MatMulInteger|Cast)$/.test(change)) continue
    wrapped++
    expect(await loadAndCompare(bytes, change)).toBe('compared')
  }
})

test('a sum in columns within a product is rejected, because the norm after it needs whole groups', async () => {
  await expect(loadAndCompare(withSumOfColumns(), 'nothing')).rejects.toMatchObject({ code: 'unsupported' })
})
