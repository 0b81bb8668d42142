// Nodes of opsets 7 to 10. In: a graph as its file has it. Out: the same graph in the forms of opset 11, the
// only ones that shape rules, evaluators and lowerings know.
import {
  type Attribute,
  type Constant,
  type Graph,
  isStored,
  type Node,
  producersOf,
  withoutAttributes,
} from './ir/graph.ts'
import { floatOf, floatsOf, intOf, intsOf } from './ir/operator.ts'
import { type DType, isFloat, numbersOf, type Tensor, tensorOf } from './ir/tensor.ts'

export const OLDEST_OPSET = 7
/** The opset whose forms nodes get. */
const FORMS = 11

/**
 * `Scan` of opset 8 has no equivalent and keeps its opset, so it is rejected by name. `BatchNormalization`
 * with statistics for each position keeps its attribute `spatial`, which is rejected.
 */
export function withoutOlderForms(graph: Graph): Graph {
  if (!graph.nodes.some(isOlder)) return graph
  const values = new Values(graph)
  const nodes = graph.nodes.map((node) => (isOlder(node) ? current(node, values) : node))
  return { ...graph, nodes, constants: values.constants }
}

const isOlder = ({ domain, version }: Node): boolean =>
  domain === '' && version >= OLDEST_OPSET && version < FORMS

function current(node: Node, values: Values): Node {
  if (node.op === 'Scan' && node.version === 8) return node
  return { ...(REWRITES.get(node.op)?.(node, values) ?? node), version: FORMS }
}

/** The constants of a graph, and those that replace attributes. */
class Values {
  readonly constants: Map<string, Constant>
  readonly #producers: ReadonlyMap<string, Node>
  readonly #taken: ReadonlySet<string>
  readonly #float: DType
  #made = 0

  constructor(graph: Graph) {
    this.#producers = producersOf(graph)
    this.constants = new Map(graph.constants)
    this.#taken = new Set([
      ...graph.constants.keys(),
      ...graph.inputs.map(({ name }) => name),
      ...graph.nodes.flatMap(({ inputs, outputs }) => [...inputs, ...outputs]),
    ])
    const floats = new Set([...graph.constants.values()].map(({ dtype }) => dtype).filter(isFloat))
    this.#float = floats.size === 1 ? [...floats][0]! : 'f32'
  }

  /** The name of a new constant. */
  add(node: Node, what: string, tensor: Tensor): string {
    let name: string
    do name = `${node.outputs[0]}.${what}.${this.#made++}`
    while (this.#taken.has(name))
    this.constants.set(name, tensor)
    return name
  }

  whole(node: Node, what: string, values: readonly number[]): string {
    return this.add(
      node,
      what,
      tensorOf(
        'i64',
        [values.length],
        values.map((value) => BigInt(value)),
      ),
    )
  }

  /**
   * A scalar in the type of the graph's other floats. The type of the node's own input is not known yet; if
   * it differs, the node is rejected.
   */
  float(node: Node, what: string, value: number): string {
    return this.add(node, what, tensorOf(this.#float, [], [value]))
  }

  /** The elements of a constant in memory, or of a `Constant` node. */
  numbers(name: string | undefined): readonly number[] | undefined {
    const constant = this.constants.get(name ?? '')
    if (constant !== undefined) return isStored(constant) ? undefined : numbersOf(constant)
    const value = this.#producers.get(name ?? '')?.attributes.get('value')
    return value?.kind === 'tensor' ? numbersOf(value.value) : undefined
  }
}

type Rewrite = (node: Node, values: Values) => Node

/** Both limits were attributes, whose defaults limit nothing. */
function clip(node: Node, values: Values): Node {
  const limits = (['min', 'max'] as const).map((name) => {
    const value = floatOf(node, name, undefined)
    return value === undefined ? '' : values.float(node, name, value)
  })
  return {
    ...node,
    inputs: [...node.inputs.slice(0, 1), ...limits],
    attributes: withoutAttributes(node, 'min', 'max'),
  }
}

function pad(node: Node, values: Values): Node {
  const value = floatOf(node, 'value', 0)
  const inputs = [
    ...node.inputs.slice(0, 1),
    values.whole(node, 'pads', intsOf(node, 'pads', [])),
    ...(value === 0 ? [] : [values.float(node, 'value', value)]),
  ]
  return { ...node, inputs, attributes: withoutAttributes(node, 'pads', 'value') }
}

function slice(node: Node, values: Values): Node {
  if (node.version >= 10) return node
  const axes = intsOf(node, 'axes', undefined)
  const inputs = [
    ...node.inputs.slice(0, 1),
    ...(['starts', 'ends'] as const).map((name) => values.whole(node, name, intsOf(node, name, []))),
    ...(axes === undefined ? [] : [values.whole(node, 'axes', axes)]),
  ]
  return { ...node, inputs, attributes: withoutAttributes(node, 'starts', 'ends', 'axes') }
}

function topK(node: Node, values: Values): Node {
  if (node.version >= 10) return node
  const inputs = [...node.inputs.slice(0, 1), values.whole(node, 'k', [intOf(node, 'k', 0)])]
  return { ...node, inputs, attributes: withoutAttributes(node, 'k') }
}

/**
 * `Upsample`, and `Resize` of opset 10: positions are divided by the scale. ONNX leaves the rounding open;
 * ONNX Runtime rounds down to enlarge and up to reduce.
 */
function resize(node: Node, values: Values): Node {
  const [image = '', given] = node.inputs
  const scales = floatsOf(node, 'scales', undefined)
  const name =
    scales === undefined
      ? (given ?? '')
      : values.add(node, 'scales', tensorOf('f32', [scales.length], scales))
  const isReduced = values.numbers(name)?.some((scale) => scale < 1) ?? false
  const text = (value: string): Attribute => ({ kind: 'string', value })
  const attributes = withoutAttributes(node, 'scales')
    .set('coordinate_transformation_mode', text('asymmetric'))
    .set('nearest_mode', text(isReduced ? 'ceil' : 'floor'))
  return { ...node, op: 'Resize', inputs: [image, '', name], attributes }
}

/** `spatial` is 1 by default: statistics for each channel, as in later opsets. */
const batchNormalization: Rewrite = (node) =>
  intOf(node, 'spatial', 0) === 1 ? { ...node, attributes: withoutAttributes(node, 'spatial') } : node

const REWRITES: ReadonlyMap<string, Rewrite> = new Map<string, Rewrite>([
  ['BatchNormalization', batchNormalization],
  ['Clip', clip],
  ['Pad', pad],
  ['Resize', resize],
  ['Scatter', (node) => ({ ...node, op: 'ScatterElements' })],
  ['Slice', slice],
  ['TopK', topK],
  ['Upsample', resize],
])
