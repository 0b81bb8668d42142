// Compiled operators. In: node tests of the ONNX standard and cases of ONNX Runtime, in golden/. Out: whether
// supported cases give their outputs, and which operators are supported.
import { expect, test } from 'vitest'
import { judgeCompiled, judgeNetworks } from './compiled-case.ts'
import { GOLDEN, readPacked } from './node-case.ts'

/** Attention as one operator, and the operators that rotate its heads. */
const AS_ONE = [
  ...[':Attention', ':RotaryEmbedding'],
  ...['com.microsoft:MultiHeadAttention', 'com.microsoft:RotaryEmbedding'],
  ...['com.microsoft:GroupQueryAttention', 'com.microsoft:GatherBlockQuantized'],
]

test('compiled graphs give the outputs of the committed cases', { timeout: 60_000 }, async () => {
  const { failed, passed } = await judgeCompiled((await Promise.all(GOLDEN.map(readPacked))).flat())
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(55)
  expect(passed).toEqual(
    expect.arrayContaining([':Gemm', ':MatMul', ':Softmax', ':Gather', ':Concat', ':Pow', ...AS_ONE]),
  )
})

test('networks match the outputs of the committed cases', { timeout: 60_000 }, async () => {
  const cases = (await Promise.all(GOLDEN.map(readPacked))).flat()
  expect(await judgeNetworks(cases)).toEqual({ failed: [], passed: cases.length })
})
