// Judges compiled graphs. In: node tests of the ONNX standard and cases of ONNX Runtime. Out: those whose
// outputs differ, and the operators that the compiler takes.
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import { type Case, type Compute, judgeCase, type Tolerance } from './node-case.ts'

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

/** Which cases a compiled graph fails, and the operators that it passes. */
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
