// Functions of f32 vectors as instructions: exp, log, tanh, erf, sin, cos, pow, and division of whole
// numbers.
//
// Errors, which a test measures: exp 1.2e-7 relative, from e^-87 to e^88, where it is limited; log 1.5e-7
// relative or absolute, whichever is larger; tanh and erf 2.5e-7 absolute; sin and cos 2e-7 absolute up to
// 8192; pow as exp of y log x.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import type { VectorName } from '../wasm/opcodes.ts'

/** Takes a vector from the stack, and leaves the result there. */
export type Inline = (code: FunctionBody, fuse: boolean) => void

/** Adding and subtracting 1.5 * 2^23 rounds to the nearest whole number, which is then in the low bits. */
const ROUNDER = 12582912
/** ln 2 in two parts; a whole number times the first is exact. */
const LN2_HIGH = 0.693359375
const LN2_LOW = -2.1219444e-4
const EXP_TERMS = [
  1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 0.16666665459, 0.50000001201,
]

/** A fit of -ln(erfc(x)) / x on [0, 4.1] by least squares at Chebyshev's points. */
const ERFC_TERMS = [
  4.870069574280933e-7, -1.0750638466561213e-5, 0.00010156383359571919, -0.0005203750915825367,
  0.0013704976299777627, 0.00023766713275108486, -0.019433507695794106, 0.10287318378686905,
  0.6366071701049805, 1.128379464149475,
]
const ERF_ONE = 4.1
/** A fit of (ln(m) / s - 2) / s^2 over s^2, where s = (m - 1) / (m + 1), for m around 1. */
const LOG_TERMS = [0.23259232938289642, 0.2855353057384491, 0.4000009596347809, 0.6666666865348816]
const SIN_TERMS = [-1.9515295891e-4, 8.3321608736e-3, -0.16666654611]
const COS_TERMS = [2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2]
/** pi / 2 in three parts of few bits. */
const HALF_PI = [1.5703125, 4.837512969970703e-4, 7.549789948768648e-8]

const chain = (code: FunctionBody, ...names: readonly VectorName[]): void => {
  for (const name of names) code.vector(name)
}

/** The stack has a and b: a * b + c. */
function multiplyAdd(code: FunctionBody, fuse: boolean, c: () => void): void {
  if (fuse) {
    c()
    code.vector('f32x4.relaxed_madd')
  } else {
    code.vector('f32x4.mul')
    c()
    code.vector('f32x4.add')
  }
}

/** Leaves the polynomial of x, the highest term first. */
function polynomial(code: FunctionBody, fuse: boolean, x: Local, terms: readonly number[]): void {
  code.floats(terms[0]!)
  for (const term of terms.slice(1)) {
    code.get(x)
    multiplyAdd(code, fuse, () => code.floats(term))
  }
}

export const exp: Inline = (code, fuse) => {
  const t = code.local('v128')
  const n = code.local('v128')
  const r = code.local('v128')
  code.floats(-87).vector('f32x4.pmax').floats(88).vector('f32x4.pmin').tee(r)
  code.floats(Math.LOG2E).vector('f32x4.mul').floats(ROUNDER).vector('f32x4.add').tee(t)
  code.floats(ROUNDER).vector('f32x4.sub').set(n)
  code.get(r).get(n).floats(LN2_HIGH).vector('f32x4.mul').vector('f32x4.sub')
  code.get(n).floats(LN2_LOW).vector('f32x4.mul').vector('f32x4.sub').set(r)
  polynomial(code, fuse, r, EXP_TERMS)
  code.get(r).get(r).vector('f32x4.mul')
  multiplyAdd(code, fuse, () => code.get(r))
  code.floats(1).vector('f32x4.add').get(t).number(23)
  chain(code, 'i32x4.shl', 'i32x4.add')
}

/** 1 - 2 / (e^2x + 1) */
const tanh: Inline = (code, fuse) => {
  const x = code.local('v128')
  code.floats(2).vector('f32x4.mul')
  exp(code, fuse)
  code.floats(1).vector('f32x4.add').set(x)
  code.floats(1).floats(2).get(x)
  chain(code, 'f32x4.div', 'f32x4.sub')
}

/** The sign of x on 1 - e^(-|x| p(|x|)). */
const erf: Inline = (code, fuse) => {
  const x = code.local('v128')
  const size = code.local('v128')
  code.tee(x).vector('f32x4.abs').floats(ERF_ONE).vector('f32x4.min').set(size)
  code.floats(1)
  polynomial(code, fuse, size, ERFC_TERMS)
  code.get(size).vector('f32x4.mul').vector('f32x4.neg')
  exp(code, fuse)
  code.vector('f32x4.sub').get(x).integers(-0x80000000)
  chain(code, 'v128.and', 'v128.or')
}

/** x = 2^e m; ln x = e ln 2 + 2s + s^3 q(s^2), s = (m - 1) / (m + 1). */
const log: Inline = (code, fuse) => {
  const x = code.local('v128')
  const e = code.local('v128')
  const s = code.local('v128')
  const w = code.local('v128')
  // Numbers below 2^-126 are scaled into the range of normal ones.
  const tiny = code.local('v128')
  code
    .tee(x)
    .floats(2 ** -126)
    .vector('f32x4.lt')
    .set(tiny)
  code
    .get(x)
    .floats(2 ** 24)
    .vector('f32x4.mul')
    .get(x)
    .get(tiny)
    .vector('v128.bitselect')
    .set(w)
  // The exponent of the power of two for which m lies between sqrt(1/2) and sqrt(2).
  code.get(w).integers(0x3f3504f3).vector('i32x4.sub').number(23).vector('i32x4.shr_s').set(e)
  code.get(w).get(e).number(23)
  chain(code, 'i32x4.shl', 'i32x4.sub')
  code.set(w)
  code.get(w).floats(1).vector('f32x4.sub').get(w).floats(1)
  chain(code, 'f32x4.add', 'f32x4.div')
  code.set(s)
  code.get(e).get(tiny).integers(24)
  chain(code, 'v128.and', 'i32x4.sub', 'f32x4.convert_i32x4_s')
  code.set(e)
  code.get(s).get(s).vector('f32x4.mul').set(w)
  polynomial(code, fuse, w, LOG_TERMS)
  code.get(w).vector('f32x4.mul').floats(2).vector('f32x4.add').get(s).vector('f32x4.mul')
  code.get(e).floats(LN2_LOW)
  chain(code, 'f32x4.mul', 'f32x4.add')
  code.get(e).floats(LN2_HIGH)
  chain(code, 'f32x4.mul', 'f32x4.add')
  // 0, infinity, negative numbers and NaN.
  code.set(s)
  code.floats(-Infinity).get(s).get(x).floats(0).vector('f32x4.eq').vector('v128.bitselect').set(s)
  code.get(x).get(s).get(x).floats(Infinity).vector('f32x4.eq').vector('v128.bitselect').set(s)
  code.get(s).floats(Number.NaN).floats(0).get(x)
  chain(code, 'f32x4.le', 'v128.bitselect')
}

/** x = n pi / 2 + r; n chooses between sine and cosine of r, and the sign. */
function circular(isCosine: boolean): Inline {
  return (code, fuse) => {
    const [x, n, r, w, sine] = Array.from({ length: 5 }, () => code.local('v128')) as [
      Local,
      Local,
      Local,
      Local,
      Local,
    ]
    code.tee(x).floats(2 / Math.PI)
    chain(code, 'f32x4.mul', 'f32x4.nearest')
    code.set(n).get(x)
    for (const part of HALF_PI) {
      code.get(n).floats(part)
      chain(code, 'f32x4.mul', 'f32x4.sub')
    }
    code.set(r).get(r).get(r).vector('f32x4.mul').set(w)
    code.get(n).vector('i32x4.trunc_sat_f32x4_s').set(n)
    if (isCosine) code.get(n).integers(1).vector('i32x4.add').set(n)
    polynomial(code, fuse, w, SIN_TERMS)
    code.get(w).vector('f32x4.mul').get(r).vector('f32x4.mul').get(r).vector('f32x4.add').set(sine)
    polynomial(code, fuse, w, COS_TERMS)
    code.get(w).get(w).vector('f32x4.mul').vector('f32x4.mul')
    code.floats(1).get(w).floats(0.5)
    chain(code, 'f32x4.mul', 'f32x4.sub', 'f32x4.add')
    code.get(sine).get(n).integers(1).vector('v128.and').integers(1)
    chain(code, 'i32x4.eq', 'v128.bitselect')
    code.get(n).integers(2).vector('v128.and').number(30)
    chain(code, 'i32x4.shl', 'v128.xor')
  }
}

/** x and y on the stack. |x|^y = e^(y ln |x|); negative x with a whole y has the sign of (-1)^y, else NaN. */
const pow: Inline = (code, fuse) => {
  const [x, y, made, odd] = Array.from({ length: 4 }, () => code.local('v128')) as [
    Local,
    Local,
    Local,
    Local,
  ]
  code.set(y).tee(x).vector('f32x4.abs')
  log(code, fuse)
  code.get(y).vector('f32x4.mul')
  exp(code, fuse)
  code.set(made)
  // y is odd if y - 2 floor(y / 2) is 1; for a fraction it is neither 0 nor 1.
  code.get(y).get(y).floats(0.5)
  chain(code, 'f32x4.mul', 'f32x4.floor')
  code.floats(2)
  chain(code, 'f32x4.mul', 'f32x4.sub')
  code.set(odd)
  code.get(made).vector('f32x4.neg').get(made).get(odd).floats(1)
  chain(code, 'f32x4.eq', 'v128.bitselect')
  code.floats(Number.NaN).get(odd).get(odd).vector('f32x4.floor')
  chain(code, 'f32x4.eq', 'v128.bitselect')
  code.get(made).get(x).floats(0)
  chain(code, 'f32x4.lt', 'v128.bitselect')
  // 0^y is 0 above 0 and infinite below; x^0 is 1.
  code.set(made)
  code.floats(0).floats(Infinity).floats(0).get(y)
  chain(code, 'f32x4.lt', 'v128.bitselect')
  code.get(made).get(x).floats(0)
  chain(code, 'f32x4.eq', 'v128.bitselect')
  code.set(made)
  code.floats(1).get(made).get(y).floats(0)
  chain(code, 'f32x4.eq', 'v128.bitselect')
}

/** Towards 0, in f64, which holds every quotient exactly enough; a division by 0 gives 0. */
const divideWhole: Inline = (code) => {
  const a = code.local('v128')
  const b = code.local('v128')
  const low = code.local('v128')
  const half = (lanes: readonly number[]): void => {
    code.get(a).get(a).shuffle(lanes).vector('f64x2.convert_low_i32x4_s')
    code.get(b).get(b).shuffle(lanes).vector('f64x2.convert_low_i32x4_s')
    chain(code, 'f64x2.div', 'i32x4.trunc_sat_f64x2_s_zero')
  }
  code.set(b).set(a)
  half([0, 1, 2, 3])
  code.set(low).get(low)
  half([2, 3, 0, 1])
  code.shuffle([0, 1, 4, 5])
  code.get(b).integers(0)
  chain(code, 'i32x4.eq', 'v128.not', 'v128.and')
}

/** By the names of a tree's instructions. */
export const MATH: Readonly<Record<string, Inline>> = {
  exp,
  log,
  tanh,
  erf,
  sin: circular(false),
  cos: circular(true),
  pow,
  'i.div': divideWhole,
}
