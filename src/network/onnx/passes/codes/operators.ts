// Replaces ONNX Runtime's operators on 8-bit codes by DequantizeLinear, the operator on floats, and
// QuantizeLinear, which the compiler fuses. A node in a form without such a replacement stays as it is.
import { type Attribute, hasInput, type Node, withoutAttributes } from '../../ir/graph.ts'
import { flagOf, intOf, MICROSOFT } from '../../ir/operator.ts'
import { freeName, namesIn } from '../branches.ts'
import { type Pass, withNodes } from '../pass.ts'

export const replaceCodeOperators: Pass = {
  name: 'operators of codes',
  run(graph) {
    if (!graph.nodes.some(({ domain, op }) => domain === MICROSOFT && REWRITES.has(op))) return graph
    const around = { names: new Set(namesIn(graph)) }
    return withNodes(
      graph,
      graph.nodes.flatMap((node) => {
        const rewrite = node.domain === MICROSOFT ? REWRITES.get(node.op) : undefined
        return rewrite?.(node, new Rewriting(node, around)) ?? [node]
      }),
    )
  },
}

/** The opset of the new nodes, and of those that turn codes into floats and back. */
const VERSION = 13
const CODES_VERSION = 21

/** The nodes that replace one, in order. */
class Rewriting {
  readonly nodes: Node[] = []
  readonly #node: Node
  readonly #around: Parameters<typeof freeName>[0]

  constructor(node: Node, around: Parameters<typeof freeName>[0]) {
    this.#node = node
    this.#around = around
  }

  /** The output of a new node, which has the replaced node's name. */
  add(
    op: string,
    inputs: readonly string[],
    attributes: ReadonlyMap<string, Attribute> = new Map(),
    version = VERSION,
  ): string {
    const output = freeName(this.#around, `${this.#node.outputs[0]} ${op}`)
    this.#push(op, inputs, output, attributes, version)
    return output
  }

  /** The floats of the codes at an index of the inputs, which their scale and zero point follow. */
  floats(index: number): string {
    const [codes = '', scale = '', zero = ''] = this.#node.inputs.slice(index, index + 3)
    return this.add('DequantizeLinear', present(codes, scale, zero), undefined, CODES_VERSION)
  }

  /**
   * All nodes, the last of which writes codes; their scale and zero point begin at an index of the inputs.
   */
  codes(floats: string, index: number): readonly Node[] {
    const [scale = '', zero = ''] = this.#node.inputs.slice(index, index + 2)
    const [output = ''] = this.#node.outputs
    this.#push('QuantizeLinear', present(floats, scale, zero), output, new Map(), CODES_VERSION)
    return this.nodes
  }

  #push(
    op: string,
    inputs: readonly string[],
    output: string,
    attributes: ReadonlyMap<string, Attribute>,
    version: number,
  ): void {
    const { name } = this.#node
    this.nodes.push({ name, op, domain: '', version, inputs, outputs: [output], attributes })
  }
}

const present = (...names: string[]): string[] => names.filter((name) => name !== '')

/** Undefined if the form of the node has no replacement. */
type Rewrite = (node: Node, by: Rewriting) => readonly Node[] | undefined

/** The same attributes, except for those that only the operators on codes have. */
const attributesOf = (node: Node): ReadonlyMap<string, Attribute> =>
  withoutAttributes(node, 'channels_last', 'opset')

/** One input with its scale and zero point, then the scale and the zero point of the output. */
const unary =
  (op: string, versionOf: (node: Node) => number = () => VERSION): Rewrite =>
  (node, by) => {
    if (!hasInput(node, 4) || flagOf(node, 'channels_last')) return undefined
    return by.codes(by.add(op, [by.floats(0)], attributesOf(node), versionOf(node)), 3)
  }

/** Two inputs, each with its scale and zero point. */
const binary =
  (op: string): Rewrite =>
  (node, by) =>
    hasInput(node, 7) ? by.codes(by.add(op, [by.floats(0), by.floats(3)]), 6) : undefined

/** The scale and the zero point of the output come first. */
const concat: Rewrite = (node, by) => {
  const count = (node.inputs.length - 2) / 3
  if (!Number.isInteger(count) || count < 1) return undefined
  const parts = Array.from({ length: count }, (_, at) => by.floats(2 + 3 * at))
  return by.codes(by.add('Concat', parts, node.attributes), 0)
}

const where: Rewrite = (node, by) => {
  if (!hasInput(node, 8)) return undefined
  return by.codes(by.add('Where', [node.inputs[0]!, by.floats(1), by.floats(4)]), 7)
}

/**
 * A product with a bias of i32, whose scale is that of the product. Without a scale, the output is floats.
 */
const gemm: Rewrite = (node, by) => {
  if (!hasInput(node, 8)) return undefined
  const factors = by.floats(0)
  const weights = by.floats(3)
  const scale = by.add('Mul', [node.inputs[1]!, node.inputs[4]!])
  const bias = hasInput(node, 6) ? [by.add('Mul', [by.add('Cast', [node.inputs[6]!], FLOAT), scale])] : []
  const attributes = withoutAttributes(node, 'alpha')
  const alpha = node.attributes.get('alpha')
  if (alpha !== undefined && alpha.value !== 1) return undefined
  return by.codes(by.add('Gemm', [factors, weights, ...bias], attributes), 7)
}

const FLOAT: ReadonlyMap<string, Attribute> = new Map([['to', { kind: 'int', value: 1 }]])

/** Before opset 13, all axes from the given one on. */
const softmaxVersion = (node: Node): number => Math.min(VERSION, Math.max(11, intOf(node, 'opset', VERSION)))

const REWRITES: ReadonlyMap<string, Rewrite> = new Map([
  ['QGemm', gemm],
  ['QLinearAdd', binary('Add')],
  ['QLinearAveragePool', unary('AveragePool')],
  ['QLinearConcat', concat],
  ['QLinearGlobalAveragePool', unary('GlobalAveragePool')],
  ['QLinearLeakyRelu', unary('LeakyRelu')],
  ['QLinearMul', binary('Mul')],
  ['QLinearSigmoid', unary('Sigmoid')],
  ['QLinearSoftmax', unary('Softmax', softmaxVersion)],
  ['QLinearWhere', where],
])
