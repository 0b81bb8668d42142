// Replaces recurrent layers whose weights are 8-bit codes by the same layers with decoded weights, which are
// constants if the codes are. The compiler finds the codes behind them and rounds inputs and states, as ONNX
// Runtime does (`layerCodes`); the evaluator rounds nothing.
import { type Attribute, type Graph, hasInput, type Node } from '../../ir/graph.ts'
import { MICROSOFT } from '../../ir/operator.ts'
import { tensorOf } from '../../ir/tensor.ts'
import { type Around, addConstant, freeName, namesIn } from '../branches.ts'
import { type Pass, withNodes } from '../pass.ts'

/** The opset of the new nodes. */
const VERSION = 14
/**
 * Index of the layer's first input that an LSTM lacks. These inputs are the scales and zero points of both
 * weights.
 */
const CODED = 8

export const decodeLayers: Pass = {
  name: 'layers of codes',
  run(graph) {
    if (!graph.nodes.some(isCoded)) return graph
    const decoding = new Decoding(graph)
    const nodes = graph.nodes.flatMap((node) => (isCoded(node) ? decoding.layer(node) : [node]))
    return { ...withNodes(graph, nodes), constants: decoding.around.constants }
  },
}

const isCoded = ({ op, domain, inputs }: Node): boolean =>
  op === 'DynamicQuantizeLSTM' && domain === MICROSOFT && inputs.length === CODED + 4

class Decoding {
  readonly around: Around

  constructor(graph: Graph) {
    this.around = { constants: new Map(graph.constants), names: new Set(namesIn(graph)) }
  }

  /**
   * The layer's weights are [directions, inputs, 4 x hidden]; an LSTM's are transposed. Constant codes with
   * one scale per direction stay constants.
   */
  layer(node: Node): Node[] {
    const made: Node[] = []
    const weights = [0, 1].map((side) => {
      const codes = node.inputs[1 + side]!
      const scale = node.inputs[CODED + 2 * side]!
      const zero = hasInput(node, CODED + 2 * side + 1) ? node.inputs[CODED + 2 * side + 1]! : undefined
      const add = (op: string, inputs: readonly string[], attributes: Record<string, Attribute> = {}) => {
        const output = freeName(this.around, `${codes} ${op}`)
        const all = new Map(Object.entries(attributes))
        made.push({
          name: node.name,
          op,
          domain: '',
          version: VERSION,
          inputs,
          outputs: [output],
          attributes: all,
        })
        return output
      }
      const floats = (name: string) => add('Cast', [name], { to: { kind: 'int', value: FLOAT } })
      // One per direction, or one per direction and row: both broadcast over the inputs.
      const spread = (name: string) => {
        const rows = add('Reshape', [name, addConstant(this.around, 'shape', tensorOf('i64', [2], [0, -1]))])
        return add('Unsqueeze', [rows, addConstant(this.around, 'shape', tensorOf('i64', [1], [1]))])
      }
      const transposed = (name: string) =>
        add('Transpose', [name], { perm: { kind: 'ints', value: [0, 2, 1] } })
      const { constants } = this.around
      const coded = [codes, scale, ...(zero === undefined ? [] : [zero])]
      if (coded.every((name) => constants.has(name)) && constants.get(scale)!.dims.length === 1)
        return transposed(add('DequantizeLinear', coded, { axis: { kind: 'int', value: 0 } }))
      const centred = zero === undefined ? floats(codes) : add('Sub', [floats(codes), spread(floats(zero))])
      return transposed(add('Mul', [centred, spread(scale)]))
    })
    const inputs = node.inputs.slice(0, CODED).with(1, weights[0]!).with(2, weights[1]!)
    while (inputs.at(-1) === '') inputs.pop()
    return [...made, { ...node, op: 'LSTM', domain: '', version: VERSION, inputs }]
  }
}

/** TensorProto's number of f32. */
const FLOAT = 1
