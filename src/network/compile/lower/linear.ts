// Products with constant matrices, computed by the engine's kernels: rows as 8-bit codes, matrices in 8 or 4
// bits.
import { roundUp } from '../../../core/abi/encodings.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import {
  type BlockCodes,
  type Codes,
  codedRowBytes,
  dimsOf,
  isConstant,
  type MatrixEncoding,
  type Ref,
  refTo,
} from '../loops/loops.ts'
import { sliced } from '../loops/view.ts'
import { copy } from './lowering/loops.ts'
import type { Lowering } from './lowering/lowering.ts'
import type { ProgramWeights } from './policy.ts'

/** Numbers that share a scale; kernels only process whole groups. */
const GROUP = 32
/** Smaller matrices are multiplied in f32, which needs no quantised rows. */
const MIN_ELEMENTS = 4096

/** The encoding of a matrix [k, n]; undefined if it is multiplied in f32. */
export function encodingOf({ value, view }: Ref, policy: ProgramWeights): MatrixEncoding | undefined {
  if (policy === 'f32' || policy === 'codes' || !isConstant(value)) return undefined
  // Kernels read codes in the order of the file.
  const codes = value.given.view === undefined ? value.given.codes : undefined
  if (view.dims.length !== 2 || view.dims[0]! % GROUP !== 0 || countOf(view.dims) < MIN_ELEMENTS)
    return undefined
  if (codes !== undefined) return isNibbles(codes) ? 'w4_g32' : 'w8_g32'
  if (policy === 'auto') return undefined
  return policy === 'w4' ? 'w4_g32' : 'w8_g32'
}

/** Whether the codes fit into 4 bits. Codes with zero points need 8 bits. */
const isNibbles = (codes: Codes | BlockCodes): boolean =>
  'block' in codes && codes.bits === 4 && codes.zeros === undefined && codes.block % GROUP === 0

/** [m, k] times a constant [k, n]. Rows are quantised once for all matrices that they are multiplied by. */
export function linear(lowering: Lowering, node: Node, a: Ref, matrix: Ref, encoding: MatrixEncoding): Ref {
  const [m, k] = dimsOf(a) as [number, number]
  const n = dimsOf(matrix)[1]!
  const rows = a.view.strides[1] === 1 ? a : copy(lowering, node, a)
  const x = lowering.once(`codes ${rows.value.id} ${JSON.stringify(rows.view)}`, () => {
    const out = lowering.values.make(node.name, 'i32', [m, codedRowBytes(k) / 4])
    lowering.add({ loop: 'quantize', node: node.name, mapping: 'many-to-many', out, args: [rows] })
    return refTo(out)
  })
  // Kernels write whole groups of columns.
  const out = lowering.values.make(node.name, 'f32', [m, roundUp(n, GROUP)])
  lowering.add({
    loop: 'linear',
    node: node.name,
    mapping: 'many-to-many',
    out,
    args: [x],
    m,
    matrix,
    encoding,
  })
  const made = refTo(out)
  return { ...made, view: sliced(made.view, 1, 0, n) }
}
