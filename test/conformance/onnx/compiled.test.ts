// Compiled operators. In: node tests of the ONNX standard and cases of ONNX Runtime. Out: whether what the
// compiler takes gives their outputs, and which operators it takes.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../src/base/errors.ts'
import { CompiledGraph } from '../../../src/compile/compiled-graph.ts'
import {
  type Case,
  type Compute,
  GOLDEN,
  judgeCase,
  readCase,
  readPacked,
  type Tolerance,
} from './node-case.ts'

const CASES = join(import.meta.dirname, '../../../../shared/fixtures/onnx/node')

/** The functions of f32 have errors of 1e-7 that are absolute. */
const TOLERANCE: Tolerance = [1e-3, 1e-6]

/** Sums of rows that are rounded to 8 bits there, and not where they are compiled. */
const ROUNDED: Tolerance = [0, 6e-2]
const IS_ROUNDED = /^dynamic_quantize_matmul/

/**
 * Cases give sizes, axes, tables and the like as inputs, which the compiler takes as constants only: where it
 * refuses them, all inputs become constants but the first, and then but the second.
 */
const compiled: Compute = async (graph, feeds) => {
  let refusal: unknown
  for (const kept of [graph.inputs, graph.inputs.slice(0, 1), graph.inputs.slice(1, 2)]) {
    const constants = new Map([...graph.constants, ...feeds])
    for (const { name } of kept) constants.delete(name)
    try {
      return await new CompiledGraph({ ...graph, inputs: kept, constants }, { fuse: true }).run(feeds)
    } catch (error) {
      if (!isHalfbyteError(error) || error.code !== 'unsupported') throw error
      refusal ??= error
    }
  }
  throw refusal
}

/** Attention as one operator, and its rotations. */
const AS_ONE = [
  ...[':Attention', ':RotaryEmbedding'],
  ...['com.microsoft:MultiHeadAttention', 'com.microsoft:RotaryEmbedding'],
  ...['com.microsoft:GroupQueryAttention', 'com.microsoft:GatherBlockQuantized'],
]

async function judged(cases: readonly Case[]) {
  const failed: string[] = []
  const passed = new Set<string>()
  for (const each of cases) {
    const verdict = await judgeCase(each, IS_ROUNDED.test(each.name) ? ROUNDED : TOLERANCE, compiled)
    if (verdict.is === 'failed') failed.push(`${each.name}: ${verdict.why}`)
    if (verdict.is === 'passed') for (const op of verdict.ops) passed.add(op)
  }
  return { failed, passed: [...passed].sort() }
}

test('compiled graphs give the outputs of the cases in the tree', { timeout: 60_000 }, async () => {
  const { failed, passed } = await judged((await Promise.all(GOLDEN.map(readPacked))).flat())
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(55)
  expect(passed).toEqual(
    expect.arrayContaining([':Gemm', ':MatMul', ':Softmax', ':Gather', ':Concat', ':Pow', ...AS_ONE]),
  )
})

test.skipIf(!existsSync(CASES))('and of all node tests of the standard', { timeout: 300_000 }, async () => {
  const names = readdirSync(CASES).filter((each) => existsSync(join(CASES, each, 'model.onnx')))
  const { failed, passed } = await judged(await Promise.all(names.map((name) => readCase(join(CASES, name)))))
  expect(failed).toEqual([])
  expect(passed.length).toBeGreaterThan(60)
})
