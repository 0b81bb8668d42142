// Algebraic rewrites. In: a graph. Out: the graph without nodes that change nothing, with pairs that are one.
import { inferTypes, type Types } from '../infer.ts'
import { intOf, intsOf } from '../ir/attributes.ts'
import { type Graph, isStored, type Node, type Type } from '../ir/graph.ts'
import { DTYPES, type DType, numbersOf } from '../ir/tensor.ts'
import type { Pass } from './pass.ts'
import { final, renamed } from './rename.ts'

export const simplify: Pass = {
  name: 'algebraic rewrites',
  run(graph) {
    const types = inferTypes(graph)
    const names = new Map<string, string>()
    const makers = new Map<string, Node>()
    const nodes: Node[] = []
    for (const original of graph.nodes) {
      const node = merged(original, makers, names, types)
      const same = node.domain === '' ? sameAs(node, graph, types) : undefined
      const [output = ''] = node.outputs
      const isWhole = node.outputs.slice(1).every((name) => name === '')
      if (same !== undefined && isWhole) {
        const source = final(same, names)
        if (!graph.outputs.includes(output)) {
          names.set(output, source)
          continue
        }
        // The output keeps its name, which the node before takes over.
        const maker = makers.get(source)
        if (maker !== undefined && !graph.outputs.includes(source)) {
          const made = { ...maker, outputs: maker.outputs.map((name) => (name === source ? output : name)) }
          nodes[nodes.indexOf(maker)] = made
          for (const name of made.outputs) makers.set(name, made)
          names.set(source, output)
          continue
        }
      }
      for (const name of node.outputs) makers.set(name, node)
      nodes.push(node)
    }
    const isSame = names.size === 0 && nodes.every((node, at) => node === graph.nodes[at])
    return isSame ? graph : renamed({ ...graph, nodes }, names)
  },
}

/** The input that the node's output equals; undefined where it may differ. */
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

/** A constant third input may ask for training. */
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
 * Whether `name` is one number that changes nothing of `other`, its shape included. -0 + 0 is 0, so 0 is -0.
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

/** A transpose of a transpose, or a cast of a cast that lost nothing, as one node. */
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
    const [inner, outer] = [intsOf(before, 'perm', undefined), intsOf(node, 'perm', undefined)]
    if (inner === undefined || outer === undefined) return node
    const perm = outer.map((axis) => inner[axis]!)
    return { ...node, inputs, attributes: new Map([['perm', { kind: 'ints', value: perm }]]) }
  }
  const [from, by] = [types.get(inputs[0]!)?.dtype, types.get(before.outputs[0]!)?.dtype]
  const isExact =
    from !== undefined && by !== undefined && (from === by || WIDER[from]?.includes(by) === true)
  return node.op === 'Cast' && isExact ? { ...node, inputs } : node
}

/** Dtypes that hold every value of another. */
const WIDER: Partial<Record<DType, readonly DType[]>> = {
  f16: ['f32', 'f64'],
  bf16: ['f32', 'f64'],
  f32: ['f64'],
  i8: ['i16', 'i32', 'i64', 'f16', 'f32', 'f64'],
  u8: ['i16', 'u16', 'i32', 'u32', 'i64', 'f16', 'f32', 'f64'],
  i32: ['i64', 'f64'],
}
