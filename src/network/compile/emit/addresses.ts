// Addresses of rows: bases plus coordinates times steps, read from a step's record.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import { type Kernel, RECORD, STREAM_WORDS, streamWord } from './kernel.ts'

/**
 * An address that depends on coordinates: the words of the record that hold its base and its steps, in bytes.
 */
export interface Address {
  readonly local: Local
  readonly word: number
  readonly steps: number
}

/** Where a stream's row begins. */
export const addressOf = (kernel: Pick<Kernel, 'outer'>, stream: number, local: Local): Address => ({
  local,
  word: streamWord(kernel, stream) + STREAM_WORDS.base,
  steps: streamWord(kernel, stream) + STREAM_WORDS.steps,
})

/** Sets addresses to their bases plus coordinates times steps. `index` counts through the outer axes. */
export function emitAddresses(
  code: FunctionBody,
  { outer }: Pick<Kernel, 'outer'>,
  record: Local,
  index: Local,
  addresses: readonly Address[],
): void {
  const rest = code.local('i32')
  const at = code.local('i32')
  for (const { local, word } of addresses)
    code
      .get(record)
      .load32(4 * word)
      .set(local)
  code.get(index).set(rest)
  for (let axis = outer - 1; axis >= 0; axis--) {
    if (axis === 0) code.get(rest).set(at)
    else {
      const size = () => code.get(record).load32(4 * (RECORD.outer + axis))
      code.get(rest)
      size().plain('i32.rem_u').set(at)
      code.get(rest)
      size().plain('i32.div_u').set(rest)
    }
    for (const { local, steps } of addresses) {
      code
        .get(local)
        .get(at)
        .get(record)
        .load32(4 * (steps + axis))
      code.plain('i32.mul').plain('i32.add').set(local)
    }
  }
}
