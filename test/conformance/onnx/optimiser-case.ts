// A model of ONNX Runtime's optimiser tests. In: its bytes. Out: whether the passes preserve its outputs on
// random inputs, and its node counts before and after.

import { bufferSource } from '../../../src/core/base/bytes.ts'
import { HalfbyteError, isHalfbyteError } from '../../../src/core/base/errors.ts'
import { type Dim, evaluateDim } from '../../../src/network/onnx/ir/dims.ts'
import type { Graph, Input } from '../../../src/network/onnx/ir/graph.ts'
import { countOf, isFloat, type Tensor, tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { runPasses } from '../../../src/network/onnx/passes/pass.ts'
import { PASSES } from '../../../src/network/onnx/passes.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { randomFrom } from '../../helpers/random.ts'
import { difference } from './node-case.ts'
import { evaluate } from './verify/evaluate.ts'

interface Optimised {
  readonly before: number
  readonly after: number
  /**
   * `same`: equal outputs; `differs`: with the location; `not run`: with the reason, an unclaimed operator or
   * inputs that cannot be random; `refused`: rejected by the passes with a typed error.
   */
  readonly is: 'same' | 'differs' | 'not run' | 'refused'
  readonly why?: string
}

/** undefined for a model that cannot be read, because it has other dtypes, sequences or functions. */
export async function optimise(name: string, bytes: Uint8Array): Promise<Optimised | undefined> {
  const read = await readModel(bufferSource(name, bytes), { inlineBytes: Infinity, oldestOpset: 1 }).catch(
    () => undefined,
  )
  if (read === undefined) return undefined
  const { graph } = read
  let after: Graph
  try {
    after = runPasses(graph, PASSES).graph
  } catch (error) {
    if (!isHalfbyteError(error)) throw error
    return { before: graph.nodes.length, after: graph.nodes.length, is: 'refused', why: error.message }
  }
  const counts = { before: graph.nodes.length, after: after.nodes.length }
  let feeds: ReadonlyMap<string, Tensor>
  let expected: ReadonlyMap<string, Tensor>
  try {
    feeds = feedsOf(graph)
    expected = evaluate(graph, feeds)
  } catch (error) {
    if (!isHalfbyteError(error)) throw error
    return { ...counts, is: 'not run', why: error.message }
  }
  const found = evaluate(after, feeds)
  for (const [output, tensor] of expected) {
    // Constant folding must be bit-exact, but rewrites may round in another order.
    const why = difference(found.get(output), tensor, [1e-5, 1e-6])
    if (why !== undefined) return { ...counts, is: 'differs', why: `${output} ${why}` }
  }
  return { ...counts, is: 'same' }
}

/** Sizes for named axes if the file does not give them. */
const SIZE = 2
/** Maximum elements of an input, because the evaluator is slow. */
const MAX_ELEMENTS = 2 ** 18

function feedsOf(graph: Graph): Map<string, Tensor> {
  const sizes = { get: () => SIZE, has: () => true } as unknown as ReadonlyMap<string, number>
  const size = (dim: Dim) => Math.max(1, evaluateDim(dim, sizes) ?? SIZE)
  const random = randomFrom(1)
  const feed = ({ name, type }: Input): [string, Tensor] => {
    const dtype = type?.dtype ?? 'f32'
    const dims = (type?.dims ?? []).map(size)
    if (countOf(dims) > MAX_ELEMENTS)
      throw new HalfbyteError(
        'unsupported',
        `its input ${name} has the shape [${dims}], which takes too long`,
      )
    const values = Array.from({ length: countOf(dims) }, () =>
      isFloat(dtype) ? random() * 2 - 1 : Math.floor(random() * 2),
    )
    return [name, tensorOf(dtype, dims, values)]
  }
  return new Map(graph.inputs.map(feed))
}
