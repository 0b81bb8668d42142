// Graphs without rounding of activations. In: an accepted graph. Out: the same graph with float activations,
// which is what plans compute (docs/internals/onnx.md, Numerics): they round rows with their own scales,
// within the range of codes with a constant scale. Weights stay in codes.

import { centred } from '../../src/network/onnx/evaluators/products.ts'
import {
  type Attribute,
  type Constant,
  type Graph,
  isStored,
  type Node,
  readsOf,
} from '../../src/network/onnx/ir/graph.ts'
import { reader, type Tensor, tensorOf } from '../../src/network/onnx/ir/tensor.ts'
import { limitsOf } from '../../src/network/onnx/operators/quantise.ts'

export const unrounded = (graph: Graph): Graph =>
  withoutCodes(graph, new Map(), {
    live: new Set(graph.inputs.map(({ name }) => name)),
    floats: new Set(),
  })

interface Scope {
  /** Values that depend on the inputs. */
  readonly live: Set<string>
  /** Floats that replace the codes of activations. */
  readonly floats: Set<string>
}

/** `outer`: constants of the enclosing graphs. Adds the graph's values to `scope`. */
function withoutCodes(graph: Graph, outer: ReadonlyMap<string, Constant>, scope: Scope): Graph {
  const { live, floats } = scope
  const constants = new Map([...outer, ...graph.constants])
  const nodes = graph.nodes.map((node): Node => {
    if (!readsOf(node).some((name) => live.has(name))) return node
    for (const name of node.outputs) live.add(name)
    if ([...node.attributes.values()].some(({ kind }) => kind === 'graph'))
      return withinGraphs(node, constants, scope)
    const isOfFloats = floats.has(node.inputs[0]!)
    if (node.op === 'QuantizeLinear' || node.op === 'DynamicQuantizeLinear') {
      const [codes = '', scale, zero] = node.outputs
      floats.add(codes)
      if (scale !== undefined) constants.set(scale, tensorOf('f32', [], [1]))
      if (zero !== undefined) constants.set(zero, tensorOf('u8', [], [0]))
      const limits = node.op === 'QuantizeLinear' ? limitsIn(node, constants) : []
      const names = limits.map((limit, end) => {
        const name = `${codes} ${end}`
        constants.set(name, limit)
        return name
      })
      const inputs = [...node.inputs.slice(0, 1), ...names]
      const limited = { op: names.length === 0 ? 'Identity' : 'Clip', version: CLIP_VERSION }
      return { ...node, ...limited, inputs, outputs: [codes], attributes: NONE }
    }
    if (node.op === 'DequantizeLinear' && isOfFloats)
      return { ...node, op: 'Identity', inputs: node.inputs.slice(0, 1), attributes: NONE }
    if (node.op !== 'MatMulInteger' || !isOfFloats) return node
    const name = `${node.outputs[0]} floats`
    constants.set(name, withoutZeros(node, constants))
    return { ...node, op: 'MatMul', inputs: [node.inputs[0]!, name] }
  })
  return { ...graph, constants, nodes }
}

/** The node with its subgraphs changed. A loop's inputs become its body's; its outputs are the last ones. */
function withinGraphs(node: Node, constants: ReadonlyMap<string, Constant>, outer: Scope): Node {
  const attributes = [...node.attributes].map(([key, attribute]): [string, Attribute] => {
    if (attribute.kind !== 'graph') return [key, attribute]
    const { inputs, outputs } = attribute.value
    const within = (known: ReadonlySet<string>) =>
      new Set([
        ...known,
        ...inputs.flatMap(({ name }, index) => (known.has(node.inputs[index] ?? '') ? [name] : [])),
      ])
    const scope: Scope = { live: within(outer.live), floats: within(outer.floats) }
    const value = withoutCodes(attribute.value, constants, scope)
    const made = outputs.slice(outputs.length - node.outputs.length)
    for (const [index, name] of made.entries())
      if (scope.floats.has(name)) outer.floats.add(node.outputs[index]!)
    return [key, { kind: 'graph', value }]
  })
  return { ...node, attributes: new Map(attributes) }
}

const NONE: Node['attributes'] = new Map()

/** The limits for a Clip, which takes them as inputs. */
const CLIP_VERSION = 13

/** The values of the smallest and the largest code, as tensors. */
function limitsIn({ inputs }: Node, constants: ReadonlyMap<string, Constant>): Tensor[] {
  const [scale, zero] = [1, 2].map((index) => constants.get(inputs[index] ?? ''))
  if (scale === undefined || isStored(scale) || (zero !== undefined && isStored(zero))) return []
  const offset = zero === undefined ? 0 : Number(zero.data[0])
  return limitsOf(zero?.dtype ?? 'u8').map((code) =>
    tensorOf(scale.dtype, [], [(code - offset) * Number(scale.data[0])]),
  )
}

/** The codes of a matrix minus its zero points. */
function withoutZeros(node: Node, constants: ReadonlyMap<string, Constant>): Tensor {
  const [codes, zeros] = [1, 3].map((index) => {
    const constant = constants.get(node.inputs[index] ?? '')
    return constant === undefined || isStored(constant) ? undefined : constant
  })
  if (codes === undefined) throw new Error(`${node.name} was accepted without a constant matrix`)
  const whole = centred(node, codes, zeros, 'column')
  return tensorOf(
    'f32',
    whole.dims,
    Array.from({ length: whole.data.length }, (_, at) => reader(whole)(at)),
  )
}
