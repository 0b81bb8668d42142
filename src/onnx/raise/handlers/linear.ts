// Linear layers. In: products of rows and a constant matrix, and the bias that is added to them. Out: linears
// of the plan.
import type { Value, WeightRef } from '../../../graph/ir.ts'
import { floatOf, intOf } from '../../ir/attributes.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Matrix } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'

const OUTPUT = 'output.weight'
/** Operators that add a bias to the product before they do anything else, and which input it is. */
const JOINED: ReadonlyMap<string, number> = new Map(
  Object.entries({
    'com.microsoft:FastGelu': 1,
    'com.microsoft:SkipLayerNormalization': 4,
    'com.microsoft:SkipSimplifiedLayerNormalization': 3,
  }),
)

export const nameFor = (t: Translator, node: Node): string | undefined =>
  t.isLogits(node) ? OUTPUT : undefined

/** The constant on the right: [k, n], or [n, k] when `isTurned`; undefined where it is none. */
function rightOf(t: Translator, node: Node, isTurned: boolean): Matrix | undefined {
  const right = t.read(node, 1)
  if (right?.is === 'constant') return t.weights.float(node, 1, isTurned, nameFor(t, node))
  return right?.is === 'matrix' ? t.weights.stored(node, right, isTurned, nameFor(t, node)) : undefined
}

/** A product with a constant on the right. */
export const matMul: Handler = (t, node) => {
  const weight = t.isRows(node, 0) ? rightOf(t, node, false) : undefined
  if (weight === undefined) return false
  product(t, node, t.rows(node, 0), weight)
  return true
}

/** alpha A B + beta C; A is rows. */
export const gemm: Handler = (t, node) => {
  const is = t.read(node, 1)?.is
  if (!t.isRows(node, 0) || (is !== 'constant' && is !== 'matrix')) return false
  if (floatOf(node, 'alpha', 1) !== 1 || floatOf(node, 'beta', 1) !== 1 || intOf(node, 'transA', 0) !== 0)
    throw unclaimed(node, 'its alpha, beta or transA are not the defaults')
  const weight = rightOf(t, node, intOf(node, 'transB', 0) !== 0)
  if (weight === undefined) return false
  product(t, node, t.rows(node, 0), weight, 2)
  return true
}

/** Blocks of 4 or 8 bits. `accuracy_level` only says how exact the original would be. */
export const matMulBlocks: Handler = (t, node) => {
  if (!t.isRows(node, 0)) return false
  const [n, k] = [intOf(node, 'N', 0), intOf(node, 'K', 0)]
  const [bits, block] = [intOf(node, 'bits', 4), intOf(node, 'block_size', 32)]
  if (hasInput(node, 4)) throw unclaimed(node, 'its inputs are in an order of their own (g_idx)')
  if (intOf(node, 'weight_prepacked', 0) !== 0) throw unclaimed(node, 'its weights are packed for a device')
  const [codes, scales] = [t.weights.constant(node, 1), t.weights.constant(node, 2)]
  const zeros = hasInput(node, 3) ? t.weights.constant(node, 3) : undefined
  const parts = { n, k, bits, block, codes, scales, zeros }
  product(t, node, t.rows(node, 0), t.weights.blocks(parts, node.inputs[1]!, nameFor(t, node)), 5)
  return true
}

/** The product with its bias: an input of the node, or a sum that is all that reads it. */
export function product(
  t: Translator,
  node: Node,
  input: Value,
  { weight, n }: Matrix,
  biasInput?: number,
): void {
  const label = node.outputs[0] ?? node.name
  if (biasInput !== undefined && hasInput(node, biasInput)) {
    t.setRows(node, 0, t.b.linear(label, input, weight, biasOf(t, node, biasInput, n, weight)))
    return
  }
  const sum = t.onlyReader(node)
  const index = sum?.inputs.findIndex((name) => t.weights.has(name)) ?? -1
  const inner = sum === undefined ? -1 : (JOINED.get(`${sum.domain}:${sum.op}`) ?? -1)
  if (sum !== undefined && t.weights.has(sum.inputs[inner]) && !t.hasBias(sum)) {
    t.setRows(node, 0, t.b.linear(label, input, weight, biasOf(t, sum, inner, n, weight)))
    t.takeBias(sum)
    return
  }
  const isBias = sum?.op === 'Add' && sum.domain === '' && index >= 0 && hasWidth(t, sum, index, n)
  if (!isBias) {
    t.setRows(node, 0, t.b.linear(label, input, weight))
    return
  }
  t.take(sum)
  t.setRows(sum, 0, t.b.linear(label, input, weight, biasOf(t, sum, index, n, weight)))
}

const hasWidth = (t: Translator, node: Node, index: number, n: number): boolean => {
  const { dims } = t.weights.constant(node, index)
  // [n, 1] would be a number for each token.
  return dims.at(-1) === n && dims.reduce((product, size) => product * size, 1) === n
}

function biasOf(t: Translator, node: Node, index: number, n: number, { parts }: WeightRef): WeightRef {
  const bias = t.weights.vector(node, index, n, 'bias')
  if (parts.length === 1) return bias
  throw unclaimed(node, 'its bias is added to a product of several matrices')
}
