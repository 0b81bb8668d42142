// Functions of f32 vectors as instructions: exp, log, tanh, erf, sin, cos, pow, and integer division.
//
// Errors, as measured by a test: exp 1.2e-7 relative, and half an ulp of the smallest f32 below 2^-126; log
// 1.5e-7 relative or absolute, whichever is larger; tanh and erf 2.5e-7 absolute; sin and cos 2e-7 absolute;
// pow the error of exp(y log x). Results that are too large are infinite, and those that are too small are 0.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import type { VectorName } from '../wasm/opcodes.ts'

/** Takes a vector from the stack, and leaves the result there. */
type Inline = (code: FunctionBody, fuse: boolean) => void

/** Adding and subtracting 1.5 * 2^23 rounds to the nearest integer, which then sits in the low bits. */
const ROUNDER = 12582912
/** ln 2 in two parts; an integer times the first part is exact. */
const LN2_HIGH = 0.693359375
const LN2_LOW = -2.1219444e-4
const EXP_TERMS = [
  1.98756915e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 0.16666665459, 0.50000001201,
]

/** A least-squares fit of -ln(erfc(x)) / x on [0, 4.1] at Chebyshev nodes. */
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
/** pi / 2 in three parts of a few bits each. */
const HALF_PI = [1.5703125, 4.837512969970703e-4, 7.549789948768648e-8]

const chain = (code: FunctionBody, ...names: readonly VectorName[]): void => {
  for (const name of names) code.vector(name)
}

/** With a and b on the stack, leaves a * b + c. */
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

/** Leaves the value of the polynomial at x. Its coefficients are listed from the highest power down. */
function polynomial(code: FunctionBody, fuse: boolean, x: Local, terms: readonly number[]): void {
  code.floats(terms[0]!)
  for (const term of terms.slice(1)) {
    code.get(x)
    multiplyAdd(code, fuse, () => code.floats(term))
  }
}

interface Parts {
  /** The low bits hold n. */
  readonly t: Local
  readonly n: Local
  readonly r: Local
}

/** Takes x from the stack, already clamped. Leaves e^r, where x = n ln 2 + r. */
function reducedExp(code: FunctionBody, fuse: boolean, { t, n, r }: Parts): void {
  code.tee(r).floats(Math.LOG2E).vector('f32x4.mul').floats(ROUNDER).vector('f32x4.add').tee(t)
  code.floats(ROUNDER).vector('f32x4.sub').set(n)
  code.get(r).get(n).floats(LN2_HIGH).vector('f32x4.mul').vector('f32x4.sub')
  code.get(n).floats(LN2_LOW).vector('f32x4.mul').vector('f32x4.sub').set(r)
  polynomial(code, fuse, r, EXP_TERMS)
  code.get(r).get(r).vector('f32x4.mul')
  multiplyAdd(code, fuse, () => code.get(r))
  code.floats(1).vector('f32x4.add')
}

const partsOf = (code: FunctionBody): Parts => {
  const [t, n, r] = Array.from({ length: 3 }, () => code.local('v128'))
  return { t: t!, n: n!, r: r! }
}

/** e^x clamped to e^-87 .. e^88: for functions that are 0 or 1 outside that range. */
const limitedExp: Inline = (code, fuse) => {
  const parts = partsOf(code)
  code.floats(-87).vector('f32x4.pmax').floats(88).vector('f32x4.pmin')
  reducedExp(code, fuse, parts)
  code.get(parts.t).number(23)
  chain(code, 'i32x4.shl', 'i32x4.add')
}

/** Below the first limit, e^x is 0; above the second, it is infinite. */
const EXP_LEAST = -104
const EXP_MOST = 89

/** e^r times 2^n in two steps, because 2^n alone may not be representable as an f32. */
const exp: Inline = (code, fuse) => {
  const parts = partsOf(code)
  const { t, n } = parts
  const x = code.local('v128')
  const isSeen = code.local('v128')
  code.floats(EXP_LEAST).vector('f32x4.pmax').floats(EXP_MOST).vector('f32x4.pmin').set(x)
  // Multiplying by 0 is fast; a product that underflows is not.
  code.floats(EXP_LEAST).get(x).vector('f32x4.lt').set(isSeen)
  code.get(x)
  reducedExp(code, fuse, parts)
  code.get(t).number(1).vector('i32x4.shr_s').tee(n).number(23)
  chain(code, 'i32x4.shl', 'i32x4.add')
  code.get(t).get(n).vector('i32x4.sub').integers(127).vector('i32x4.add').number(23)
  code.vector('i32x4.shl').get(isSeen)
  chain(code, 'v128.and', 'f32x4.mul')
}

/** 1 - 2 / (e^2x + 1) */
const tanh: Inline = (code, fuse) => {
  const x = code.local('v128')
  code.floats(2).vector('f32x4.mul')
  limitedExp(code, fuse)
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
  limitedExp(code, fuse)
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
  // The exponent e for which m is between sqrt(1/2) and sqrt(2).
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

/** Up to here, pi / 2 in three parts is precise enough. */
const NEAR = 8192
/** The bits of 2 / pi after 12 zeros. */
const TWO_OVER_PI = [0x000a2f9836e4e441n, 0x529fc2757d1f534dn, 0xdc0db6295993c439n] as const
/** The biased f32 exponent of 8192. */
const NEAR_EXPONENT = 140

/**
 * Replaces the first lanes of n and r for a large x = m 2^e. The number of quarter turns in x, modulo 4, is m
 * times the bits of 2^e 2 / pi, of which 62 come after the binary point.
 */
function reduceLarge(code: FunctionBody, x: Local, n: Local, r: Local): void {
  const bits = code.local('i32')
  const from = code.local('i32')
  const sign = code.local('i32')
  const turns = code.local('i64')
  const [first, second, third] = TWO_OVER_PI
  const later = () => code.get(from).number(64).plain('i32.ge_s')
  const shift = () => code.get(from).number(63).plain('i32.and')
  code.get(x).extractLane(0).tee(bits).number(23).plain('i32.shr_s').number(255).plain('i32.and')
  code.number(NEAR_EXPONENT).plain('i32.sub').set(from)
  code.long(second).long(first)
  later().plain('select')
  shift().plain('i64.extend_i32_u').plain('i64.shl')
  code.long(third).long(second)
  later().plain('select')
  code.long(1n).plain('i64.shr_u').number(63)
  shift().plain('i32.sub').plain('i64.extend_i32_u').plain('i64.shr_u').plain('i64.or')
  code.get(bits).number(0x7f_ffff).plain('i32.and').number(0x80_0000).plain('i32.add')
  code.get(bits).number(31).plain('i32.shr_s').tee(sign).plain('i32.xor').get(sign).plain('i32.sub')
  code.plain('i64.extend_i32_s').plain('i64.mul').set(turns)
  code
    .get(n)
    .get(turns)
    .long(2n ** 61n)
    .plain('i64.add')
    .long(62n)
    .plain('i64.shr_s')
  code.plain('f64.convert_i64_s').plain('f32.demote_f64').floatLane(0).set(n)
  code.get(r).get(turns).long(2n).plain('i64.shl').long(2n).plain('i64.shr_s').plain('f64.convert_i64_s')
  code.double((Math.PI / 2) * 2 ** -62)
  code.plain('f64.mul').plain('f32.demote_f64').floatLane(0).set(r)
}

/** Processes the lanes one by one if any number is large. r becomes NaN where x is infinite. */
function reduceAllLarge(code: FunctionBody, x: Local, n: Local, r: Local): void {
  const isLarge = code.local('v128')
  const lane = code.local('i32')
  const end = code.local('i32')
  code.floats(NEAR).get(x)
  chain(code, 'f32x4.abs', 'f32x4.lt')
  code.tee(isLarge).vector('v128.any_true')
  code.when(() => {
    code.number(0).set(lane).number(4).set(end)
    code.whileLess(lane, end, () => {
      code.get(isLarge).extractLane(0)
      code.when(() => reduceLarge(code, x, n, r))
      for (const each of [x, n, r, isLarge]) code.get(each).get(each).shuffle([1, 2, 3, 0]).set(each)
      code.increase(lane, 1)
    })
    code.get(r).get(x).get(x)
    chain(code, 'f32x4.sub', 'f32x4.add')
    code.set(r)
  })
}

/** x = n pi / 2 + r; n selects sine or cosine of r, and the sign. */
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
    code.set(r)
    reduceAllLarge(code, x, n, r)
    code.get(r).get(r).vector('f32x4.mul').set(w)
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

/**
 * Takes x and y from the stack. |x|^y = e^(y ln |x|), with the sign of x where y is odd. Negative x have
 * powers only for integer y, and infinite y count as even, as in C.
 */
const pow: Inline = (code, fuse) => {
  const [x, y, size, made] = Array.from({ length: 4 }, () => code.local('v128')) as [
    Local,
    Local,
    Local,
    Local,
  ]
  code.set(y).tee(x).vector('f32x4.abs').tee(size)
  log(code, fuse)
  code.get(y).vector('f32x4.mul')
  exp(code, fuse)
  // y is odd if y - 2 floor(y / 2) is 1; for a non-integer it is neither 0 nor 1, and for infinity it is NaN.
  code.get(x).integers(-0x80000000).vector('v128.and')
  code.get(y).get(y).floats(0.5)
  chain(code, 'f32x4.mul', 'f32x4.floor')
  code.floats(2)
  chain(code, 'f32x4.mul', 'f32x4.sub')
  code.floats(1)
  chain(code, 'f32x4.eq', 'v128.and', 'v128.or')
  code.set(made)
  code.get(made).floats(Number.NaN).get(y).get(y)
  chain(code, 'f32x4.floor', 'f32x4.eq')
  code.get(x).floats(0)
  chain(code, 'f32x4.lt', 'v128.not', 'v128.or')
  code.get(size).floats(Infinity)
  chain(code, 'f32x4.eq', 'v128.or', 'v128.bitselect')
  code.set(made)
  // x^0, 1^y, and -1 to an infinite power are 1.
  code.floats(1).get(made).get(y).floats(0).vector('f32x4.eq').get(x).floats(1)
  chain(code, 'f32x4.eq', 'v128.or')
  code.get(size).floats(1).vector('f32x4.eq').get(y).vector('f32x4.abs').floats(Infinity)
  chain(code, 'f32x4.eq', 'v128.and', 'v128.or', 'v128.bitselect')
}

/**
 * Rounds towards 0 in f64, which is precise enough for every quotient. Dividing by 0 gives 0, and -2^31 / -1
 * wraps.
 */
export const divideWhole: Inline = (code) => {
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
  code.shuffle([0, 1, 4, 5]).set(low)
  code.get(a).vector('i32x4.neg').get(low).get(b).integers(-1)
  chain(code, 'i32x4.eq', 'v128.bitselect')
  code.get(b).integers(0)
  chain(code, 'i32x4.eq', 'v128.not', 'v128.and')
}

/** Keyed by the names of a tree's instructions. */
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
