// Steps of random graphs that work with integers, booleans, computed shapes and branches. Each begins with an
// input of its own or with a shape, and ends as floats, which the other steps read.
import type { Graph } from '../../onnx/ir/graph.ts'
import { countOf, tensorOf } from '../../onnx/ir/tensor.ts'
import { TYPE } from '../../onnx/testing/node-writer.ts'
import { type GraphMaker, int, ints, namedNode, type Step } from './graph-maker.ts'

const SIZES = [1, 2, 3, 5, 8]

/** A value that other nodes of the step read; its elements are in a small range. */
interface Whole {
  readonly name: string
  readonly dtype: keyof typeof TYPE
  readonly dims: readonly number[]
}

function wholeInput(graph: GraphMaker): Whole {
  const dtype = graph.pick(['i32', 'i64', 'i64', 'bool', 'u8', 'i8'] as const)
  const dims = Array.from({ length: graph.random.below(4) }, () => graph.pick(SIZES))
  const name = `input ${graph.inputs.length}`
  const low = dtype === 'bool' || dtype === 'u8' ? 0 : -9
  const high = dtype === 'bool' ? 1 : 9
  const values = Array.from({ length: countOf(dims) }, () => graph.random.between(low, high))
  graph.inputs.push({ name, type: { dtype, dims } })
  graph.feeds.set(name, tensorOf(dtype, dims, values))
  return { name, dtype, dims }
}

/** Adds a node of one output that only this step reads. */
function made(graph: GraphMaker, op: string, inputs: readonly string[], of: Omit<Whole, 'name'>, more = {}) {
  const name = `${op} ${graph.nodes.length}`
  graph.write(name, op, inputs, more)
  return { name, ...of }
}

const cast = (graph: GraphMaker, { name, dims }: Whole, dtype: Whole['dtype']): Whole =>
  made(graph, 'Cast', [name], { dtype, dims }, { to: int(TYPE[dtype]) })

/** A constant that broadcasts to the value. */
function other(graph: GraphMaker, { dtype, dims }: Whole, low = -4): string {
  const own = dims
    .slice(graph.random.below(dims.length + 1))
    .map((size) => (graph.random.chance(0.3) ? 1 : size))
  const values = Array.from({ length: countOf(own) }, () =>
    dtype === 'bool' ? graph.random.below(2) : graph.random.between(low, 4),
  )
  return graph.constant(tensorOf(dtype, own, values))
}

function changed(graph: GraphMaker, value: Whole): Whole {
  const { name, dtype, dims } = value
  if (dtype === 'bool') {
    if (graph.random.chance(0.3)) return made(graph, 'Not', [name], { dtype, dims })
    if (graph.random.chance(0.4)) return cast(graph, value, graph.pick(['i32', 'i64']))
    return made(graph, graph.pick(['And', 'Or', 'Xor']), [name, other(graph, value)], { dtype, dims })
  }
  if (dtype === 'u8' || dtype === 'i8') return cast(graph, value, graph.pick(['i32', 'i64', 'bool']))
  const axis = graph.random.below(Math.max(1, dims.length))
  const same = { dtype, dims }
  const kinds: readonly (() => Whole)[] = [
    () => made(graph, graph.pick(['Add', 'Sub', 'Mul', 'Min', 'Max']), [name, other(graph, value)], same),
    () => made(graph, graph.pick(['Div', 'Mod']), [name, other(graph, value, 1)], same),
    () => made(graph, graph.pick(['Abs', 'Neg', 'Sign']), [name], same),
    () =>
      made(graph, graph.pick(['BitwiseAnd', 'BitwiseOr', 'BitwiseXor']), [name, other(graph, value)], same),
    () =>
      made(graph, graph.pick(['Equal', 'Less', 'Greater', 'LessOrEqual']), [name, other(graph, value)], {
        ...{ dtype: 'bool', dims },
      }),
    () => {
      const condition = made(graph, 'Greater', [name, other(graph, value)], { dtype: 'bool', dims })
      return made(graph, 'Where', [condition.name, name, other(graph, value)], same)
    },
  ]
  const along: readonly (() => Whole)[] = [
    () =>
      made(
        graph,
        graph.pick(['ReduceSum', 'ReduceMax', 'ReduceMin']),
        [name, graph.list([axis])],
        { dtype, dims: dims.with(axis, 1) },
        { keepdims: int(1) },
      ),
    () =>
      made(
        graph,
        graph.pick(['ArgMax', 'ArgMin']),
        [name],
        { dtype: 'i64', dims: dims.toSpliced(axis, 1) },
        { axis: int(axis), keepdims: int(0), select_last_index: int(graph.random.below(2)) },
      ),
    () => {
      const at = graph.constant(tensorOf('i64', [], [BigInt(axis)]))
      return made(graph, 'CumSum', [name, at], same, { reverse: int(graph.random.below(2)) })
    },
    () =>
      made(
        graph,
        'Concat',
        [name, name],
        { dtype, dims: dims.with(axis, 2 * dims[axis]!) },
        { axis: int(axis) },
      ),
    () =>
      made(
        graph,
        'Transpose',
        [name],
        { dtype, dims: dims.toReversed() },
        { perm: ints([...dims.keys()].reverse()) },
      ),
  ]
  return graph.pick(dims.length === 0 ? kinds : [...kinds, ...along])()
}

/** Sums and products of a few small integers stay below 2^24, which f32 holds exactly. */
const MAX_OPERATIONS = 8

function wholeNumbers(graph: GraphMaker): void {
  let value = wholeInput(graph)
  for (let left = graph.random.between(2, MAX_OPERATIONS); left > 0; left--) value = changed(graph, value)
  graph.node('Cast', [value.name], value.dims, { to: int(TYPE.f32) })
}

/** The size of an axis, as a list of one. */
function sizeOf(graph: GraphMaker, name: string, axis: number): string {
  const shape = made(graph, 'Shape', [name], { dtype: 'i64', dims: [] })
  return made(graph, 'Gather', [shape.name, graph.list([axis])], { dtype: 'i64', dims: [1] }).name
}

function shapes(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length > 0 && dims.length < 5 && countOf(dims) < 1000)
  if (value === undefined) return
  const { name, dims } = value
  const axis = graph.random.below(dims.length)
  const size = sizeOf(graph, name, axis)
  const kind = graph.random.below(3)
  if (kind === 0) {
    const to = made(graph, 'Concat', [size, graph.list([-1])], { dtype: 'i64', dims: [2] }, { axis: int(0) })
    graph.node('Reshape', [name, to.name], [dims[axis]!, countOf(dims) / dims[axis]!])
  } else if (kind === 1) {
    const shape = made(graph, 'Shape', [name], { dtype: 'i64', dims: [dims.length] })
    const to = made(
      graph,
      'Concat',
      [graph.list([2]), shape.name],
      { dtype: 'i64', dims: [] },
      { axis: int(0) },
    )
    graph.node('Expand', [name, to.name], [2, ...dims])
  } else {
    const last = made(graph, 'Squeeze', [size], { dtype: 'i64', dims: [] })
    const [zero, one] = [0n, 1n].map((each) => graph.constant(tensorOf('i64', [], [each]))) as [
      string,
      string,
    ]
    const range = made(graph, 'Range', [zero, last.name, one], { dtype: 'i64', dims: [] })
    graph.node('Cast', [range.name], [dims[axis]!], { to: int(TYPE.f32) })
  }
}

/** A graph that reads a value of the enclosing one. */
function arm(graph: GraphMaker, name: string): Graph {
  const base = `arm ${graph.nodes.length} ${graph.random.below(1e9)}`
  const nodes = [
    namedNode(graph.pick(['Relu', 'Neg', 'Abs', 'Tanh']), [name], base),
    namedNode(graph.pick(['Add', 'Mul', 'Max']), [base, name], `${base} end`),
  ]
  return { name: base, inputs: [], outputs: [`${base} end`], constants: new Map(), nodes }
}

/** A branch that depends on a size, which passes choose once sizes are known. */
function branch(graph: GraphMaker): void {
  const value = graph.value(({ dims }) => dims.length > 0)
  if (value === undefined) return
  const { name, dims } = value
  const size = sizeOf(graph, name, graph.random.below(dims.length))
  const large = made(graph, 'Greater', [size, graph.list([3])], { dtype: 'bool', dims: [1] })
  const condition = made(graph, 'Squeeze', [large.name], { dtype: 'bool', dims: [] })
  graph.node('If', [condition.name], dims, {
    then_branch: { kind: 'graph', value: arm(graph, name) },
    else_branch: { kind: 'graph', value: arm(graph, name) },
  })
}

export const WHOLE_STEPS: readonly Step[] = [wholeNumbers, wholeNumbers, wholeNumbers, shapes, shapes, branch]
