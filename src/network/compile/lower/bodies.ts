// The bodies of elementwise operators: their arithmetic as trees.
import type { Node } from '../../onnx/ir/graph.ts'
import { floatOf, intOf, stringOf, unclaimed } from '../../onnx/ir/operator.ts'
import { type BodyOperator, operatorName } from '../../onnx/operator-table.ts'
import {
  add,
  apply,
  div,
  type Instruction,
  type Kind,
  mul,
  number,
  select,
  sub,
  type Tree,
} from '../loops/tree.ts'

/** Makes a node's tree from the trees of its inputs; an omitted input is undefined. */
export type Body = (args: readonly Tree[], node: Node) => Tree

const f =
  (op: Instruction): Body =>
  (args) =>
    apply(op, ...args)

/** Uses a different instruction for integers. */
const either =
  (float: Instruction, whole: Instruction): Body =>
  (args) =>
    apply(args[0]!.kind === 'f32' ? float : whole, ...args)

/** Folds any number of inputs from left to right. */
const folded =
  (float: Instruction, whole: Instruction): Body =>
  (args) =>
    args.reduce((a, b) => apply(a.kind === 'f32' ? float : whole, a, b))

const one = number(1)
const zero = number(0)
const whole = (value: number): Tree => number(value, 'i32')
const not = (x: Tree): Tree => apply('i.xor', x, whole(1))
const less = (a: Tree, b: Tree): Tree => apply(a.kind === 'f32' ? 'lt' : 'i.lt', a, b)
const lessOrEqual = (a: Tree, b: Tree): Tree => apply(a.kind === 'f32' ? 'le' : 'i.le', a, b)
const exp = (x: Tree): Tree => apply('exp', x)
const neg = (x: Tree): Tree => apply('neg', x)
const square = (x: Tree): Tree => mul(x, x)
/** e^x / 2, which stays finite for larger x than e^x does. */
const halfExp = (x: Tree): Tree => {
  const root = exp(mul(number(0.5), x))
  return mul(mul(number(0.5), root), root)
}
/** Taylor's series below 1, where the difference of two powers would leave few digits. */
const sinh = (x: Tree): Tree => {
  const x2 = square(x)
  const rest = [1 / 362_880, 1 / 5040, 1 / 120, 1 / 6]
    .map((each) => number(each))
    .reduce((sum, each) => add(mul(sum, x2), each))
  const near = add(x, mul(mul(rest, x2), x))
  return select(less(apply('abs', x), one), near, sub(halfExp(x), halfExp(neg(x))))
}
const sigmoid = (x: Tree): Tree => div(one, add(one, exp(neg(x))))
/** 1 + p keeps few digits of a small power p = e^-|x|, so a series gives its logarithm. */
const SMALL_POWER = 2 ** -11
const softplus = (x: Tree): Tree => {
  const power = exp(neg(apply('abs', x)))
  const near = sub(power, mul(mul(number(0.5), power), power))
  const log = select(less(power, number(SMALL_POWER)), near, apply('log', add(one, power)))
  return add(apply('max', x, zero), log)
}
const limited = (x: Tree): Tree => apply('max', zero, apply('min', one, x))

const exactGelu = (x: Tree): Tree =>
  mul(mul(number(0.5), x), add(one, apply('erf', mul(x, number(Math.SQRT1_2)))))

const fastGelu = (x: Tree): Tree => {
  const inner = add(x, mul(number(0.044715), mul(square(x), x)))
  return mul(mul(number(0.5), x), add(one, apply('tanh', mul(number(Math.sqrt(2 / Math.PI)), inner))))
}

const gelu: Body = ([x], node) =>
  stringOf(node, 'approximate', 'none') === 'none' ? exactGelu(x!) : fastGelu(x!)

/** tanh(ln(1 + e^x)) is w / (w + 2) for w = e^2x + 2 e^x, and 1 from 20 on. */
const mish = (x: Tree): Tree => {
  const power = exp(apply('min', x, number(20)))
  const w = mul(power, add(power, number(2)))
  return mul(x, div(w, add(w, number(2))))
}

/** The operator takes x and an optional bias. */
const biased =
  (of: (x: Tree) => Tree): Body =>
  ([x, bias]) =>
    of(bias === undefined ? x! : add(x!, bias))

const isInf: Body = ([x], node) => {
  const is = (attribute: string, value: number): Tree =>
    intOf(node, attribute, 1) === 0 ? whole(0) : apply('eq', x!, number(value))
  return apply('i.or', is('detect_positive', Infinity), is('detect_negative', -Infinity))
}

/** If x is 0 or NaN, the result is x itself. */
const sign = (x: Tree): Tree =>
  select(
    less(x, number(0, x.kind)),
    number(-1, x.kind),
    select(less(number(0, x.kind), x), number(1, x.kind), x),
  )

/** x^0.5: the square root, except that -0 gives 0 and -infinity gives infinity. */
const powerRoot = (x: Tree): Tree =>
  select(apply('eq', x, number(-Infinity)), number(Infinity), apply('sqrt', add(x, zero)))

/** Small integer powers and roots become products and square roots; everything else is exp(y log x). */
const pow: Body = ([x, y], node) => {
  if (x!.kind === 'i32') throw unclaimed(node, 'integer powers are not compiled')
  const exponent = y!.kind === 'f32' ? y! : apply('to f32', y!)
  const known = 'value' in y! ? y!.value : undefined
  switch (known) {
    case 1:
      return x!
    case 2:
      return square(x!)
    case 3:
      return mul(square(x!), x!)
    case 4:
      return square(square(x!))
    case 0.5:
      return powerRoot(x!)
    case -0.5:
      return div(one, powerRoot(x!))
    case -1:
      return div(one, x!)
    default:
      return apply('pow', x!, exponent)
  }
}

/** Only infinities are larger. */
const MAX_FLOAT = 3.4028234663852886e38

const mod: Body = ([a, b], node) => {
  const isFloat = a!.kind === 'f32'
  if (isFloat !== (intOf(node, 'fmod', 0) !== 0)) {
    if (isFloat) {
      const rest = sub(a!, mul(b!, apply('floor', div(a!, b!))))
      const isWithin = less(apply('abs', a!), apply('abs', b!))
      const differs = less(mul(a!, b!), zero)
      return select(
        apply('i.and', isWithin, less(number(MAX_FLOAT), apply('abs', b!))),
        select(differs, b!, a!),
        rest,
      )
    }
    throw unclaimed(node, 'integer fmod is not compiled')
  }
  if (isFloat) throw unclaimed(node, 'fmod is not compiled')
  const rest = apply('i.sub', a!, apply('i.mul', b!, apply('i.div', a!, b!)))
  // The remainder has the divisor's sign.
  const differs = apply('i.and', less(apply('i.xor', rest, b!), whole(0)), not(apply('i.eq', rest, whole(0))))
  return select(differs, apply('i.add', rest, b!), rest)
}

const swish: Body = ([x], node) => mul(x!, sigmoid(mul(number(floatOf(node, 'alpha', 1)), x!)))

/** Elu and similar operators: alpha (e^(x / c) - 1) below 0. */
const exponential = (x: Tree, alpha: number, scale = 1): Tree =>
  select(less(x, zero), mul(number(alpha), sub(exp(mul(x, number(1 / scale))), one)), x)

/** Operators whose trees depend on more than their arguments; `elementwise.ts` builds their trees. */
type OwnTree = 'Clip' | 'Cast' | 'CastLike'

const BODIES: Readonly<Record<Exclude<BodyOperator, OwnTree>, Body>> = {
  Identity: ([x]) => x!,
  Dropout: ([x]) => x!,
  Add: either('add', 'i.add'),
  Sub: either('sub', 'i.sub'),
  Mul: either('mul', 'i.mul'),
  Div: either('div', 'i.div'),
  Sum: folded('add', 'i.add'),
  Mean: (args) => mul(args.reduce(add), number(1 / args.length)),
  Min: folded('min', 'i.min'),
  Max: folded('max', 'i.max'),
  Neg: either('neg', 'i.neg'),
  Abs: either('abs', 'i.abs'),
  Sqrt: f('sqrt'),
  Exp: f('exp'),
  Log: f('log'),
  Tanh: f('tanh'),
  Erf: f('erf'),
  Sin: f('sin'),
  Cos: f('cos'),
  Floor: f('floor'),
  Ceil: f('ceil'),
  Round: f('nearest'),
  Pow: pow,
  Mod: mod,
  Reciprocal: ([x]) => div(one, x!),
  Sigmoid: ([x]) => sigmoid(x!),
  Softplus: ([x]) => softplus(x!),
  Softsign: ([x]) => div(x!, add(one, apply('abs', x!))),
  HardSwish: ([x]) => mul(x!, limited(add(mul(x!, number(1 / 6)), number(0.5)))),
  HardSigmoid: ([x], node) =>
    limited(add(mul(number(floatOf(node, 'alpha', 0.2)), x!), number(floatOf(node, 'beta', 0.5)))),
  Mish: ([x]) => mish(x!),
  Gelu: gelu,
  SwiGLU: ([a, b], node) => mul(swish([a!], node), b!),
  Swish: swish,
  // A comparison instead of max, so that NaN stays NaN, as defined.
  Relu: ([x]) => select(less(x!, number(0, x!.kind)), number(0, x!.kind), x!),
  LeakyRelu: ([x], node) => select(less(x!, zero), mul(number(floatOf(node, 'alpha', 0.01)), x!), x!),
  ThresholdedRelu: ([x], node) => select(less(number(floatOf(node, 'alpha', 1)), x!), x!, zero),
  PRelu: ([x, slope]) => select(less(x!, zero), mul(slope!, x!), x!),
  Elu: ([x], node) => exponential(x!, floatOf(node, 'alpha', 1)),
  Celu: ([x], node) => exponential(x!, floatOf(node, 'alpha', 1), floatOf(node, 'alpha', 1)),
  Selu: ([x], node) =>
    mul(
      number(floatOf(node, 'gamma', 1.0507010221481323)),
      exponential(x!, floatOf(node, 'alpha', 1.6732631921768188)),
    ),
  Equal: either('eq', 'i.eq'),
  Less: ([a, b]) => less(a!, b!),
  LessOrEqual: ([a, b]) => lessOrEqual(a!, b!),
  Greater: ([a, b]) => less(b!, a!),
  GreaterOrEqual: ([a, b]) => lessOrEqual(b!, a!),
  And: f('i.and'),
  Or: f('i.or'),
  Xor: f('i.xor'),
  Not: ([x]) => not(x!),
  BitwiseAnd: f('i.and'),
  BitwiseOr: f('i.or'),
  BitwiseXor: f('i.xor'),
  BitwiseNot: ([x]) => apply('i.xor', x!, whole(-1)),
  Sign: ([x]) => sign(x!),
  Tan: ([x]) => div(apply('sin', x!), apply('cos', x!)),
  Sinh: ([x]) => sinh(x!),
  Cosh: ([x]) => add(halfExp(x!), halfExp(neg(x!))),
  IsInf: isInf,
  IsNaN: ([x]) => not(apply('eq', x!, x!)),
  Where: ([c, a, b]) => select(c!, a!, b!),
  'com.microsoft:Gelu': biased(exactGelu),
  'com.microsoft:BiasGelu': biased(exactGelu),
  'com.microsoft:FastGelu': biased(fastGelu),
  'com.microsoft:QuickGelu': ([x], node) => mul(x!, sigmoid(mul(number(floatOf(node, 'alpha', 1.702)), x!))),
}

/** The body of an operator whose row in the table says `body`, except for those in `OwnTree`. */
export const bodyOf = (node: Node): Body => BY_NAME.get(operatorName(node)) as Body

const BY_NAME: ReadonlyMap<string, Body> = new Map(Object.entries(BODIES))

/** Clip, whose limits are optional. The upper limit wins if they cross. */
export function clipped(x: Tree, low: Tree | undefined, high: Tree | undefined): Tree {
  const above = low === undefined ? x : select(less(x, low), low, x)
  return high === undefined ? above : select(less(high, above), high, above)
}

/** A cast between floats, integers and booleans. */
export function castTree(x: Tree, to: Kind, isBool: boolean): Tree {
  if (isBool) return not(apply(x.kind === 'f32' ? 'eq' : 'i.eq', x, number(0, x.kind)))
  if (x.kind === to) return x
  return apply(to === 'f32' ? 'to f32' : 'to i32', x)
}
