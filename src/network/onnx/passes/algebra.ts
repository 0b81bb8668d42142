// The algebraic simplification pass: removes no-op nodes, and merges pairs of nodes that are equivalent to
// one.
import { inferTypes, type Types } from '../infer.ts'
import {
  type Constant,
  type Graph,
  hasInput,
  isStored,
  type Node,
  outputsOf,
  readOnce,
  type Type,
} from '../ir/graph.ts'
import { intOf, intsOf } from '../ir/operator.ts'
import { DTYPES, type DType, numbersOf, tensorOf } from '../ir/tensor.ts'
import { final, type Pass, renamed } from './pass.ts'

/** Files write the largest i64 to mean "to the end"; it is not exact as a number. */
const within = (place: number): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(place, Number.MAX_SAFE_INTEGER))

interface Cut {
  readonly start: number
  readonly end: number
}

export const mergeSlices: Pass = {
  name: 'cascaded slices',
  run(graph) {
    if (graph.nodes.filter(({ op }) => op === 'Slice').length < 2) return graph
    const once = readOnce(graph)
    const constants = new Map<string, Constant>(graph.constants)
    const makers = new Map<string, Node>()
    const dropped = new Set<Node>()
    const nodes = graph.nodes.map((node) => {
      const [input = ''] = node.inputs
      const before = makers.get(input)
      const joined = before && once.has(input) ? joinedSlice(node, before, graph, constants) : undefined
      if (joined !== undefined) dropped.add(before!)
      const made = joined ?? node
      for (const name of made.outputs) makers.set(name, made)
      return made
    })
    if (dropped.size === 0) return graph
    return { ...graph, constants, nodes: nodes.filter((node) => !dropped.has(node)) }
  },
}

function joinedSlice(
  node: Node,
  before: Node,
  graph: Graph,
  constants: Map<string, Constant>,
): Node | undefined {
  const inner = cutsOf(before, graph, constants)
  const outer = cutsOf(node, graph, constants)
  if (inner === undefined || outer === undefined) return undefined
  const all = new Map(inner)
  for (const [axis, { start, end }] of outer) {
    const first = all.get(axis)
    if (first === undefined) all.set(axis, { start, end })
    else {
      // Both count from the front, so the second range lies within the first.
      if (start < 0 || end < 0 || first.start < 0 || first.end < 0) return undefined
      all.set(axis, {
        start: Math.min(first.start + start, first.end),
        end: Math.min(first.start + end, first.end),
      })
    }
  }
  const cuts = [...all].sort(([a], [b]) => a - b)
  const list = (what: string, values: readonly number[]): string => {
    const name = `${node.outputs[0]} ${what}`
    constants.set(name, tensorOf('i64', [values.length], values))
    return name
  }
  const inputs = [
    before.inputs[0]!,
    list(
      'starts',
      cuts.map(([, cut]) => cut.start),
    ),
    list(
      'ends',
      cuts.map(([, cut]) => cut.end),
    ),
    list(
      'axes',
      cuts.map(([axis]) => axis),
    ),
  ]
  return { ...node, inputs }
}

/** The slices by axis; undefined unless everything is constant, axes count from the front and steps are 1. */
function cutsOf(
  node: Node,
  graph: Graph,
  constants: ReadonlyMap<string, Constant>,
): Map<number, Cut> | undefined {
  if (node.op !== 'Slice' || node.domain !== '') return undefined
  const read = (index: number): number[] | undefined => {
    const name = node.inputs[index] ?? ''
    const constant = graph.constants.get(name) ?? constants.get(name)
    return constant === undefined || isStored(constant) ? undefined : numbersOf(constant)
  }
  const starts = read(1)
  const ends = read(2)
  if (starts === undefined || ends === undefined) return undefined
  const axes = hasInput(node, 3) ? read(3) : starts.map((_, axis) => axis)
  const steps = hasInput(node, 4) ? read(4) : starts.map(() => 1)
  if (axes === undefined || steps === undefined) return undefined
  if (axes.some((axis) => axis < 0) || steps.some((step) => step !== 1)) return undefined
  return new Map(axes.map((axis, at) => [axis, { start: within(starts[at]!), end: within(ends[at]!) }]))
}

export const simplify: Pass = {
  name: 'algebraic rewrites',
  run(graph) {
    const types = inferTypes(graph)
    const names = new Map<string, string>()
    const makers = new Map<string, Node>()
    const outputs = outputsOf(graph)
    const nodes: Node[] = []
    /** The index of each node in the list. */
    const places = new Map<Node, number>()
    for (const original of graph.nodes) {
      const node = merged(original, makers, names, types)
      const same = node.domain === '' ? sameAs(node, graph, types) : undefined
      const [output = ''] = node.outputs
      const isWhole = node.outputs.slice(1).every((name) => name === '')
      if (same !== undefined && isWhole) {
        const source = final(same, names)
        if (!outputs.has(output)) {
          names.set(output, source)
          continue
        }
        // The output keeps its name, which moves to the preceding node.
        const maker = makers.get(source)
        if (maker !== undefined && !outputs.has(source)) {
          const made = { ...maker, outputs: maker.outputs.map((name) => (name === source ? output : name)) }
          const place = places.get(maker)!
          nodes[place] = made
          places.set(made, place)
          for (const name of made.outputs) makers.set(name, made)
          names.set(source, output)
          continue
        }
      }
      for (const name of node.outputs) makers.set(name, node)
      places.set(node, nodes.push(node) - 1)
    }
    const isSame = names.size === 0 && nodes.every((node, at) => node === graph.nodes[at])
    return isSame ? graph : renamed({ ...graph, nodes }, names)
  },
}

/** The input that the node's output equals; undefined if the two may differ. */
function sameAs(node: Node, graph: Graph, types: Types): string | undefined {
  const [input = '', other = ''] = node.inputs
  switch (node.op) {
    case 'Identity':
      return input
    case 'Dropout':
      return isTraining(node, graph) ? undefined : input
    case 'Concat':
      return node.inputs.length === 1 ? input : undefined
    case 'Cast':
      return types.get(input)?.dtype === DTYPES.get(intOf(node, 'to', 0)) ? input : undefined
    case 'Transpose':
      return intsOf(node, 'perm', undefined)?.every((axis, at) => axis === at) ? input : undefined
    case 'Reshape':
    case 'Expand':
      return haveSameDims(types.get(input), types.get(node.outputs[0] ?? '')) ? input : undefined
    case 'Add':
      return neutral(graph, types, 0, input, other)
    case 'Sub':
      return isNeutral(graph, types, other, input, 0) ? input : undefined
    case 'Mul':
      return neutral(graph, types, 1, input, other)
    case 'Div':
      return isNeutral(graph, types, other, input, 1) ? input : undefined
    default:
      return undefined
  }
}

/** A constant third input may turn training mode on. */
function isTraining(node: Node, graph: Graph): boolean {
  const name = node.inputs[2] ?? ''
  if (name === '') return false
  const constant = graph.constants.get(name)
  return constant === undefined || isStored(constant) || numbersOf(constant)[0] !== 0
}

function haveSameDims(left: Type | undefined, right: Type | undefined): boolean {
  return left?.dims !== undefined && right?.dims !== undefined && `${left.dims}` === `${right.dims}`
}

function neutral(graph: Graph, types: Types, value: number, left: string, right: string) {
  if (isNeutral(graph, types, right, left, value)) return left
  return isNeutral(graph, types, left, right, value) ? right : undefined
}

/**
 * Whether `name` is a single number that leaves `other` and its shape unchanged. -0 + 0 is 0, so the neutral
 * element of a sum is -0.
 */
function isNeutral(graph: Graph, types: Types, name: string, other: string, value: number): boolean {
  const constant = graph.constants.get(name)
  if (constant === undefined || isStored(constant) || constant.data.length !== 1) return false
  const rank = types.get(other)?.dims?.length
  if (rank === undefined || constant.dims.length > rank) return false
  const [number] = numbersOf(constant)
  const isFloating = constant.data instanceof Float32Array || constant.data instanceof Float64Array
  return value === 0 && isFloating ? Object.is(number, -0) : number === value
}

/** Merges a transpose of a transpose, or a cast of a lossless cast. */
function merged(
  node: Node,
  makers: ReadonlyMap<string, Node>,
  names: ReadonlyMap<string, string>,
  types: Types,
): Node {
  const before = makers.get(final(node.inputs[0] ?? '', names))
  if (node.domain !== '' || before?.domain !== '' || before.op !== node.op) return node
  const inputs = [before.inputs[0]!, ...node.inputs.slice(1)]
  if (node.op === 'Transpose') {
    const inner = intsOf(before, 'perm', undefined)
    const outer = intsOf(node, 'perm', undefined)
    if (inner === undefined || outer === undefined) return node
    const perm = outer.map((axis) => inner[axis]!)
    return { ...node, inputs, attributes: new Map([['perm', { kind: 'ints', value: perm }]]) }
  }
  const from = types.get(inputs[0]!)?.dtype
  const by = types.get(before.outputs[0]!)?.dtype
  const isExact =
    from !== undefined && by !== undefined && (from === by || WIDER[from]?.includes(by) === true)
  return node.op === 'Cast' && isExact ? { ...node, inputs } : node
}

/** Dtypes that hold every value of another dtype. */
const WIDER: Partial<Record<DType, readonly DType[]>> = {
  f16: ['f32', 'f64'],
  bf16: ['f32', 'f64'],
  f32: ['f64'],
  i8: ['i16', 'i32', 'i64', 'f16', 'f32', 'f64'],
  u8: ['i16', 'u16', 'i32', 'u32', 'i64', 'f16', 'f32', 'f64'],
  i32: ['i64', 'f64'],
}
