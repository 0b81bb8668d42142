// Handlers of products: MatMul and Gemm as loops over rows, columns and the summed axis.
import type { Node } from '../../onnx/ir/graph.ts'
import { flagOf, floatOf, unclaimed } from '../../onnx/ir/operator.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, type Ref } from '../loops/loops.ts'
import { add, arg, mul, number, type Tree } from '../loops/tree.ts'
import { reshaped, spread, transposed, type View } from '../loops/view.ts'
import { multiplyCodes } from './codes/code-layers.ts'
import type { Handler, SomeHandlers } from './handler.ts'
import { encodingOf, linear } from './linear.ts'
import { reshape } from './lowering/layouts.ts'
import { map, orderedValue } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import { checkSpread, misfit } from './lowering/misfit.ts'
import { operand } from './lowering/operands.ts'

const padded = ({ offset, dims, strides }: View, front: boolean): View =>
  front
    ? { offset, dims: [1, ...dims], strides: [0, ...strides] }
    : { offset, dims: [...dims, 1], strides: [...strides, 0] }

/** [..., m, k] times [..., k, n]. A vector is a row on the left and a column on the right. */
const matMul: Handler = (lowering, node) => {
  if (multiplyCodes(lowering, node)) return
  const [left, right] = node.inputs.map((name) => lowering.values.ref(node, name)) as [Ref, Ref]
  if (left.value.kind !== 'f32' || right.value.kind !== 'f32')
    throw unclaimed(node, 'integer products are not compiled')
  lowering.values.name(node.outputs[0]!, productOf(lowering, node, left, right))
}

/** The product of two references, with the dims of the node's output. */
export function productOf(lowering: Lowering, node: Node, left: Ref, right: Ref): Ref {
  const isRow = dimsOf(left).length === 1
  const isColumn = dimsOf(right).length === 1
  const a = isRow ? padded(left.view, true) : left.view
  const b = isColumn ? padded(right.view, false) : right.view
  const dims = lowering.values.dims(node, node.outputs[0]!)
  const batch = dims.slice(0, dims.length - (isRow ? 0 : 1) - (isColumn ? 0 : 1))
  const m = a.dims.at(-2)!
  const n = b.dims.at(-1)!
  const extended = (view: View): View => {
    const to = [...batch, ...view.dims.slice(-2)]
    checkSpread(node, view.dims, to)
    return spread(view, to)
  }
  const made = product(lowering, node, isRow || isColumn ? '' : node.outputs[0]!, {
    a: { ...left, view: extended(a) },
    b: { ...right, view: extended(b) },
    dims: [...batch, m, n],
  })
  return reshape(lowering, node, made, dims)
}

interface Sides {
  readonly a: Ref
  readonly b: Ref
  /** Dims of the product, [..., m, n]. */
  readonly dims: readonly number[]
}

function product(lowering: Lowering, node: Node, name: string, { a, b, dims }: Sides): Ref {
  const summed = a.view.dims.at(-1)
  const others = b.view.dims.at(-2)
  if (summed !== others)
    throw misfit(node, `its inputs have ${summed} and ${others} numbers along the summed axis`)
  if (summed === 0) throw unclaimed(node, 'it sums over no elements')
  const byKernel = linearOf(lowering, node, { a, b, dims })
  if (byKernel !== undefined) return byKernel
  const { out, ref } = orderedValue(lowering, name, dims)
  const rows = asRows(a, b, ref)
  const { view: at } = rows?.at ?? ref
  const args = rows === undefined ? ([a, b] as const) : ([rows.a, rows.b] as const)
  lowering.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, args, at })
  return ref
}

/** The product by an engine kernel; undefined if no kernel supports it. */
function linearOf(lowering: Lowering, node: Node, { a, b, dims }: Sides): Ref | undefined {
  const matrix = isOneMatrix(b) ? { ...b, view: matrixOf(b.view) } : undefined
  const encoding = matrix && encodingOf(matrix, lowering.weights)
  if (matrix === undefined || encoding === undefined || countOf(dims) === 0) return undefined
  const rows = reshape(lowering, node, a, [rowsOf(a), a.view.dims.at(-1)!])
  return reshape(lowering, node, linear(lowering, node, rows, matrix, encoding), dims)
}

/** Whether the whole batch shares one matrix. */
const isOneMatrix = ({ view: { dims, strides } }: Ref): boolean =>
  strides.slice(0, -2).every((step, axis) => step === 0 || dims[axis] === 1)

const matrixOf = ({ offset, dims, strides }: View): View => ({
  offset,
  dims: dims.slice(-2),
  strides: strides.slice(-2),
})

const rowsOf = ({ view }: Ref): number => countOf(view.dims.slice(0, -1))

/** With one matrix for the whole batch, the rows of the batch become rows of a single product. */
function asRows(a: Ref, b: Ref, at: Ref): { a: Ref; b: Ref; at: Ref } | undefined {
  if (a.view.dims.length === 2 || !isOneMatrix(b)) return undefined
  const k = a.view.dims.at(-1)!
  const n = b.view.dims.at(-1)!
  const m = rowsOf(a)
  const views = [reshaped(a.view, [m, k]), reshaped(at.view, [m, n])]
  const [rows, to] = views
  if (rows === undefined || to === undefined) return undefined
  return { a: { ...a, view: rows }, b: { ...b, view: matrixOf(b.view) }, at: { ...at, view: to } }
}

/** alpha A B + beta C. */
const gemm: Handler = (lowering, node) => {
  if (multiplyCodes(lowering, node)) return
  const [left, right] = node.inputs.slice(0, 2).map((name) => lowering.values.ref(node, name)) as [Ref, Ref]
  if (left.value.kind !== 'f32') throw unclaimed(node, 'integer products are not compiled')
  const transposedIf = (ref: Ref, is: boolean): Ref =>
    is ? { ...ref, view: transposed(ref.view, [1, 0]) } : ref
  const a = transposedIf(left, flagOf(node, 'transA'))
  const b = transposedIf(right, flagOf(node, 'transB'))
  const alpha = floatOf(node, 'alpha', 1)
  const beta = floatOf(node, 'beta', 1)
  const third = node.inputs[2] ?? ''
  const isPlain = alpha === 1 && third === ''
  const dims = lowering.values.dims(node, node.outputs[0]!)
  const made = product(lowering, node, isPlain ? node.outputs[0]! : '', { a, b, dims })
  const scaled = (tree: Tree, by: number): Tree => (by === 1 ? tree : mul(tree, number(by)))
  if (isPlain) {
    lowering.values.name(node.outputs[0]!, made)
    return
  }
  const args = [made]
  const tree = scaled(arg(0), alpha)
  const whole = third === '' ? tree : add(tree, scaled(operand(lowering, node, third, args), beta))
  lowering.values.name(node.outputs[0]!, map(lowering, node, args, whole, node.outputs[0]!))
}

/** A product of matrices, either of which may be transposed, times a number. */
const fusedMatMul: Handler = (lowering, node) => {
  const sides = ['A', 'B'].map((side, index): Ref => {
    if (flagOf(node, `transBatch${side}`)) throw unclaimed(node, 'it transposes its batch axes')
    const ref = lowering.values.ref(node, node.inputs[index]!)
    const axes = [...dimsOf(ref).keys()]
    const isTransposed = flagOf(node, `trans${side}`) && axes.length > 1
    return isTransposed
      ? { ...ref, view: transposed(ref.view, [...axes.slice(0, -2), ...axes.slice(-2).reverse()]) }
      : ref
  }) as [Ref, Ref]
  const made = productOf(lowering, node, ...sides)
  const [name = ''] = node.outputs
  const alpha = floatOf(node, 'alpha', 1)
  lowering.values.name(
    name,
    alpha === 1 ? made : map(lowering, node, [made], mul(arg(0), number(alpha)), name),
  )
}

export const PRODUCT_HANDLERS = {
  MatMul: matMul,
  Gemm: gemm,
  'com.microsoft:FusedMatMul': fusedMatMul,
} satisfies SomeHandlers
