// Emits a kernel as a function of a record's address and a range of rows, or of a product's panels.
import { FunctionBody, type Local } from '../wasm/assembler.ts'
import { addressOf, emitAddresses } from './addresses.ts'
import { isTurning, type Kernel, QUAD_ROWS, RECORD, STREAM_WORDS, streamWord, type Target } from './kernel.ts'
import { emitProduct } from './product.ts'
import { QuadEmitter } from './quad-emitter.ts'
import { RowEmitter } from './row-emitter.ts'
import { emitSelection } from './selection.ts'

/** The parameters of every function: the record, the start of the range, and its end (exclusive). */
export const PARAMETERS = 3

/** The encoded function. */
export function emitKernel(kernel: Kernel, target: Target): Uint8Array {
  const code = new FunctionBody(PARAMETERS)
  if (kernel.product !== undefined) emitProduct(code, kernel, kernel.product, target)
  else if (kernel.selection !== undefined) emitSelection(code, kernel, kernel.selection)
  else emitRows(code, kernel, target.fuse)
  return code.encoded()
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
  // Rows along the last outer axis follow each other by a step; only the first one's address is computed.
  const starts = kernel.streams.map(() => code.local('i32'))
  const end = code.local('i32')
  const advance = (by: number): void => {
    code.increase(row, by)
    if (kernel.outer === 0) return
    for (const [stream, local] of starts.entries()) {
      const step = streamWord(kernel, stream) + STREAM_WORDS.steps + kernel.outer - 1
      code
        .get(local)
        .get(record)
        .load32(4 * step)
      code.number(by).plain('i32.mul').plain('i32.add').set(local)
    }
  }
  const quads = isTurning(kernel) ? new QuadEmitter(code, kernel, record, rows) : undefined
  const lastQuad = code.local('i32')
  code.whileLess(row, last, () => {
    emitAddresses(
      code,
      kernel,
      record,
      row,
      starts.map((local, stream) => addressOf(kernel, stream, local)),
    )
    endOfRun(code, kernel, { record, row, last, end })
    if (quads !== undefined) {
      code
        .get(end)
        .number(QUAD_ROWS - 1)
        .plain('i32.sub')
        .set(lastQuad)
      code.whileLess(row, lastQuad, () => {
        quads.emit(starts, bytes)
        advance(QUAD_ROWS)
      })
    }
    code.whileLess(row, end, () => {
      for (const [stream, local] of starts.entries()) code.get(local).set(rows.row(stream))
      rows.emitRow(bytes)
      advance(1)
    })
  })
}

/** Sets `end` to the end of the last outer axis after `row`, but at most to the end of the range. */
function endOfRun(
  code: FunctionBody,
  { outer }: Kernel,
  { record, row, last, end }: Readonly<Record<'record' | 'row' | 'last' | 'end', Local>>,
): void {
  code.get(last).set(end)
  if (outer < 2) return
  const size = () => code.get(record).load32(4 * (RECORD.outer + outer - 1))
  const next = code.local('i32')
  code.get(row)
  size().plain('i32.add').get(row)
  size().plain('i32.rem_u').plain('i32.sub').tee(next).get(last).plain('i32.lt_s')
  code.when(() => code.get(next).set(end))
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
