// ONNX Runtime's products: integers times scales, and products with transposed operands.

import { axisOf } from '../../ir/broadcast.ts'
import { type Dim, multiplyDims } from '../../ir/dims.ts'
import type { Node, Type } from '../../ir/graph.ts'
import {
  defineContrib,
  flagOf,
  type Inference,
  intOf,
  type Operator,
  unclaimed,
  unfit,
} from '../../ir/operator.ts'
import { FLOATS, type Tensor } from '../../ir/tensor.ts'
import { inferProduct } from '../products.ts'

const BITS = [2, 4, 8]

interface Form {
  readonly n: number
  readonly k: number
  readonly bits: number
  readonly block: number
}

export function formOf(node: Node): Form {
  const n = intOf(node, 'N', 0)
  const k = intOf(node, 'K', 0)
  const bits = intOf(node, 'bits', 4)
  const block = intOf(node, 'block_size', 0)
  if (n < 1 || k < 1 || block < 16 || (block & (block - 1)) !== 0)
    throw unfit(node, `it has N ${n}, K ${k} and a block size of ${block}`)
  if (!BITS.includes(bits)) throw unclaimed(node, `its weights have ${bits} bits`)
  if (intOf(node, 'weight_prepacked', 0) !== 0)
    throw unclaimed(node, 'its weights are packed for a specific machine')
  return { n, k, bits, block }
}

/** A times the transpose of B, whose rows are blocks of packed integers. */
export const matMulNBits: Operator = defineContrib({
  name: 'MatMulNBits',
  inputs: [3, 6],
  attributes: {
    K: 'int',
    N: 'int',
    accuracy_level: 'int',
    bits: 'int',
    block_size: 'int',
    weight_prepacked: 'int',
  },
  dtypes: [FLOATS, ['u8'], FLOATS, ['u8', ...FLOATS], ['i32'], FLOATS],
  infer({ node, inputs: [a] }) {
    const { n } = formOf(node)
    return [a && { dtype: a.dtype, dims: a.dims && [...a.dims.slice(0, -1), n] }]
  },
})

const FP4 = [0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4]
/** The values that the codes of MatMulBnb4 represent. */
export const LEVELS = {
  FP4: [...FP4, ...FP4.map((level) => -level)],
  NF4: [
    -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
    -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
    0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1,
  ],
} as const

/** A times the transpose of B, whose 4-bit codes are indices of levels. */
const matMulBnb4: Operator = defineContrib({
  name: 'MatMulBnb4',
  inputs: [3, 3],
  attributes: {
    K: 'int',
    N: 'int',
    block_size: 'int',
    quant_type: 'int',
    training_mode: 'int',
    transB: 'int',
  },
  dtypes: [FLOATS, ['u8'], FLOATS],
  infer({ node, inputs: [a] }) {
    const { n } = levelForm(node)
    return [a && { dtype: a.dtype, dims: a.dims && [...a.dims.slice(0, -1), n] }]
  },
})

export function levelForm(node: Node) {
  const n = intOf(node, 'N', 0)
  const k = intOf(node, 'K', 0)
  const block = intOf(node, 'block_size', 0)
  const kind = (['FP4', 'NF4'] as const)[intOf(node, 'quant_type', 0)]
  if (n < 1 || k < 1 || block < 1) throw unfit(node, `it has N ${n}, K ${k} and a block size of ${block}`)
  if (kind === undefined || intOf(node, 'transB', 1) !== 1)
    throw unclaimed(node, 'its codes are neither FP4 nor NF4, or its matrix is not transposed')
  return { n, k, block, kind }
}

/** Rows of quantised weights as floats. A byte holds two 4-bit integers or one 8-bit integer. */
const gatherBlockQuantized: Operator = defineContrib({
  name: 'GatherBlockQuantized',
  inputs: [3, 4],
  attributes: { bits: 'int', block_size: 'int', gather_axis: 'int', quantize_axis: 'int' },
  dtypes: [['u8', 'i4', 'u4'], ['i32', 'i64'], FLOATS, ['u8', 'i4', 'u4']],
  infer: (context) => [inferGather(context)],
})

/** Integers per element of the data. */
export function perElement(node: Node, dtype: Tensor['dtype']): number {
  const bits = intOf(node, 'bits', 4)
  if (bits !== 4 && bits !== 8) throw unclaimed(node, `its weights have ${bits} bits`)
  return dtype === 'u8' ? 8 / bits : 1
}

function inferGather({ node, inputs: [data, indices, scales] }: Inference): Type | undefined {
  if (scales === undefined) return undefined
  if (data?.dims === undefined || indices?.dims === undefined) return { dtype: scales.dtype }
  const axis = axisOf(node, intOf(node, 'gather_axis', 0), data.dims.length)
  const whole = data.dims.with(-1, multiplyDims(data.dims.at(-1)!, perElement(node, data.dtype)))
  return { dtype: scales.dtype, dims: gatheredDims(whole, indices.dims, axis) }
}

export const gatheredDims = <D extends Dim>(data: readonly D[], indices: readonly D[], axis: number): D[] => [
  ...data.slice(0, axis),
  ...indices,
  ...data.slice(axis + 1),
]

export const BLOCKS: readonly Operator[] = [matMulNBits, matMulBnb4, gatherBlockQuantized]

const BYTES = ['i8', 'u8'] as const

/** A has a single scale and zero point. */
const dynamicQuantizeMatMul: Operator = defineContrib({
  name: 'DynamicQuantizeMatMul',
  inputs: [3, 5],
  dtypes: [['f32'], BYTES, ['f32'], BYTES, ['f32']],
  infer: ({ node, inputs: [a, b] }) => [inferProduct(node, a, b, 'f32')],
})

const matMulIntegerToFloat: Operator = defineContrib({
  name: 'MatMulIntegerToFloat',
  inputs: [4, 7],
  dtypes: [BYTES, BYTES, ['f32'], ['f32'], BYTES, BYTES, ['f32']],
  infer: ({ node, inputs: [a, b] }) => [inferProduct(node, a, b, 'f32')],
})

const fusedMatMul: Operator = defineContrib({
  name: 'FusedMatMul',
  inputs: [2, 2],
  attributes: { alpha: 'float', transA: 'int', transB: 'int', transBatchA: 'int', transBatchB: 'int' },
  dtypes: [FLOATS],
  infer: ({ node, inputs: [a, b] }) => [
    inferProduct(
      node,
      typeTransposed(a, transposes(node, 'A')),
      typeTransposed(b, transposes(node, 'B')),
      a?.dtype,
    ),
  ],
})

export function transposes(node: Node, side: 'A' | 'B'): boolean {
  if (flagOf(node, `transBatch${side}`)) throw unclaimed(node, 'it transposes its batch axes')
  return flagOf(node, `trans${side}`)
}

/** Swaps the last two axes. A vector is unchanged. */
export const dimsTransposed = <D extends Dim>(dims: readonly D[]): D[] => [
  ...dims.slice(0, -2),
  ...dims.slice(-2).toReversed(),
]

const typeTransposed = (type: Type | undefined, isTransposed: boolean): Type | undefined =>
  isTransposed && type?.dims ? { dtype: type.dtype, dims: dimsTransposed(type.dims) } : type

export const CONTRIB_PRODUCTS: readonly Operator[] = [
  dynamicQuantizeMatMul,
  matMulIntegerToFloat,
  fusedMatMul,
]
