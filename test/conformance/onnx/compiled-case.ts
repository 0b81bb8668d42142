// Checks compiled graphs. In: node tests of the ONNX standard and cases of ONNX Runtime. Out: the cases whose
// outputs differ, and the operators that the compiler supports.
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import { StagedGraph } from '../../../src/network/compile/staged/staged-graph.ts'
import { type Case, type Compute, judgeCase, type Tolerance } from './node-case.ts'

/** The f32 functions have absolute errors of 1e-7. */
const TOLERANCE: Tolerance = [1e-3, 1e-6]

/** Sums over rows that ONNX Runtime, but not compiled graphs, rounds to 8 bits. */
const ROUNDED: Tolerance = [0, 6e-2]
const IS_ROUNDED = /^dynamic_quantize_matmul/

/**
 * Cases give sizes, axes, tables and so on as inputs, which the compiler only supports as constants. If it
 * rejects them, all inputs but the first become constants, and then all but the second.
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

/** Every input of a case is an input of the network, even if the graph's structure depends on its values. */
const staged: Compute = async (graph, feeds) => {
  const network = await StagedGraph.open(graph, { fuse: true })
  try {
    return await network.run(feeds)
  } finally {
    await network.dispose()
  }
}

/** The cases that a network fails, and the number that it passes. */
export async function judgeNetworks(cases: readonly Case[]) {
  const failed: string[] = []
  let passed = 0
  for (const each of cases) {
    const verdict = await judgeCase(each, IS_ROUNDED.test(each.name) ? ROUNDED : TOLERANCE, staged)
    if (verdict.is === 'failed') failed.push(`${each.name}: ${verdict.why}`)
    if (verdict.is === 'passed') passed++
  }
  return { failed, passed }
}

/** The cases that fail when compiled, and the operators of those that pass. */
export async function judgeCompiled(cases: readonly Case[]) {
  const failed: string[] = []
  const passed = new Set<string>()
  for (const each of cases) {
    const verdict = await judgeCase(each, IS_ROUNDED.test(each.name) ? ROUNDED : TOLERANCE, compiled)
    if (verdict.is === 'failed') failed.push(`${each.name}: ${verdict.why}`)
    if (verdict.is === 'passed') for (const op of verdict.ops) passed.add(op)
  }
  return { failed, passed: [...passed].sort() }
}
