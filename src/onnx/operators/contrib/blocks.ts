// Weights in blocks. In: types of packed integers, scales and zero points of blocks. Out: types of products
// with them, of rows of them.
import { intOf } from '../../ir/attributes.ts'
import { axisOf } from '../../ir/broadcast.ts'
import { type Dim, multiplyDims } from '../../ir/dims.ts'
import type { Node, Type } from '../../ir/graph.ts'
import { type Inference, type Operator, unclaimed, unfit } from '../../ir/operator.ts'
import { FLOATS, type Tensor } from '../../ir/tensor.ts'
import { defineContrib } from '../define.ts'

const BITS = [2, 4, 8]

interface Form {
  readonly n: number
  readonly k: number
  readonly bits: number
  readonly block: number
}

export function formOf(node: Node): Form {
  const [n, k] = [intOf(node, 'N', 0), intOf(node, 'K', 0)]
  const [bits, block] = [intOf(node, 'bits', 4), intOf(node, 'block_size', 0)]
  if (n < 1 || k < 1 || block < 16 || (block & (block - 1)) !== 0)
    throw unfit(node, `it has N ${n}, K ${k} and blocks of ${block}`)
  if (!BITS.includes(bits)) throw unclaimed(node, `its weights have ${bits} bits`)
  if (intOf(node, 'weight_prepacked', 0) !== 0)
    throw unclaimed(node, 'its weights are packed for one machine')
  return { n, k, bits, block }
}

/** A times the transpose of B, whose rows are blocks of packed integers. */
export const matMulNBits: Operator = defineContrib({
  name: 'MatMulNBits',
  inputs: [3, 6],
  attributes: {
    ...{ K: 'int', N: 'int', accuracy_level: 'int', bits: 'int', block_size: 'int', weight_prepacked: 'int' },
  },
  dtypes: [FLOATS, ['u8'], FLOATS, ['u8', ...FLOATS], ['i32'], FLOATS],
  mapping: 'many-to-many',
  layout: 'ILD variable',
  infer({ node, inputs: [a] }) {
    const { n } = formOf(node)
    return [a && { dtype: a.dtype, dims: a.dims && [...a.dims.slice(0, -1), n] }]
  },
})

/** Rows of quantised weights as floats. Bytes hold two integers of four bits, or one of eight. */
export const gatherBlockQuantized: Operator = defineContrib({
  name: 'GatherBlockQuantized',
  inputs: [3, 4],
  attributes: { bits: 'int', block_size: 'int', gather_axis: 'int', quantize_axis: 'int' },
  dtypes: [['u8', 'i4', 'u4'], ['i32', 'i64'], FLOATS, ['u8', 'i4', 'u4']],
  mapping: 'shuffle',
  layout: 'ILD fixed',
  infer: (context) => [inferGather(context)],
})

/** Integers in each element of the data. */
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

export const BLOCKS: readonly Operator[] = [matMulNBits, gatherBlockQuantized]
