// Emits trees as instructions: from arguments in locals to a vector on the stack.
import type { Instruction, Tree } from '../loops/tree.ts'
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import type { VectorName } from '../wasm/opcodes.ts'
import { CHECKED } from './checked.ts'
import { MATH } from './math.ts'

const isChecked = (op: Instruction): op is Instruction & keyof typeof CHECKED => Object.hasOwn(CHECKED, op)

/** Instructions that map to a single WebAssembly instruction. */
const DIRECT: Partial<Record<Instruction, VectorName>> = {
  add: 'f32x4.add',
  sub: 'f32x4.sub',
  mul: 'f32x4.mul',
  div: 'f32x4.div',
  min: 'f32x4.min',
  max: 'f32x4.max',
  neg: 'f32x4.neg',
  abs: 'f32x4.abs',
  sqrt: 'f32x4.sqrt',
  floor: 'f32x4.floor',
  ceil: 'f32x4.ceil',
  nearest: 'f32x4.nearest',
  'to f32': 'f32x4.convert_i32x4_s',
  'to i32': 'i32x4.trunc_sat_f32x4_s',
  'i.add': 'i32x4.add',
  'i.sub': 'i32x4.sub',
  'i.mul': 'i32x4.mul',
  'i.min': 'i32x4.min_s',
  'i.max': 'i32x4.max_s',
  'i.neg': 'i32x4.neg',
  'i.abs': 'i32x4.abs',
  'i.and': 'v128.and',
  'i.or': 'v128.or',
  'i.xor': 'v128.xor',
}

/** Instructions that return all ones or all zeros, of which one bit is used. */
const COMPARED: Partial<Record<Instruction, VectorName>> = {
  eq: 'f32x4.eq',
  lt: 'f32x4.lt',
  le: 'f32x4.le',
  'i.eq': 'i32x4.eq',
  'i.lt': 'i32x4.lt_s',
  'i.le': 'i32x4.le_s',
}

/** The values that a tree reads. */
export interface Reads {
  /** Leaves the argument on the stack. */
  arg(index: number): void
  size(index: number): Local
  /** The local that holds a number in all lanes. */
  constant(value: number, kind: Tree['kind']): Local
  /** Where checked instructions record 32-bit overflows; present if the kernel has any. */
  readonly left: Local | undefined
}

/** Leaves the tree's vector on the stack. `fuse`: whether to use fused multiply-add. */
export function emitTree(code: FunctionBody, tree: Tree, reads: Reads, fuse: boolean): void {
  if ('arg' in tree) reads.arg(tree.arg)
  else if ('value' in tree) code.get(reads.constant(tree.value, tree.kind))
  else if ('size' in tree) code.get(reads.size(tree.size))
  else if (tree.op.startsWith('select')) emitSelect(code, tree.of, reads, fuse)
  else if (tree.op !== 'add' || !fuse || !emitFused(code, tree.of, reads))
    emitOperation(code, tree, reads, fuse)
}

function emitOperation(
  code: FunctionBody,
  { op, of }: Extract<Tree, { op: Instruction }>,
  reads: Reads,
  fuse: boolean,
): void {
  const [x, y] = of
  if (op === 'i.shr' && y !== undefined && 'value' in y) {
    emitTree(code, x!, reads, fuse)
    code.number(y.value).vector('i32x4.shr_u')
    return
  }
  // A value multiplied by itself is computed once.
  if (y !== undefined && y === x && !('arg' in y)) {
    const once = code.local('v128')
    emitTree(code, x!, reads, fuse)
    code.tee(once).get(once)
  } else for (const each of of) emitTree(code, each, reads, fuse)
  const compared = COMPARED[op]
  if (op === 'i.near') emitNear(code)
  else if (compared !== undefined) code.vector(compared).number(31).vector('i32x4.shr_u')
  else if (DIRECT[op] !== undefined) code.vector(DIRECT[op])
  else if (isChecked(op)) CHECKED[op](code, reads.left!)
  else MATH[op]!(code, fuse)
}

/** Adding 1.5 * 2^23 leaves the nearest integer, ties to even, in the low bits of the sum. NaN becomes 0. */
const NEAR = 1.5 * 2 ** 23
const NEAR_BITS = 0x4b400000
const NEAR_LIMIT = 2 ** 20

function emitNear(code: FunctionBody): void {
  const x = code.local('v128')
  code.tee(x)
  code.floats(NEAR_LIMIT).vector('f32x4.pmin').floats(-NEAR_LIMIT).vector('f32x4.pmax')
  code.floats(NEAR).vector('f32x4.add').integers(NEAR_BITS).vector('i32x4.sub')
  code.get(x).get(x).vector('f32x4.eq').vector('v128.and')
}

/** A comparison used as the condition need not be reduced to one bit: its mask selects directly. */
function emitSelect(code: FunctionBody, of: readonly Tree[], reads: Reads, fuse: boolean): void {
  const [condition, a, b] = of as [Tree, Tree, Tree]
  emitTree(code, a, reads, fuse)
  emitTree(code, b, reads, fuse)
  const compared = 'op' in condition ? COMPARED[condition.op] : undefined
  if (compared !== undefined && 'op' in condition) {
    for (const each of condition.of) emitTree(code, each, reads, fuse)
    code.vector(compared)
  } else {
    emitTree(code, condition, reads, fuse)
    code.integers(0).vector('i32x4.eq').vector('v128.not')
  }
  code.vector('v128.bitselect')
}

/** a * b + c in one instruction. */
function emitFused(code: FunctionBody, [left, right]: readonly Tree[], reads: Reads): boolean {
  for (const [product, other] of [
    [left!, right!],
    [right!, left!],
  ] as const) {
    if (!('op' in product) || product.op !== 'mul') continue
    const [x, y] = product.of as [Tree, Tree]
    if (x === y) continue
    emitTree(code, x, reads, true)
    emitTree(code, y, reads, true)
    emitTree(code, other, reads, true)
    code.vector('f32x4.relaxed_madd')
    return true
  }
  return false
}
