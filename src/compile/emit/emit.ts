// Emits a kernel as a function of the address of a record and a range: of rows, or of panels of a product.
import { FunctionBody, type Local } from '../wasm/assembler.ts'
import { emitAddresses } from './addresses.ts'
import { type Kernel, RECORD, STREAM_WORDS, streamWord } from './kernel.ts'
import { emitProduct } from './product.ts'
import { RowEmitter } from './row-emitter.ts'

/** Parameters of every function: the record, the first of the range, and the first after it. */
export const PARAMETERS = 3

/** `fuse`: with fused multiply-add, an instruction of relaxed SIMD. */
export function emitKernel(kernel: Kernel, fuse: boolean): FunctionBody {
  const code = new FunctionBody(PARAMETERS)
  if (kernel.product !== undefined) emitProduct(code, kernel, kernel.product, fuse)
  else emitRows(code, kernel, fuse)
  return code
}

function emitRows(code: FunctionBody, kernel: Kernel, fuse: boolean): void {
  const [record, row, last] = [0, 1, 2].map((index) => code.parameter(index)) as [Local, Local, Local]
  const rows = new RowEmitter(code, kernel, record, fuse)
  const bytes = code.local('i32')
  code
    .get(record)
    .load32(4 * RECORD.inner)
    .number(2)
    .plain('i32.shl')
    .set(bytes)
  code.whileLess(row, last, () => {
    emitAddresses(
      code,
      kernel,
      record,
      row,
      kernel.streams.map((_, stream) => ({
        local: rows.row(stream),
        word: streamWord(kernel, stream) + STREAM_WORDS.base,
        steps: streamWord(kernel, stream) + STREAM_WORDS.steps,
      })),
    )
    rows.emitRow(bytes)
    code.increase(row, 1)
  })
}
