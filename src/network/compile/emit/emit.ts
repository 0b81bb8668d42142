// Emits a kernel as a function of a record's address and a range of rows, or of a product's panels.
import { FunctionBody, type Local } from '../wasm/assembler.ts'
import { addressOf, emitAddresses } from './addresses.ts'
import { type Kernel, RECORD } from './kernel.ts'
import { emitProduct } from './product.ts'
import { RowEmitter } from './row-emitter.ts'
import { emitSelection } from './selection.ts'

/** The parameters of every function: the record, the start of the range, and its end (exclusive). */
export const PARAMETERS = 3

/** `fuse`: whether to use fused multiply-add, an instruction of relaxed SIMD. */
export function emitKernel(kernel: Kernel, fuse: boolean): FunctionBody {
  const code = new FunctionBody(PARAMETERS)
  if (kernel.product !== undefined) emitProduct(code, kernel, kernel.product, fuse)
  else if (kernel.selection !== undefined) emitSelection(code, kernel, kernel.selection)
  else emitRows(code, kernel, fuse)
  return code
}

function emitRows(code: FunctionBody, kernel: Kernel, fuse: boolean): void {
  const record = code.parameter(0)
  const row = code.parameter(1)
  const last = code.parameter(2)
  const rows = new RowEmitter(code, kernel, record, fuse)
  const bytes = code.local('i32')
  code
    .get(record)
    .load32(4 * RECORD.inner)
    .number(2)
    .plain('i32.shl')
    .set(bytes)
  if (kernel.isOrdered) takeAll(code, kernel, record, last)
  code.whileLess(row, last, () => {
    emitAddresses(
      code,
      kernel,
      record,
      row,
      kernel.streams.map((_, stream) => addressOf(kernel, stream, rows.row(stream))),
    )
    rows.emitRow(bytes)
    code.increase(row, 1)
  })
}

/** Extends the range, which begins at 0, to all rows. */
function takeAll(code: FunctionBody, { outer }: Kernel, record: Local, last: Local): void {
  code.number(1).set(last)
  for (let axis = 0; axis < outer; axis++)
    code
      .get(last)
      .get(record)
      .load32(4 * (RECORD.outer + axis))
      .plain('i32.mul')
      .set(last)
}
