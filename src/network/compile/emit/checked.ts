// Instructions on i32 that replace those on i64: each flags the lanes whose result is not an i32.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import type { VectorName } from '../wasm/opcodes.ts'
import { divideWhole } from './math.ts'

/**
 * Takes vectors from the stack, leaves the result there, and sets bits in the lanes of `left` that overflowed
 * i32.
 */
type CheckedInline = (code: FunctionBody, left: Local) => void

const LEAST = -(2 ** 31)

const note = (code: FunctionBody, left: Local): void => {
  code.get(left).vector('v128.or').set(left)
}

/** Moves both vectors from the stack into locals. */
function operands(code: FunctionBody): readonly [a: Local, b: Local] {
  const a = code.local('v128')
  const b = code.local('v128')
  code.set(b).set(a)
  return [a, b]
}

/**
 * A sum overflowed if its sign differs from the signs of both operands. A difference overflowed if its sign
 * differs from the sign of a, and that from the sign of b.
 */
function sum(name: 'i32x4.add' | 'i32x4.sub'): CheckedInline {
  return (code, left) => {
    const [a, b] = operands(code)
    const made = code.local('v128')
    code.get(a).get(b).vector(name).set(made)
    code.get(a).get(made).vector('v128.xor')
    code
      .get(name === 'i32x4.add' ? made : a)
      .get(b)
      .vector('v128.xor')
    code.vector('v128.and').number(31).vector('i32x4.shr_s')
    note(code, left)
    code.get(made)
  }
}

/** A product overflowed if its upper half is not the sign extension of its lower half. */
const product: CheckedInline = (code, left) => {
  const [a, b] = operands(code)
  const half = (name: VectorName): Local => {
    const made = code.local('v128')
    code.get(a).get(b).vector(name).set(made)
    return made
  }
  const low = half('i64x2.extmul_low_i32x4_s')
  const high = half('i64x2.extmul_high_i32x4_s')
  const made = code.local('v128')
  code.get(low).get(high).shuffle([0, 2, 4, 6]).tee(made)
  code.number(31).vector('i32x4.shr_s')
  code.get(low).get(high).shuffle([1, 3, 5, 7]).vector('v128.xor')
  note(code, left)
  code.get(made)
}

/** The smallest i32 has no positive counterpart. */
function positive(name: 'i32x4.neg' | 'i32x4.abs'): CheckedInline {
  return (code, left) => {
    const x = code.local('v128')
    code.tee(x).integers(LEAST).vector('i32x4.eq')
    note(code, left)
    code.get(x).vector(name)
  }
}

/** Only -2^31 divided by -1 overflows. */
const quotient: CheckedInline = (code, left) => {
  const [a, b] = operands(code)
  code.get(a).integers(LEAST).vector('i32x4.eq')
  code.get(b).integers(-1).vector('i32x4.eq').vector('v128.and')
  note(code, left)
  code.get(a).get(b)
  divideWhole(code, false)
}

/** NaN becomes 0; the standard leaves this open. */
const truncated: CheckedInline = (code, left) => {
  const x = code.local('v128')
  code.set(x)
  code
    .floats(2 ** 31)
    .get(x)
    .vector('f32x4.le')
  code.get(x).floats(LEAST).vector('f32x4.lt').vector('v128.or')
  note(code, left)
  code.get(x).vector('i32x4.trunc_sat_f32x4_s')
}

/** Keyed by the names of a tree's instructions. */
export const CHECKED = {
  'i.add checked': sum('i32x4.add'),
  'i.sub checked': sum('i32x4.sub'),
  'i.mul checked': product,
  'i.div checked': quotient,
  'i.neg checked': positive('i32x4.neg'),
  'i.abs checked': positive('i32x4.abs'),
  'to i32 checked': truncated,
} as const satisfies Readonly<Record<string, CheckedInline>>
