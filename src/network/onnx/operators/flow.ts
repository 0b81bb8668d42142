// If, Loop and Scan: run a graph in an attribute, once or step by step.

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
import { ALL_DTYPES, countOf, type Tensor, tensorOf, zeros } from '../ir/tensor.ts'

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
  dtypes: [['i64'], ['bool'], ALL_DTYPES],
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
  let state: readonly Tensor[] = carries
  const steps: (readonly Tensor[])[] = []
  for (let at = 0; goes && at < most; at++) {
    if (at >= MAX_STEPS) throw unclaimed(node, `it runs more than ${MAX_STEPS} steps`)
    const [next, ...made] = context.run(body, [
      tensorOf('i64', single(body, 0), [at]),
      tensorOf('bool', single(body, 1), [1]),
      ...state,
    ])
    goes = scalarOf(next) !== 0
    context.drop(next === undefined ? [] : [next])
    if (at > 0) context.drop(state)
    state = made.slice(0, carries.length)
    steps.push(made.slice(carries.length))
  }
  return [...state, ...stackedOutputs(node, steps, body.outputs.length - carries.length - 1)]
}

/** The results of all steps: one tensor for each of `count` outputs. */
function stackedOutputs(node: Node, steps: readonly (readonly Tensor[])[], count: number): Tensor[] {
  return Array.from({ length: count }, (_, at) => {
    if (steps.length === 0) throw unclaimed(node, 'it runs no steps, so the shape of its output is unknown')
    return stack(
      node,
      steps.map((made) => made[at]!),
    )
  })
}

/** The shape of one element along the first axis, as stated by a graph's input. */
export const single = (graph: Graph, input: number): number[] =>
  graph.inputs[input]?.type?.dims?.length === 1 ? [1] : []

/** Stacks the tensors of all steps along a new first axis. */
function stack(node: Node, steps: readonly Tensor[]): Tensor {
  const [first] = steps
  const made = zeros(first!.dtype, [steps.length, ...first!.dims])
  for (const [at, step] of steps.entries()) {
    if (`${step.dims}` !== `${first!.dims}` || step.dtype !== first!.dtype)
      throw unfit(node, `its steps produce shapes [${first!.dims}] and [${step.dims}]`)
    made.data.set(step.data as never, at * step.data.length)
  }
  return made
}

/** Iterates over the first axis of its last inputs, forwards. */
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
  dtypes: [ALL_DTYPES],
  infer({ node, inputs, subgraph }: Inference) {
    const states = statesOf(node, inputs.length)
    const slices = inputs
      .slice(states)
      .map((type) => type && { dtype: type.dtype, dims: type.dims?.slice(1) })
    const steps: Dim | undefined = inputs[states]?.dims?.[0]
    const made = subgraph(bodyOf(node, 'body'), [...inputs.slice(0, states).map(loose), ...slices])
    return made.map((type, at) => {
      if (type === undefined || at < states) return loose(type)
      return { dtype: type.dtype, dims: type.dims && steps !== undefined ? [steps, ...type.dims] : undefined }
    })
  },
  evaluate: evaluateScan,
})

/** How many inputs are carried from step to step; the others are scanned. */
export function statesOf(node: Node, inputs: number): number {
  const lists = ['input_axes', 'input_directions', 'output_axes', 'output_directions']
  if (lists.some((name) => intsOf(node, `scan_${name}`, []).some((each) => each !== 0)))
    throw unclaimed(node, 'it scans along an axis other than the first, or backwards')
  const count = intOf(node, 'num_scan_inputs', 0)
  if (count >= 1 && count <= inputs) return inputs - count
  throw unfit(node, `it scans ${count} of ${inputs} inputs`)
}

function evaluateScan(context: Evaluation): (Tensor | undefined)[] {
  const { node } = context
  const body = bodyOf(node, 'body')
  const inputs = context.inputs.map((_, index) => given(context, index))
  const states = statesOf(node, inputs.length)
  const sources = inputs.slice(states)
  const count = sources[0]!.dims[0] ?? 0
  if (sources.some(({ dims }) => dims[0] !== count) || count > MAX_STEPS)
    throw unfit(node, `it scans axes of ${sources.map(({ dims }) => dims[0])} elements`)
  if (body.inputs.length !== inputs.length || body.outputs.length < states)
    throw unfit(node, `its body has ${body.inputs.length} inputs instead of ${inputs.length}`)
  let state: readonly Tensor[] = inputs.slice(0, states)
  const steps: (readonly Tensor[])[] = []
  for (let at = 0; at < count; at++) {
    context.spend(sources.reduce((sum, { data }) => sum + data.length / count, 0))
    const slices = sources.map(({ dtype, dims, data }): Tensor => {
      const size = countOf(dims.slice(1))
      return { dtype, dims: dims.slice(1), data: data.slice(at * size, (at + 1) * size) }
    })
    const made = context.run(body, [...state, ...slices])
    if (at > 0) context.drop(state)
    state = made.slice(0, states)
    steps.push(made.slice(states))
  }
  return [...state, ...stackedOutputs(node, steps, body.outputs.length - states)]
}

export const FLOW_CONTROL: readonly Operator[] = [conditional, loop, scan]
