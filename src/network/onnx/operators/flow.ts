// If, Loop and Scan: run a graph in an attribute, once or step by step.

import { isHalfbyteError } from '../../../core/base/errors.ts'
import { axisOf } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Graph, Node, Type } from '../ir/graph.ts'
import {
  define,
  type Evaluation,
  given,
  graphOf,
  type Inference,
  intOf,
  intsOf,
  type Operator,
  scalarOf,
  unclaimed,
  unfit,
} from '../ir/operator.ts'
import {
  countOf,
  type DType,
  MOVED_DTYPES,
  type Tensor,
  tensorOf,
  VALUE_DTYPES,
  zeros,
} from '../ir/tensor.ts'

/** Maximum number of steps of a loop, because a file with a count of 2^60 must not hang. */
const MAX_STEPS = 2 ** 16

function bodyOf(node: Node, name: string): Graph {
  const graph = graphOf(node, name)
  if (graph === undefined) throw unfit(node, `its graph ${name} is missing`)
  return graph
}

const FLOW = { outputs: [0, Infinity] } as const

/** The type that both branches have in common. */
function joined(a: Type | undefined, b: Type | undefined): Type | undefined {
  if (a === undefined || b === undefined || a.dtype !== b.dtype) return undefined
  return { dtype: a.dtype, dims: `${a.dims}` === `${b.dims}` ? a.dims : undefined }
}

const conditional: Operator = define({
  ...FLOW,
  name: 'If',
  since: 1,
  attributes: { then_branch: 'graph', else_branch: 'graph' },
  dtypes: [['bool']],
  infer(context) {
    const yes = bodyOf(context.node, 'then_branch')
    const no = bodyOf(context.node, 'else_branch')
    const others = context.subgraph(no, [])
    return context.subgraph(yes, []).map((type, at) => joined(type, others[at]))
  },
  evaluate(context) {
    const { node } = context
    const condition = scalarOf(given(context, 0))
    if (condition === undefined) throw unfit(node, 'its condition has no element')
    return outputsOf(node, context.run(bodyOf(node, condition === 0 ? 'else_branch' : 'then_branch'), []))
  },
})

function outputsOf(node: Node, made: readonly Tensor[]): readonly Tensor[] {
  if (made.length >= node.outputs.length) return made
  throw unfit(node, `its graph has ${made.length} outputs instead of ${node.outputs.length}`)
}

/** Only the dtypes of carried values are known, because their shapes may change with each step. */
const loose = (type: Type | undefined): Type | undefined => type && { dtype: type.dtype }

const loop: Operator = define({
  ...FLOW,
  name: 'Loop',
  since: 1,
  inputs: [2, Infinity],
  attributes: { body: 'graph' },
  dtypes: [['i64'], ['bool'], VALUE_DTYPES],
  infer({ node, inputs, subgraph }: Inference) {
    const carried = inputs.slice(2).map(loose)
    // The count and the condition have the shape that the body states: a number, or a list with one number.
    const made = subgraph(bodyOf(node, 'body'), [undefined, undefined, ...carried])
    return made.slice(1).map(loose)
  },
  evaluate: evaluateLoop,
})

function evaluateLoop(context: Evaluation): (Tensor | undefined)[] {
  const { node, inputs } = context
  const body = bodyOf(node, 'body')
  const carries = inputs.slice(2).map((_, index) => given(context, index + 2))
  if (body.inputs.length !== carries.length + 2 || body.outputs.length <= carries.length)
    throw unfit(node, `its body has ${body.inputs.length} inputs and ${body.outputs.length} outputs`)
  const most = scalarOf(inputs[0]) ?? Infinity
  let goes = scalarOf(inputs[1]) !== 0
  const numbered = (at: number): Tensor[] => [
    tensorOf('i64', single(body, 0), [at]),
    tensorOf('bool', single(body, 1), [1]),
  ]
  let state: readonly Tensor[] = carries
  const steps: (readonly Tensor[])[] = []
  for (let at = 0; goes && at < most; at++) {
    if (at >= MAX_STEPS) throw unclaimed(node, `it runs more than ${MAX_STEPS} steps`)
    const [next, ...made] = context.run(body, [...numbered(at), ...state])
    goes = scalarOf(next) !== 0
    context.drop(next === undefined ? [] : [next])
    if (at > 0) context.drop(state)
    state = made.slice(0, carries.length)
    steps.push(made.slice(carries.length))
  }
  if (steps.length === 0)
    return [
      ...state,
      ...unstackedOutputs(context, body, [...numbered(0), ...state], { carried: carries.length + 1 }),
    ]
  return [...state, ...stackedOutputs(node, steps, body.outputs.length - carries.length - 1)]
}

/** The results of all steps: one tensor for each of `count` outputs, stacked along these axes. */
function stackedOutputs(
  node: Node,
  steps: readonly (readonly Tensor[])[],
  count: number,
  along?: readonly Along[],
): Tensor[] {
  return Array.from({ length: count }, (_, at) => {
    const { axis, isBackward } = along?.[at] ?? FIRST
    const parts = steps.map((made) => made[at]!)
    return stack(node, isBackward ? parts.reverse() : parts, axis)
  })
}

/**
 * The stacked outputs of a loop without steps, which are empty. Their shapes come from a trial step; throws
 * `unsupported` if that cannot be computed.
 */
function unstackedOutputs(
  { node, run, drop }: Evaluation,
  body: Graph,
  inputs: readonly Tensor[],
  { carried, along }: { carried: number; along?: readonly Along[] },
): Tensor[] {
  if (body.outputs.length === carried) return []
  let made: readonly Tensor[]
  try {
    made = run(body, inputs)
  } catch (cause) {
    if (!isHalfbyteError(cause) || cause.code === 'out-of-memory') throw cause
    throw unclaimed(node, 'it runs no steps, so the shape of its output is unknown')
  }
  const shapes = made.slice(carried).map(({ dtype, dims }, at) => {
    checkMoved(node, dtype)
    const axis = axisOf(node, along?.[at]?.axis ?? 0, dims.length + 1)
    return zeros(dtype, dims.toSpliced(axis, 0, 0))
  })
  drop(made)
  return shapes
}

function checkMoved(node: Node, dtype: DType): void {
  if (!MOVED_DTYPES.includes(dtype)) throw unfit(node, `it stacks values of type ${dtype}`)
}

/** The shape of one element along the first axis, as stated by a graph's input. */
export const single = (graph: Graph, input: number): number[] =>
  graph.inputs[input]?.type?.dims?.length === 1 ? [1] : []

/** Stacks tensors along a new axis. */
export function stack(node: Node, steps: readonly Tensor[], axis: number): Tensor {
  const { dtype, dims } = steps[0]!
  checkMoved(node, dtype)
  const own = axisOf(node, axis, dims.length + 1)
  const made = zeros(dtype, dims.toSpliced(own, 0, steps.length))
  const inner = countOf(dims.slice(own))
  const outer = countOf(dims.slice(0, own))
  for (const [at, step] of steps.entries()) {
    if (`${step.dims}` !== `${dims}` || step.dtype !== dtype)
      throw unfit(node, `its steps produce shapes [${dims}] and [${step.dims}]`)
    for (let block = 0; block < outer; block++) {
      const part = step.data.subarray(block * inner, (block + 1) * inner)
      made.data.set(part as never, (block * steps.length + at) * inner)
    }
  }
  return made
}

/** The slice of a tensor at an index of an axis, without that axis. */
function sliceOf({ dtype, dims, data }: Tensor, axis: number, index: number): Tensor {
  const inner = countOf(dims.slice(axis + 1))
  const outer = countOf(dims.slice(0, axis))
  const made = zeros(dtype, dims.toSpliced(axis, 1))
  for (let block = 0; block < outer; block++) {
    const start = (block * dims[axis]! + index) * inner
    made.data.set(data.subarray(start, start + inner) as never, block * inner)
  }
  return made
}

/** Iterates over an axis of each of its last inputs. */
const scan: Operator = define({
  ...FLOW,
  name: 'Scan',
  since: 9,
  inputs: [1, Infinity],
  attributes: {
    body: 'graph',
    num_scan_inputs: 'int',
    scan_input_axes: 'ints',
    scan_input_directions: 'ints',
    scan_output_axes: 'ints',
    scan_output_directions: 'ints',
  },
  dtypes: [MOVED_DTYPES],
  infer({ node, inputs, subgraph }: Inference) {
    const { states, sources, stacks } = scanningOf(node, inputs.length)
    const axes = sources.map(({ axis }, at) => {
      const rank = inputs[states + at]?.dims?.length
      return rank === undefined ? undefined : axisOf(node, axis, rank)
    })
    const slices = inputs.slice(states).map(
      (type, at) =>
        type && {
          dtype: type.dtype,
          dims: axes[at] === undefined ? undefined : type.dims?.toSpliced(axes[at], 1),
        },
    )
    const steps: Dim | undefined = inputs[states]?.dims?.[axes[0] ?? 0]
    const made = subgraph(bodyOf(node, 'body'), [...inputs.slice(0, states).map(loose), ...slices])
    return made.map((type, at) => {
      if (type === undefined || at < states) return loose(type)
      if (type.dims === undefined || steps === undefined) return { dtype: type.dtype }
      const axis = axisOf(node, stacks[at - states]?.axis ?? 0, type.dims.length + 1)
      return { dtype: type.dtype, dims: type.dims.toSpliced(axis, 0, steps) }
    })
  },
  evaluate: evaluateScan,
})

/** The axis along which a Scan reads an input or stacks an output, from its start or from its end. */
export interface Along {
  readonly axis: number
  readonly isBackward: boolean
}
const FIRST: Along = { axis: 0, isBackward: false }

/**
 * How many inputs of a Scan are carried from step to step, and how it reads the others and stacks its
 * outputs. Axes may be negative.
 */
export function scanningOf(
  node: Node,
  inputs: number,
): { readonly states: number; readonly sources: readonly Along[]; readonly stacks: readonly Along[] } {
  const count = intOf(node, 'num_scan_inputs', 0)
  if (!(count >= 1 && count <= inputs)) throw unfit(node, `it scans ${count} of ${inputs} inputs`)
  const along = (side: 'input' | 'output', length: number): Along[] => {
    const axes = intsOf(node, `scan_${side}_axes`, [])
    const directions = intsOf(node, `scan_${side}_directions`, [])
    return Array.from({ length }, (_, at) => ({ axis: axes[at] ?? 0, isBackward: directions[at] === 1 }))
  }
  const states = inputs - count
  return {
    states,
    sources: along('input', count),
    stacks: along('output', Math.max(0, node.outputs.length - states)),
  }
}

function evaluateScan(context: Evaluation): (Tensor | undefined)[] {
  const { node } = context
  const body = bodyOf(node, 'body')
  const inputs = context.inputs.map((_, index) => given(context, index))
  const { states, sources, stacks } = scanningOf(node, inputs.length)
  const scanned = sources.map(({ axis, isBackward }, at) => {
    const source = inputs[states + at]!
    return { source, axis: axisOf(node, axis, source.dims.length), isBackward }
  })
  const sizes = scanned.map(({ source, axis }) => source.dims[axis]!)
  const count = sizes[0]!
  if (sizes.some((size) => size !== count) || count > MAX_STEPS)
    throw unfit(node, `it scans axes of ${sizes} elements`)
  if (body.inputs.length !== inputs.length || body.outputs.length < states)
    throw unfit(node, `its body has ${body.inputs.length} inputs instead of ${inputs.length}`)
  let state: readonly Tensor[] = inputs.slice(0, states)
  if (count === 0) {
    const slices = scanned.map(({ source, axis }) => zeros(source.dtype, source.dims.toSpliced(axis, 1)))
    return [
      ...state,
      ...unstackedOutputs(context, body, [...state, ...slices], { carried: states, along: stacks }),
    ]
  }
  const steps: (readonly Tensor[])[] = []
  for (let at = 0; at < count; at++) {
    context.spend(scanned.reduce((sum, { source }) => sum + source.data.length / count, 0))
    const slices = scanned.map(({ source, axis, isBackward }) =>
      sliceOf(source, axis, isBackward ? count - 1 - at : at),
    )
    const made = context.run(body, [...state, ...slices])
    if (at > 0) context.drop(state)
    state = made.slice(0, states)
    steps.push(made.slice(states))
  }
  return [...state, ...stackedOutputs(node, steps, body.outputs.length - states, stacks)]
}

export const FLOW_CONTROL: readonly Operator[] = [conditional, loop, scan]
