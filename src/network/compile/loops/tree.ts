// Trees: how an element of a value is computed from elements of other values.

/** How elements are computed: four bytes each. Integers of every width, and booleans (1, 0), are i32. */
export type Kind = 'f32' | 'i32'

/** One instruction on f32, or on i32 if the name begins with `i.`; comparisons give i32. */
export type Instruction =
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'min'
  | 'max'
  | 'pow'
  | 'neg'
  | 'abs'
  | 'sqrt'
  | 'floor'
  | 'ceil'
  | 'nearest'
  | 'exp'
  | 'log'
  | 'tanh'
  | 'erf'
  | 'sin'
  | 'cos'
  | 'eq'
  | 'lt'
  | 'le'
  | 'to f32'
  | 'to i32'
  /** The nearest integer to an f32, limited to 2^20 on either side; 0 for NaN. */
  | 'i.near'
  | 'i.add'
  | 'i.sub'
  | 'i.mul'
  | 'i.div'
  | 'i.min'
  | 'i.max'
  | 'i.neg'
  | 'i.abs'
  | 'i.and'
  | 'i.or'
  | 'i.xor'
  /** Logical right shift of the first argument by the second, which is a number. */
  | 'i.shr'
  | 'i.eq'
  | 'i.lt'
  | 'i.le'
  | 'select f32'
  | 'select i32'
  | Checked

/** Like the instruction without the suffix, but the step flags a result that is not an i32. */
type Checked = `${(typeof CAN_LEAVE)[number]} checked`

/** Instructions on i32 whose results may overflow i32. */
const CAN_LEAVE = ['to i32', 'i.add', 'i.sub', 'i.mul', 'i.div', 'i.neg', 'i.abs'] as const

export type Tree =
  /** The element of an argument at the same position. */
  | { readonly arg: number; readonly kind: Kind }
  /** A constant of the graph, embedded in the code. */
  | { readonly value: number; readonly kind: Kind }
  /** A size-dependent f32, read from the step's record. */
  | { readonly size: number; readonly kind: 'f32' }
  | { readonly op: Instruction; readonly of: readonly Tree[]; readonly kind: Kind }

const TO_I32: readonly Instruction[] = ['eq', 'lt', 'le', 'to i32', 'to i32 checked', 'select i32']

export const apply = (op: Instruction, ...of: readonly Tree[]): Tree => ({
  op,
  of,
  kind: TO_I32.includes(op) || op.startsWith('i.') ? 'i32' : 'f32',
})
export const arg = (index: number, kind: Kind = 'f32'): Tree => ({ arg: index, kind })
export const number = (value: number, kind: Kind = 'f32'): Tree => ({ value, kind })

export const add = (a: Tree, b: Tree): Tree => apply('add', a, b)
export const sub = (a: Tree, b: Tree): Tree => apply('sub', a, b)
export const mul = (a: Tree, b: Tree): Tree => apply('mul', a, b)
export const div = (a: Tree, b: Tree): Tree => apply('div', a, b)

/** c ? a : b, where c is 1 or 0. */
export const select = (c: Tree, a: Tree, b: Tree): Tree =>
  apply(a.kind === 'f32' ? 'select f32' : 'select i32', c, a, b)

/**
 * A tree for 64-bit integers, which are stored as i32. A run fails if a result would differ from i64
 * arithmetic.
 */
export function checked(tree: Tree): Tree {
  if (!('op' in tree)) return tree
  const of = tree.of.map(checked)
  const canLeave = CAN_LEAVE.find((op) => op === tree.op)
  return canLeave === undefined ? { ...tree, of } : { ...tree, op: `${canLeave} checked`, of }
}

/** Whether a step can flag a 32-bit overflow. */
export function isChecked(tree: Tree): boolean {
  if (!('op' in tree)) return false
  const known = CHECKED.get(tree)
  if (known !== undefined) return known
  const found = tree.op.endsWith(' checked') || tree.of.some(isChecked)
  CHECKED.set(tree, found)
  return found
}

const CHECKED = new WeakMap<Tree, boolean>()

/** Instructions that take more than about five cycles. */
const COSTLY: ReadonlySet<Instruction> = new Set<Instruction>([
  'div',
  'sqrt',
  'exp',
  'log',
  'tanh',
  'erf',
  'sin',
  'cos',
  'pow',
])

const COSTS = new WeakMap<Tree, number>()

/** The number of instructions in a tree; a costly one counts as ten. */
export function costOf(tree: Tree): number {
  if (!('op' in tree)) return 0
  const known = COSTS.get(tree)
  if (known !== undefined) return known
  let cost = COSTLY.has(tree.op) ? 10 : 1
  for (const each of tree.of) cost += costOf(each)
  COSTS.set(tree, cost)
  return cost
}
