// Products of 8-bit codes with a constant matrix of 8-bit codes: sums of integers, which are exact.
import type { Node } from '../../../onnx/ir/graph.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import { STEP_CODES } from '../../emit/kernel.ts'
import {
  type CodedForm,
  type CodedPlace,
  type CodeMatrix,
  dimsOf,
  type Ref,
  refTo,
} from '../../loops/loops.ts'
import { whole } from '../../loops/view.ts'
import { padded, reshape } from '../lowering/layouts.ts'
import { moved } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { reduce } from '../lowering/sums.ts'
import {
  CODE_DTYPES,
  type CodedFilters,
  centredCodes,
  centredSums,
  MAX_PRODUCTS,
  type StoredInput,
} from './zero-points.ts'

interface MatrixSizes {
  /** Rows of all batches. */
  readonly m: number
  readonly k: number
  readonly n: number
}

/**
 * The sizes of a product of codes, whose dims `rows` are [..., m, k], with the constant codes `b`: a matrix
 * [k, n], perhaps one of several, or filters [n, k]. Undefined if it is not computed in codes.
 */
export function matrixSizes(
  { values, graph }: Lowering,
  node: Node,
  rows: readonly number[],
  b: string,
  { form, index }: CodedPlace = { form: 'matrix' },
): MatrixSizes | undefined {
  if (!graph.constants.has(b) || !CODE_DTYPES.includes(values.dtype(node, b))) return undefined
  const [first = 0, second = 0, ...others] = values.dims(node, b).slice(index === undefined ? 0 : 1)
  const [k, n] = form === 'matrix' ? [first, second] : [second, first]
  const m = countOf(rows.slice(0, -1))
  const isFit = others.length === 0 && rows.at(-1) === k && k <= MAX_PRODUCTS && m * k * n > 0
  return isFit ? { m, k, n } : undefined
}

/** A constant of codes, and the bias of each column, only if the other side's zero point is known. */
interface CodedConstant {
  readonly form: CodedForm
  readonly filters: CodedFilters
  readonly bias?: CodeMatrix['bias']
}

/** The sums, i32 [..., m, n]. Undefined if they are not computed in codes. */
export function matrixSums(
  lowering: Lowering,
  node: Node,
  x: StoredInput,
  { form, filters, bias }: CodedConstant,
): Ref | undefined {
  const { index } = filters
  const sizes = matrixSizes(lowering, node, dimsOf(x.codes), filters.codes, { form, index })
  if (sizes === undefined) return undefined
  const { m, k, n } = sizes
  if (filters.zero.length !== 1 && filters.zero.length !== n) return undefined
  const { values } = lowering
  const { zero } = x
  const rows = reshape(lowering, node, x.codes, [m, k])
  const more = (STEP_CODES - (k % STEP_CODES)) % STEP_CODES
  const stepped = lowering.once(`whole steps of ${rows.value.id} ${JSON.stringify(rows.view)}`, () => {
    const around = [[0, 0] as const, [0, more] as const]
    if (more > 0) return padded(lowering, node, rows, around, zero)
    return rows.view.strides[1] === 1 ? rows : moved(lowering, node, rows)
  })
  const coded = lowering.once(`codes ${filters.codes}`, () => values.coded(node, filters.codes))
  const out = values.make(node.name, 'i32', [m, n])
  const view = { offset: 0, dims: [k + more, n], strides: [0, 0] }
  lowering.add({
    loop: 'product',
    node: node.name,
    mapping: 'many-to-many',
    out,
    args: [stepped, { ...coded, view }],
    at: whole(out.dims),
    codes: {
      form,
      index,
      zero: typeof zero === 'number' ? zero : 0,
      bias,
      group: 1,
      order: [0],
      channels: k + more,
    },
  })
  const inputs = () => rowSums(lowering, node, rows, zero)
  const made = centredSums(lowering, node, refTo(out), { form, filters, count: n, zero, own: [n], inputs })
  return reshape(lowering, node, made, [...dimsOf(x.codes).slice(0, -1), n])
}

/** The sum of the codes in each row minus their zero points, [m, 1]. */
function rowSums(lowering: Lowering, node: Node, rows: Ref, zero: number | Ref): Ref {
  const centred = centredCodes(lowering, node, rows, zero)
  return reshape(lowering, node, reduce(lowering, node, centred, [1], 'sum'), [rows.view.dims[0]!, 1])
}
