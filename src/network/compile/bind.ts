// Binds a graph to the sizes of a run: the inputs' symbols become numbers, the passes run again, and the
// result becomes a program.
import { HalfbyteError } from '../../core/base/errors.ts'
import type { ProgramBudget } from '../onnx/graph-budget.ts'
import { evaluateDim } from '../onnx/ir/dims.ts'
import type { Graph, Input } from '../onnx/ir/graph.ts'
import type { Tensor } from '../onnx/ir/tensor.ts'
import { type Pass, runPasses } from '../onnx/passes/pass.ts'
import { lower } from './lower/lower.ts'
import type { LowerOptions } from './lower/lowering/lowering.ts'
import { programOf } from './program/program.ts'

/**
 * `decided`: inputs that become constants. Throws `unsupported` if an input is missing or has a different
 * shape; the error gives both shapes.
 */
export function boundGraph(
  graph: Graph,
  shapes: ReadonlyMap<string, readonly number[]>,
  passes: readonly Pass[],
  budget: ProgramBudget,
  decided: ReadonlyMap<string, Tensor> = new Map(),
): Graph {
  const sizes = sizesOf(graph.inputs, shapes)
  const inputs = graph.inputs.map((input): Input => {
    const dims = shapes.get(input.name)!
    checkDims(input, dims, sizes)
    return { ...input, type: { dtype: input.type!.dtype, dims } }
  })
  const bound = {
    ...graph,
    inputs: inputs.filter(({ name }) => !decided.has(name)),
    constants: new Map([...graph.constants, ...decided]),
  }
  return runPasses(bound, passes, { budget }).graph
}

/**
 * The program of a bound graph, and the graph with the constants created for it. Throws what `lower` throws.
 */
export function boundProgram(graph: Graph, options: LowerOptions) {
  const lowered = lower(graph, options)
  const constants = new Map([...graph.constants, ...lowered.made])
  return { graph: { ...graph, constants }, program: programOf(lowered, options) }
}

export const shapesOf = (tensors: ReadonlyMap<string, Tensor>): ReadonlyMap<string, readonly number[]> =>
  new Map([...tensors].map(([name, { dims }]) => [name, dims]))

/** A key of everything that a program depends on: runs with equal keys share a program. */
export const keyOf = (
  { inputs }: Pick<Graph, 'inputs'>,
  shapes: ReadonlyMap<string, readonly number[]>,
): string => JSON.stringify(inputs.map(({ name }) => shapes.get(name)))

/** Throws `unsupported` for an input of the wrong dtype. */
export function checkDtypes({ inputs }: Pick<Graph, 'inputs'>, feeds: ReadonlyMap<string, Tensor>): void {
  for (const { name, type } of inputs) {
    const given = feeds.get(name)
    if (given === undefined) continue
    const wrong = [given, ...(given.items ?? [])].find(({ dtype }, at) => {
      const due = at === 0 ? type : type?.item
      return due !== undefined && due.dtype !== dtype
    })
    if (wrong === undefined) continue
    const due = wrong === given ? type!.dtype : `${type!.item!.dtype} in a sequence`
    throw new HalfbyteError(
      'unsupported',
      `the input ${name} is ${wrong.dtype} but the model takes ${due}; convert it`,
      { name, given: wrong.dtype, due },
    )
  }
}

/** Each symbol has a single size in a run. */
function sizesOf(
  inputs: readonly Input[],
  shapes: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>()
  for (const { name, type } of inputs) {
    const given = shapes.get(name)
    if (given === undefined)
      throw new HalfbyteError('unsupported', `the input ${name} is missing; give a tensor for it`, { name })
    for (const [axis, dim] of (type?.dims ?? []).entries()) {
      const size = given[axis]
      if (typeof dim === 'string' && size !== undefined && !sizes.has(dim)) sizes.set(dim, size)
    }
  }
  return sizes
}

function checkDims(
  { name, type }: Input,
  given: readonly number[],
  sizes: ReadonlyMap<string, number>,
): void {
  const dims = type?.dims
  if (dims === undefined) return
  const isFit =
    given.length === dims.length &&
    dims.every((dim, axis) => {
      const due = typeof dim === 'string' ? (sizes.get(dim) ?? evaluateDim(dim, sizes)) : dim
      return due === undefined || due === given[axis]
    })
  if (isFit) return
  const known = [...sizes].map(([symbol, size]) => `${symbol} ${size}`).join(', ')
  throw new HalfbyteError(
    'unsupported',
    `the input ${name} has the shape [${given}] but the model takes [${dims.join(', ')}]${known && ` (${known})`}; give it that shape`,
    { name, given: given.join(), due: dims.join() },
  )
}
