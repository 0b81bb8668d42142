// Decides whether the codes that a network computes at run time are only multiplied, and the results only by
// their scale, so that the floats can replace the codes.
import { type Graph, type Node, readsOf } from '../../../onnx/ir/graph.ts'

/** Operators through which a factor of their first input is a factor of their output. */
const LINEAR: ReadonlySet<string> = new Set([
  ...['Cast', 'Identity', 'Reshape', 'Unsqueeze', 'Squeeze', 'Flatten', 'Transpose', 'Expand'],
])

/** The places of the codes, their scale and their zero point in the inputs of nodes that take all three. */
const TAKES_ALL: ReadonlyMap<string, readonly [number, number, number]> = new Map([
  ['DequantizeLinear', [0, 1, 2]],
  ['MatMulIntegerToFloat', [0, 2, 4]],
])
const PRODUCTS: ReadonlySet<string> = new Set(['MatMulInteger', 'ConvInteger'])

/** A value that depends on a DynamicQuantizeLinear. `sums`: sums of products that still lack the scale. */
type Kind = 'codes' | 'scale' | 'zero' | 'sums'

/**
 * Whether each reader of a DynamicQuantizeLinear either takes codes, scale and zero point together, or
 * computes sums of products whose results are multiplied by the scale once, and nothing else depends on the
 * three.
 */
export function meetOwnScale(graph: Graph, { outputs }: Node): boolean {
  const [codes = '', scale = '', zero = ''] = outputs
  const kinds = new Map<string, Kind>([
    [codes, 'codes'],
    [scale, 'scale'],
    [zero, 'zero'],
  ])
  kinds.delete('')
  for (const node of graph.nodes) {
    const count = readsOf(node).filter((name) => kinds.has(name)).length
    if (count === 0) continue
    const made = kindMade(node, count, (at) => kinds.get(node.inputs[at] ?? ''))
    if (made === undefined) return false
    if (made !== 'floats') for (const name of node.outputs) kinds.set(name, made)
  }
  return !graph.outputs.some((name) => kinds.has(name))
}

/**
 * The kind of the outputs of a node with `count` inputs of a kind. `floats`: they no longer depend on the
 * scale. Undefined if the floats would change them.
 */
function kindMade(
  { op }: Node,
  count: number,
  kindOf: (at: number) => Kind | undefined,
): 'scale' | 'sums' | 'floats' | undefined {
  const [first, second, third] = [0, 1, 2].map(kindOf)
  const all = TAKES_ALL.get(op)?.map(kindOf)
  if (all !== undefined) return count === 3 && `${all}` === 'codes,scale,zero' ? 'floats' : undefined
  if (PRODUCTS.has(op)) return count === 2 && first === 'codes' && third === 'zero' ? 'sums' : undefined
  const own = op === 'Mul' ? (first ?? second) : LINEAR.has(op) ? first : undefined
  if (own !== 'scale' && own !== 'sums') return undefined
  if (count === 1) return own
  return op === 'Mul' && second === (own === 'scale' ? 'sums' : 'scale') ? 'floats' : undefined
}
