// Codes minus their zero points. Products multiply codes as they are stored. What zero points contribute to a
// sum is part of the matrix's layout if they are known, and is subtracted from the sums otherwise.
import type { Node } from '../../../onnx/ir/graph.ts'
import type { DType } from '../../../onnx/ir/tensor.ts'
import type { CodedForm, Ref } from '../../loops/loops.ts'
import { apply, arg, number, type Tree } from '../../loops/tree.ts'
import { reshape } from '../lowering/layouts.ts'
import { map, mapToBytes } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'

/** Codes with one zero point. */
export interface CodedInput {
  readonly codes: string
  /** As the file has it, or a scalar that the network computes. */
  readonly zero: number | Ref
}

/** The same as bytes in memory. */
export interface StoredInput {
  readonly codes: Ref
  /** The zero point of the codes as they are stored; a scalar, or one for each row of a matrix, [m, 1]. */
  readonly zero: number | Ref
}

/** Constant filters, or a matrix, with one zero point, or one for each filter or column. */
export interface CodedFilters {
  readonly codes: string
  readonly zero: readonly number[]
  /** Which matrix of several. Default: there is one. */
  readonly index?: number | undefined
}

/** The dtypes of codes that are multiplied as integers. */
export const CODE_DTYPES: readonly DType[] = ['u8', 'i8']

/** Sums have at most this many products, so that they fit into 31 bits. */
export const MAX_PRODUCTS = 2 ** 15

/** Added to codes of i8 when they are stored, so that none is negative. */
export const storedOffset = (dtype: DType): number => (dtype === 'i8' ? 128 : 0)

/** The codes as bytes, as they are stored. */
export function bytesOf(lowering: Lowering, node: Node, name: string): Ref {
  const ref = lowering.values.ref(node, name)
  if (ref.value.isByte === true) return ref
  const offset = storedOffset(lowering.values.dtype(node, name))
  return lowering.once(`bytes of ${name}`, () =>
    mapToBytes(lowering, node, [ref], apply('i.add', arg(0, 'i32'), number(offset, 'i32'))),
  )
}

/** The zero point of the codes as they are stored. */
export function storedZero(lowering: Lowering, node: Node, { codes, zero }: CodedInput): number | Ref {
  const offset = storedOffset(lowering.values.dtype(node, codes))
  if (typeof zero === 'number') return zero + offset
  if (offset === 0) return zero
  return lowering.once(`stored zero of ${codes}`, () =>
    map(lowering, node, [zero], apply('i.add', arg(0, 'i32'), number(offset, 'i32'))),
  )
}

/** A node's zero point: a number, a scalar, or 0 if it is absent. Undefined if it has several. */
export function zeroOf(lowering: Lowering, node: Node, index: number): number | Ref | undefined {
  const name = node.inputs[index] ?? ''
  if (name === '') return 0
  const known = lowering.values.known(name)
  if (known !== undefined) return known.data.length === 1 ? Number(known.data[0]) : undefined
  if (lowering.values.dims(node, name).some((size) => size !== 1)) return undefined
  return reshape(lowering, node, lowering.values.ref(node, name), [])
}

export const stored = (lowering: Lowering, node: Node, x: CodedInput): StoredInput => ({
  codes: bytesOf(lowering, node, x.codes),
  zero: storedZero(lowering, node, x),
})

/** Stored codes minus their zero point. */
export function centredCodes(lowering: Lowering, node: Node, codes: Ref, zero: number | Ref): Ref {
  const isNumber = typeof zero === 'number'
  const offset = isNumber ? number(zero, 'i32') : arg(1, 'i32')
  const args = isNumber ? [codes] : [codes, zero]
  return map(lowering, node, args, apply('i.sub', arg(0, 'i32'), offset))
}

/** How the sums of a product were made. */
interface Uncentred {
  readonly form: CodedForm
  readonly filters: CodedFilters
  readonly count: number
  /** The zero point of the stored codes, which broadcasts over the sums; a number is part of the layout. */
  readonly zero: number | Ref
  /** The dims of one number for each filter, so that they broadcast over the sums. */
  readonly own: readonly number[]
  /** The sum of the codes, minus their zero points, that each sum multiplies, with the dims of the sums. */
  readonly inputs: () => Ref
}

/** The code of a filter that counts as 0 in its layout. */
const middleOf = ({ values }: Lowering, node: Node, name: string): number =>
  values.dtype(node, name) === 'u8' ? 128 : 0

/**
 * The sums of products of codes minus their zero points, exact although each part of them may leave 32 bits,
 * because all of them together do not.
 */
export function centredSums(lowering: Lowering, node: Node, sums: Ref, made: Uncentred): Ref {
  const { form, filters, count, zero, own } = made
  const args = [sums]
  let tree = arg(0, 'i32')
  const next = (ref: Ref): Tree => arg(args.push(ref) - 1, 'i32')
  if (typeof zero !== 'number') {
    const place = { form, index: filters.index }
    const columns = lowering.once(`sums of ${filters.codes} ${JSON.stringify(place)}`, () =>
      lowering.values.summed(node, filters.codes, place, count),
    )
    const share = apply('i.mul', next(zero), next(reshape(lowering, node, columns, own)))
    tree = apply('i.sub', tree, share)
  }
  const shares = filters.zero.map((each) => middleOf(lowering, node, filters.codes) - each)
  if (shares.some((share) => share !== 0)) {
    const dims = shares.length === 1 ? [] : own
    const table = lowering.once(`shares ${dims} ${shares}`, () =>
      lowering.values.table('i32', dims, (at) => shares[at]!),
    )
    tree = apply('i.add', tree, apply('i.mul', next(table), next(made.inputs())))
  }
  return args.length === 1 ? sums : map(lowering, node, args, tree)
}
