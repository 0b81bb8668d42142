// Adds the bias of a sum of codes after the sum is scaled, instead of rounding the bias to the scale first.
// ONNX Runtime's quantiser adds it to ConvInteger or MatMulInteger, divided by both scales and rounded, then
// casts the sum to floats and multiplies it by both scales. Without the rounding the bias is exact, and the
// sum can become floats at once.
import { type Graph, type Node, outputsOf, producersOf, readersOf } from '../../ir/graph.ts'
import { type Around, freeName, namesIn } from '../branches.ts'
import { type Pass, withNodes } from '../pass.ts'

export const floatBiases: Pass = {
  name: 'biases of codes',
  run(graph) {
    const found = graph.nodes.filter(isSum).flatMap((node) => roundedBias(graph, node) ?? [])
    if (found.length === 0) return graph
    const around = { names: new Set(namesIn(graph)) }
    const changed = new Map<Node, readonly Node[]>()
    for (const bias of found) {
      const { sum, cast, scaling } = bias
      const scaled = freeName(around, `${scaling.outputs[0]} scaled`)
      const { nodes, output } = biasNodes(around, bias)
      changed.set(bias.addition, [])
      changed.set(cast, [{ ...cast, inputs: [sum.outputs[0]!] }])
      changed.set(scaling, [
        { ...scaling, outputs: [scaled] },
        ...nodes,
        { ...bias.addition, version: scaling.version, inputs: [scaled, output], outputs: scaling.outputs },
      ])
    }
    return withNodes(
      graph,
      graph.nodes.flatMap((node) => changed.get(node) ?? [node]),
    )
  },
}

const isSum = ({ op, domain }: Node): boolean =>
  domain === '' && (op === 'ConvInteger' || op === 'MatMulInteger')

interface RoundedBias {
  readonly sum: Node
  readonly addition: Node
  readonly cast: Node
  readonly scaling: Node
  /** Nodes that change the shape of the rounded bias, the first one first. */
  readonly shaping: readonly Node[]
  /** The bias before it is divided and rounded. */
  readonly bias: string
}

/** The bias that is added to the sum, if nothing else reads the values between. */
function roundedBias(graph: Graph, sum: Node): RoundedBias | undefined {
  const only = (node: Node | undefined, op: string): Node | undefined => {
    const name = node?.outputs[0] ?? ''
    const [reader, ...others] = readersOf(graph).get(name) ?? []
    const isOne = reader !== undefined && others.length === 0 && reader.op === op && reader.domain === ''
    return isOne && !outputsOf(graph).has(name) ? reader : undefined
  }
  const makerOf = (name: string | undefined): Node | undefined => producersOf(graph).get(name ?? '')
  const addition = only(sum, 'Add')
  const cast = only(addition, 'Cast')
  const scaling = only(cast, 'Mul')
  if (addition === undefined || cast === undefined || scaling === undefined) return undefined
  let at = makerOf(addition.inputs.find((name) => name !== sum.outputs[0]))
  const shaping: Node[] = []
  for (; at !== undefined && SHAPING.includes(at.op) && at.domain === ''; at = makerOf(at.inputs[0]))
    shaping.unshift(at)
  const rounding = at?.op === 'Cast' ? makerOf(at.inputs[0]) : undefined
  if (rounding === undefined || !ROUNDING.includes(rounding.op)) return undefined
  const division = makerOf(rounding.inputs[0])
  if (division?.op !== 'Div') return undefined
  const [bias = '', scale = ''] = division.inputs
  const factor = scaling.inputs.find((name) => name !== cast.outputs[0]) ?? ''
  const isSameScale = scale === factor || productOf(makerOf(scale)) === productOf(makerOf(factor))
  return isSameScale && scale !== '' ? { sum, addition, cast, scaling, shaping, bias } : undefined
}

const SHAPING: readonly string[] = ['Reshape', 'Unsqueeze', 'Squeeze']
const ROUNDING: readonly string[] = ['Floor', 'Round']

/** A key for the factors of a product, in any order; unique if the node is not a product. */
const productOf = (node: Node | undefined): string | symbol =>
  node?.op === 'Mul' ? [...node.inputs].sort().join('\n') : Symbol('other')

/** The bias in the shape of the rounded one. */
function biasNodes(
  around: Pick<Around, 'names'>,
  { shaping, bias }: RoundedBias,
): { nodes: Node[]; output: string } {
  let output = bias
  const nodes = shaping.map((node) => {
    const made = freeName(around, `${bias} shaped`)
    const copy = { ...node, inputs: node.inputs.with(0, output), outputs: [made] }
    output = made
    return copy
  })
  return { nodes, output }
}
