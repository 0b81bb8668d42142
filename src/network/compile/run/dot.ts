// Finds out how this machine multiplies 8-bit codes. The second operand of the relaxed dot product is i7;
// what happens to numbers that need the eighth bit depends on the machine's instruction: they may be
// unsigned, signed, or such that sums of two products are cut off. Of a signed one, sums of two products may
// still overflow 16 bits, in V8's first tier on arm64, if both products are -128 * -128; such filters are
// multiplied in pairs (`code-panels.ts`).

import { type Dot, VECTOR } from '../emit/kernel.ts'
import { FunctionBody, moduleBytes } from '../wasm/assembler.ts'

/** Numbers with which the three behaviours differ: [first, second] of each product, as bytes. */
const CASES = [
  [127, 255],
  [128, 255],
  [127, 128],
  [129, 200],
  [1, 129],
] as const
/** Added to each sum, because an implementation may forget it. */
const START = 1_000_003

const signed = (byte: number): number => (byte << 24) >> 24

/** Throws if relaxed SIMD does not exist. */
export function dotOf(): Dot {
  const memory = new WebAssembly.Memory({ initial: 1 })
  const code = new FunctionBody(1)
  const at = code.parameter(0)
  code.get(at)
  for (const vector of [0, 1, 2]) code.get(at).memory('v128.load', VECTOR * vector)
  code.vector('i32x4.relaxed_dot_i8x16_i7x16_add_s').memory('v128.store', 3 * VECTOR)
  const bytes = moduleBytes([code.encoded()], { parameters: 1 })
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } })
  const run = exports['f0'] as (at: number) => void
  const sumsOf = (): number[] =>
    CASES.map(([first, second]) => {
      new Uint8Array(memory.buffer, 0, VECTOR).fill(first)
      new Uint8Array(memory.buffer, VECTOR, VECTOR).fill(second)
      new Int32Array(memory.buffer, 2 * VECTOR, 4).fill(START)
      run(0)
      return new Int32Array(memory.buffer, 3 * VECTOR, 1)[0]!
    })
  const sums = `${sumsOf()}`
  const wanted = (read: (byte: number) => number) =>
    `${CASES.map(([first, second]) => START + 4 * signed(first) * read(second))}`
  if (sums === wanted((byte) => byte)) return 'unsigned'
  return sums === wanted(signed) ? 'signed' : 'pairs'
}
