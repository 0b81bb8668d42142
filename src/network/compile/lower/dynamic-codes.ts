// Whether the codes that a network rounds at run time end in products with their scale, so that the floats
// can stand for them.
import { type Graph, type Node, readersOf } from '../../onnx/ir/graph.ts'

/** Operators through which a factor of their input is a factor of their output. */
const LINEAR: ReadonlySet<string> = new Set([
  ...['Mul', 'Cast', 'Identity', 'Reshape', 'Unsqueeze', 'Squeeze', 'Flatten', 'Transpose', 'Expand'],
])

/** The places of the codes, their scale and their zero point in the inputs of nodes that take all three. */
const TAKES_ALL: ReadonlyMap<string, readonly [number, number, number]> = new Map([
  ['DequantizeLinear', [0, 1, 2]],
  ['MatMulIntegerToFloat', [0, 2, 4]],
])
const PRODUCTS: ReadonlySet<string> = new Set(['MatMulInteger', 'ConvInteger'])

/**
 * Whether each reader of a DynamicQuantizeLinear either takes codes, scale and zero point together, or
 * computes sums of products whose results are multiplied by the scale, and nothing else depends on the three.
 */
export function meetOwnScale(graph: Graph, { outputs }: Node): boolean {
  const [codes = '', scale = '', zero = ''] = outputs
  if ([codes, scale, zero].some((name) => graph.outputs.includes(name))) return false
  const readers = readersOf(graph)
  const of = (name: string): readonly Node[] => (name === '' ? [] : (readers.get(name) ?? []))
  const takesAll = ({ op, inputs }: Node): boolean => {
    const [first, second, third] = TAKES_ALL.get(op) ?? []
    return (
      first !== undefined &&
      inputs[first] === codes &&
      inputs[second!] === scale &&
      (inputs[third!] ?? '') === zero
    )
  }
  const products = of(codes).filter((node) => !takesAll(node))
  const isProduct = (node: Node) =>
    PRODUCTS.has(node.op) && node.inputs[0] === codes && node.inputs[1] !== codes && node.inputs[2] === zero
  if (!products.every(isProduct) || !of(zero).every((node) => takesAll(node) || isProduct(node))) return false

  /** The nodes that a value reaches through linear operators. */
  const reached = (from: readonly string[]): ReadonlySet<Node> => {
    const found = new Set<Node>()
    const next = [...from]
    for (let name = next.pop(); name !== undefined; name = next.pop())
      for (const node of of(name))
        if (LINEAR.has(node.op) && !found.has(node)) {
          found.add(node)
          next.push(...node.outputs)
        }
    return found
  }
  const sums = products.flatMap((node) => node.outputs)
  const withScale = reached([scale])
  const withSums = reached(sums)
  /** Whether every path of linear operators ends in a product with the other value. */
  const meets = (name: string, others: ReadonlySet<Node>): boolean =>
    !graph.outputs.includes(name) &&
    of(name).every(
      (node) =>
        takesAll(node) ||
        (node.op === 'Mul' && others.has(node)) ||
        (LINEAR.has(node.op) && node.outputs.every((made) => meets(made, others))),
    )
  return meets(scale, withSums) && sums.every((name) => meets(name, withScale))
}
