// Grows groups of loops that become one function each.
import type { Budget } from '../../../core/base/budget.ts'
import { countOf, isSameList } from '../../onnx/ir/tensor.ts'
import { isAlone, type Loop, type LoopList, type ProductLoop, type Ref, type Value } from '../loops/loops.ts'
import { costOf } from '../loops/tree.ts'
import { isWhole, reshaped, type View, whole } from '../loops/view.ts'
import { MAX_ROW, PAIRS } from './pairs.ts'

/** Loops over one space, in order. */
export interface Group {
  readonly loops: Loop[]
  /** The product whose rows the other loops process as soon as they are computed. */
  readonly product: ProductLoop | undefined
  readonly space: readonly number[]
  /** Whether the last axis is the reduced one. */
  isReduced: boolean
  /** Groups whose values this one reads. */
  readonly before: Set<Group>
  /** Groups that read this one's values. */
  readonly after: Set<Group>
  /** The loops that compute each of its values. */
  readonly made: Map<Value, Loop[]>
  /** Values that its loops read and that it does not compute. */
  readonly read: Set<Value>
  /** Whether other loops may join it. */
  readonly fuses: boolean
  /** The list index of its first loop. */
  first: number
  /** The highest list index of any loop in it or in a group that it depends on. */
  reach: number
  /** Instructions per element. */
  cost: number
}

export const squeezed = (dims: readonly number[]): readonly number[] => dims.filter((size) => size !== 1)

/** The dims of the space over which a loop runs. */
function dimsOfSpace(loop: Loop): readonly number[] {
  const isOverArgument =
    loop.loop === 'reduce' || loop.loop === 'place' || loop.loop === 'scatter' || loop.loop === 'select'
  return isOverArgument ? loop.args[0].view.dims : loop.out.dims
}

/** Whether these dims, without axes of one element, are the first `rank` axes of a space. */
function isSpace(dims: readonly number[], space: readonly number[], rank = space.length): boolean {
  let axis = 0
  for (const size of dims) {
    if (size === 1) continue
    if (axis === rank || size !== space[axis]) return false
    axis++
  }
  return axis === rank
}

/**
 * How a loop of the group reads or writes a value: at each element, once per row, or at positions other than
 * the loop's.
 */
export type Scope = 'full' | 'row'

export const scopeIn = (
  group: Pick<Group, 'space' | 'isReduced'>,
  dims: readonly number[],
): Scope | undefined => {
  if (isSpace(dims, group.space)) return 'full'
  return group.isReduced && isRowOf(dims, group.space) ? 'row' : undefined
}

/** Whether these dims are those of a space's rows. */
const isRowOf = (dims: readonly number[], space: readonly number[]): boolean =>
  isSpace(dims, space, Math.max(0, space.length - 1))

/** Leaves out axes of one element. */
export function squeezedView({ offset, dims, strides }: View): View {
  const [sizes, steps]: [number[], number[]] = [[], []]
  for (let axis = 0; axis < dims.length; axis++) {
    if (dims[axis] === 1) continue
    sizes.push(dims[axis]!)
    steps.push(strides[axis]!)
  }
  return { offset, dims: sizes, strides: steps }
}

/** The space of a group, and the values that it computes there. */
type Space = Pick<Group, 'space' | 'isReduced' | 'made'>

/** Whether a reference reads each element of a value in the same iteration in which the group computes it. */
function isInStep(group: Space, { value, view }: Ref): boolean {
  // Parts of a value are written in place, not held in registers.
  if (group.made.get(value)?.some(({ loop }) => loop === 'place')) return false
  const { space } = group
  const made = scopeIn(group, value.dims)
  if (made === undefined) return false
  const { dims, strides } = view
  if (made === 'full') return isSpace(dims, space) && isWhole(view, dims)
  if (isRowOf(dims, space)) return isWhole(view, dims)
  const last = dims.findLastIndex((size) => size !== 1)
  if (!isSpace(dims, space) || strides[last] !== 0) return false
  const rows = { offset: view.offset, dims: dims.with(last, 1), strides }
  return isWhole(rows, rows.dims)
}

/**
 * Turns a view over the axes of a product's output into a view over [..., m, n]. Undefined if strides cannot
 * express it.
 */
export function overProduct(view: View, { at, out }: ProductLoop): View | undefined {
  if (isWhole(at, out.dims)) return reshaped(view, at.dims)
  const to = squeezedView({ ...at })
  const from = squeezedView({ offset: 0, dims: out.dims, strides: contiguous(out.dims) })
  const own = squeezedView({ ...view, dims: out.dims })
  const order = to.strides.map((step) => from.strides.indexOf(step))
  if (order.some((axis, index) => axis < 0 || from.dims[axis] !== to.dims[index])) return undefined
  const kept = { offset: view.offset, dims: to.dims, strides: order.map((axis) => own.strides[axis]!) }
  return reshaped(kept, at.dims)
}

function contiguous(dims: readonly number[]): number[] {
  let step = 1
  return dims
    .toReversed()
    .map((size) => {
      const own = step
      step *= size
      return own
    })
    .reverse()
}

/**
 * Maximum number of loops and instructions in a group. Longer functions gain nothing, and emitting a function
 * recurses as deeply as its trees nest.
 */
const MAX_LOOPS = 128
const MAX_COST = 4096

const costOfLoop = (loop: Loop): number =>
  1 + ('tree' in loop && loop.tree !== undefined ? costOf(loop.tree) : 0)

type Spend = Pick<Budget, 'spend'>

const VISIT_UNITS = 4

/** `fuses`: whether a loop may be in a group with others. */
export function growGroups(
  { loops }: Pick<LoopList, 'loops'>,
  fuses: (loop: Loop) => boolean,
  budget: Spend,
): readonly Group[] {
  const groups = new Set<Group>()
  const makers = new Map<Value, Set<Group>>()
  for (const [at, loop] of loops.entries()) {
    const near = groupsOf(loop, makers)
    const cost = costOfLoop(loop)
    const joined =
      (fuses(loop) ? near.find((group) => mayJoin(group, loop, cost, makers, budget)) : undefined) ??
      newGroup(groups, loop, at, fuses(loop))
    joined.cost += cost
    add(joined, loop, at, makers, budget)
    // Several groups may write parts of one value.
    makers.set(loop.out, (makers.get(loop.out) ?? new Set()).add(joined))
    for (const other of near)
      if (mayMerge(joined, other, loop, budget)) merge(groups, makers, joined, other, budget)
  }
  return inOrder(groups)
}

/** The groups whose values the loop reads; first those of the largest value, which saves the most. */
function groupsOf(loop: Loop, makers: ReadonlyMap<Value, ReadonlySet<Group>>): readonly Group[] {
  const sizes = new Map<Group, number>()
  for (const { value } of loop.args) {
    const found = makers.get(value)
    if (found === undefined) continue
    const count = countOf(value.dims)
    for (const group of found) sizes.set(group, Math.max(count, sizes.get(group) ?? 0))
  }
  const groups = [...sizes.keys()]
  return groups.length < 2 ? groups : groups.sort((a, b) => sizes.get(b)! - sizes.get(a)!)
}

function add(
  group: Group,
  loop: Loop,
  at: number,
  makers: ReadonlyMap<Value, ReadonlySet<Group>>,
  budget: Spend,
): void {
  group.loops.push(loop)
  const parts = group.made.get(loop.out)
  if (parts === undefined) group.made.set(loop.out, [loop])
  else parts.push(loop)
  group.read.delete(loop.out)
  if (loop.loop === 'reduce') group.isReduced = true
  for (const { value } of loop.args) {
    if (!group.made.has(value)) group.read.add(value)
    for (const each of makers.get(value) ?? []) {
      if (each === group) continue
      group.before.add(each)
      each.after.add(group)
    }
  }
  raise(group, at, budget)
}

/** Raises the reach of a group, and of every group that depends on it, to at least this index. */
function raise(group: Group, reach: number, budget: Spend): void {
  const waiting = [group]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    if (each.reach >= reach) continue
    each.reach = reach
    budget.spend(VISIT_UNITS * (1 + each.after.size))
    for (const next of each.after) waiting.push(next)
  }
}

/** Whether the group is a single loop that no other loop may join. */
const isOne = ({ loops }: Group): boolean => isAlone(loops[0]!)

/** An empty group for the loop, which is added later. */
function newGroup(groups: Set<Group>, loop: Loop, first: number, fuses: boolean): Group {
  const product = loop.loop === 'product' ? loop : undefined
  const group: Group = {
    loops: [],
    product,
    space: squeezed(dimsOfSpace(loop)),
    fuses,
    isReduced: false,
    before: new Set(),
    after: new Set(),
    made: new Map(),
    read: new Set(),
    first,
    reach: -1,
    cost: 0,
  }
  groups.add(group)
  return group
}

/** Maximum number of values that one function reads, because more would not fit into registers. */
const MAX_READ = 16

/** Whether a group of both would read more values than `MAX_READ`. */
function readTooMany(one: Group, other: Group): boolean {
  let count = 0
  for (const value of one.read) if (!other.made.has(value)) count++
  for (const value of other.read) if (!one.made.has(value) && !one.read.has(value)) count++
  return count > MAX_READ
}

function mayJoin(
  group: Group,
  loop: Loop,
  cost: number,
  makers: ReadonlyMap<Value, ReadonlySet<Group>>,
  budget: Spend,
): boolean {
  if (!group.fuses || loop.loop === 'product' || isAlone(loop) || isOne(group)) return false
  if (group.loops.length >= MAX_LOOPS || group.cost + cost > MAX_COST) return false
  const more = new Set<Value>()
  for (const { value } of loop.args) {
    const known = group.made.get(value)
    if (known === undefined) {
      if (!group.read.has(value)) more.add(value)
    } else if (loop.loop === 'gather')
      return false // Tables and indices are read from memory.
    else if (known.some(({ mapping }) => PAIRS[mapping][loop.mapping] === 'never')) return false
  }
  if (group.read.size + more.size > MAX_READ) return false
  return fits(group, loop) && isLegal(group, loop, makers, budget)
}

function fits(group: Group, loop: Loop): boolean {
  const dims = dimsOfSpace(loop)
  const { space } = group
  if (loop.loop === 'reduce') {
    if (group.product !== undefined || !isSpace(dims, space)) return false
    if ((space.at(-1) ?? 1) > MAX_ROW || group.loops.some(isScattered)) return false
    // In a group without reductions, the last axis is not fixed yet.
    const next = { space, made: group.made, isReduced: true }
    return loop.args.every((ref) => !isMade(group, ref.value) || isInStep(next, ref))
  }
  const isRow = group.isReduced && isRowOf(dims, space)
  if (!isRow && !isSpace(dims, space)) return false
  // Parts of a value are written at every element of the space.
  if (loop.loop === 'place' && (isRow || isOfRows(group, loop))) return false
  if (!loop.args.every((ref) => !isMade(group, ref.value) || isInStep(group, ref))) return false
  const { product } = group
  if (product === undefined) return true
  const views = loop.args.filter((ref) => !isMade(group, ref.value)).map(({ view }) => view)
  if (loop.loop === 'place') {
    views.push(loop.at)
    if (overProduct({ ...loop.at, dims: loop.args[0].view.dims }, product) === undefined) return false
    return isSameList(loop.args[0].view.dims, product.out.dims)
  }
  // Its output may be stored to memory.
  views.push(whole(loop.out.dims))
  return (
    isSameList(loop.out.dims, product.out.dims) &&
    views.every((view) => overProduct(view, product) !== undefined)
  )
}

/** Whether the loop reads a value that the group computes once per row. */
const isOfRows = (group: Group, loop: Loop): boolean =>
  loop.args.some(({ value }) => isMade(group, value) && scopeIn(group, value.dims) === 'row')

/** Whether the loop gathers single elements rather than rows. */
const isScattered = (loop: Loop): boolean =>
  loop.loop === 'gather' && (squeezedView(loop.args[1].view).strides.at(-1) ?? 0) !== 0

const isMade = (group: Group, value: Value): boolean => group.made.has(value)

/** False if the loop depends on the group through other groups. */
function isLegal(
  group: Group,
  loop: Loop,
  makers: ReadonlyMap<Value, ReadonlySet<Group>>,
  budget: Spend,
): boolean {
  const seen = new Set<Group>()
  return loop.args.every(({ value }) =>
    [...(makers.get(value) ?? [])].every((each) => each === group || !needs(each, group, seen, budget)),
  )
}

/** Whether `from` is `to`, reads its values, or depends on a group that does. */
function needs(from: Group, to: Group, seen: Set<Group>, budget: Spend): boolean {
  const waiting = [from]
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    if (each === to) return true
    // Every reader of a value of the other group comes after that group's first loop.
    if (each.reach <= to.first || seen.has(each)) continue
    seen.add(each)
    budget.spend(VISIT_UNITS * (1 + each.before.size))
    for (const next of each.before) waiting.push(next)
  }
  return false
}

/**
 * Whether another group, which computes an argument of the loop in step with it, can join the loop's group.
 */
function mayMerge(group: Group, other: Group, loop: Loop, budget: Spend): boolean {
  if (other === group || !group.fuses || !other.fuses) return false
  if (other.product !== undefined || group.product !== undefined) return false
  if (isOne(other) || isOne(group)) return false
  if (group.loops.length + other.loops.length > MAX_LOOPS || group.cost + other.cost > MAX_COST) return false
  // Tables and indices are read from memory.
  if (loop.loop === 'gather' || (loop.loop === 'place' && isOfRows(other, loop))) return false
  if (!isSameList(other.space, group.space) || (other.isReduced && group.space.length === 0)) return false
  if (readTooMany(group, other)) return false
  if ((group.isReduced || other.isReduced) && [...group.loops, ...other.loops].some(isScattered)) return false
  const { space, made } = other
  const next = { space, made, isReduced: group.isReduced || other.isReduced }
  const own = loop.args.filter(({ value }) => isMade(other, value))
  if (!own.every((ref) => isInStep(next, ref))) return false
  const isRead = group.loops.some(
    (each) => each !== loop && each.args.some(({ value }) => isMade(other, value)),
  )
  // The group reads the other one only because of this loop.
  const rest = [...group.before].filter((each) => each !== other)
  const reaches = (before: Iterable<Group>, to: Group, seen = new Set<Group>()): boolean =>
    [...before].some((each) => needs(each, to, seen, budget))
  return !isRead && !reaches(rest, other) && !reaches(other.before, group)
}

function merge(
  groups: Set<Group>,
  makers: Map<Value, Set<Group>>,
  group: Group,
  other: Group,
  budget: Spend,
): void {
  budget.spend(VISIT_UNITS * (other.before.size + other.after.size))
  group.cost += other.cost

  group.loops.unshift(...other.loops)
  group.isReduced ||= other.isReduced
  group.first = Math.min(group.first, other.first)
  for (const value of other.made.keys()) group.read.delete(value)
  for (const value of other.read) if (!group.made.has(value)) group.read.add(value)
  for (const each of other.before) {
    group.before.add(each)
    each.after.delete(other)
    each.after.add(group)
  }
  group.before.delete(other)
  groups.delete(other)
  for (const each of other.after) {
    if (each === group) continue
    each.before.delete(other)
    each.before.add(group)
    group.after.add(each)
    raise(each, group.reach, budget)
  }
  for (const [value, loops] of other.made) {
    group.made.set(value, [...loops, ...(group.made.get(value) ?? [])])
    const set = makers.get(value)!
    set.delete(other)
    set.add(group)
  }
}

/** Orders groups so that each comes after those whose values it reads. */
function inOrder(groups: ReadonlySet<Group>): readonly Group[] {
  const ordered = new Set<Group>()
  for (const first of groups) {
    // A stack instead of recursion, because a chain may have many thousands of groups.
    const waiting = [{ group: first, rest: first.before.values() }]
    for (let last = waiting.at(-1); last !== undefined; last = waiting.at(-1)) {
      const { value: group } = ordered.has(last.group) ? { value: undefined } : last.rest.next()
      if (group === undefined) ordered.add(waiting.pop()!.group)
      else if (!ordered.has(group)) waiting.push({ group, rest: group.before.values() })
    }
  }
  return [...ordered]
}
