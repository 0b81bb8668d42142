// Grows groups of loops that become one function each.
import type { Budget } from '../../../core/base/budget.ts'
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
  /** Values that its loops read, including its own. */
  readonly read: Set<Value>
  /** The list index of its first loop. */
  first: number
  /** The highest list index of any loop in it or in a group that it depends on. */
  reach: number
  /** Instructions per element. */
  cost: number
}

export const squeezed = (dims: readonly number[]): readonly number[] => dims.filter((size) => size !== 1)

const isSame = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, axis) => size === b[axis])

/** The space over which a loop runs. */
const spaceOf = (loop: Loop): readonly number[] =>
  squeezed(OVER_ARGUMENT.includes(loop.loop) ? loop.args[0].view.dims : loop.out.dims)

const OVER_ARGUMENT: readonly Loop['loop'][] = ['reduce', 'place', 'scatter', 'select']

/**
 * How a loop of the group reads or writes a value: at each element, once per row, or at positions other than
 * the loop's.
 */
export type Scope = 'full' | 'row'

export const scopeIn = (
  group: Pick<Group, 'space' | 'isReduced'>,
  dims: readonly number[],
): Scope | undefined => {
  const own = squeezed(dims)
  if (isSame(own, group.space)) return 'full'
  return group.isReduced && isSame(own, group.space.slice(0, -1)) ? 'row' : undefined
}

/** Leaves out axes of one element. */
export function squeezedView({ offset, dims, strides }: View): View {
  const kept = dims.map((_, axis) => axis).filter((axis) => dims[axis] !== 1)
  return { offset, dims: squeezed(dims), strides: kept.map((axis) => strides[axis]!) }
}

/** Whether a reference reads each element of a value in the same iteration in which the group computes it. */
function isInStep(group: Group, { value, view }: Ref): boolean {
  // Parts of a value are written in place, not held in registers.
  if (group.made.get(value)?.some(({ loop }) => loop === 'place')) return false
  const made = scopeIn(group, value.dims)
  if (made === undefined) return false
  const own = squeezedView(view)
  if (made === 'full') return isSame(own.dims, group.space) && isWhole(own, own.dims)
  if (isSame(own.dims, group.space.slice(0, -1))) return isWhole(own, own.dims)
  if (!isSame(own.dims, group.space) || own.strides.at(-1) !== 0) return false
  const rows = { offset: own.offset, dims: own.dims.slice(0, -1), strides: own.strides.slice(0, -1) }
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
    const near = [...new Set(loop.args.flatMap(({ value }) => [...(makers.get(value) ?? [])]))]
    // Takes the largest intermediate value first, because it saves the most.
    const sizes = new Map(near.map((group) => [group, savedBy(group, loop)]))
    near.sort((a, b) => sizes.get(b)! - sizes.get(a)!)
    const joined =
      near.find((group) => fuses(loop) && group.loops.every(fuses) && mayJoin(group, loop, makers, budget)) ??
      newGroup(groups, loop, at)
    add(joined, loop, at, makers, budget)
    // Several groups may write parts of one value.
    makers.set(loop.out, (makers.get(loop.out) ?? new Set()).add(joined))
    for (const other of near)
      if ([...joined.loops, ...other.loops].every(fuses) && mayMerge(joined, other, loop, budget))
        merge(groups, makers, joined, other, budget)
  }
  return inOrder(groups)
}

function add(
  group: Group,
  loop: Loop,
  at: number,
  makers: ReadonlyMap<Value, ReadonlySet<Group>>,
  budget: Spend,
): void {
  group.loops.push(loop)
  group.cost += costOfLoop(loop)
  group.made.set(loop.out, [...(group.made.get(loop.out) ?? []), loop])
  if (loop.loop === 'reduce') group.isReduced = true
  for (const { value } of loop.args) {
    group.read.add(value)
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

const savedBy = (group: Group, loop: Loop): number =>
  Math.max(
    0,
    ...loop.args
      .filter(({ value }) => isMade(group, value))
      .map(({ value }) => value.dims.reduce((count, size) => count * size, 1)),
  )

/** An empty group for the loop, which is added later. */
function newGroup(groups: Set<Group>, loop: Loop, first: number): Group {
  const product = loop.loop === 'product' ? loop : undefined
  const group: Group = {
    loops: [],
    product,
    space: spaceOf(loop),
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

/** Values that the group reads and that neither group computes. */
function readBesides({ read, made }: Group, other: Pick<Group, 'made'>): Set<Value> {
  const found = new Set<Value>()
  for (const value of read) if (!made.has(value) && !other.made.has(value)) found.add(value)
  return found
}

function mayJoin(
  group: Group,
  loop: Loop,
  makers: ReadonlyMap<Value, ReadonlySet<Group>>,
  budget: Spend,
): boolean {
  if (loop.loop === 'product' || isAlone(loop) || isOne(group)) return false
  if (group.loops.length >= MAX_LOOPS || group.cost + costOfLoop(loop) > MAX_COST) return false
  const known = loop.args.flatMap(({ value }) => group.made.get(value) ?? [])
  if (known.some(({ mapping }) => PAIRS[mapping][loop.mapping] === 'never')) return false
  const read = readBesides(group, group)
  for (const { value } of loop.args) if (!group.made.has(value)) read.add(value)
  if (read.size > MAX_READ) return false
  // Tables and indices are read from memory.
  if (loop.loop === 'gather' && known.length > 0) return false
  return fits(group, loop) && isLegal(group, loop, makers, budget)
}

function fits(group: Group, loop: Loop): boolean {
  const space = spaceOf(loop)
  if (loop.loop === 'reduce') {
    if (group.product !== undefined || !isSame(space, group.space)) return false
    if ((space.at(-1) ?? 1) > MAX_ROW || group.loops.some(isScattered)) return false
    // In a group without reductions, the last axis is not fixed yet.
    const next = { ...group, isReduced: true }
    return loop.args.every((ref) => !isMade(group, ref.value) || isInStep(next, ref))
  }
  const isRow = group.isReduced && isSame(space, group.space.slice(0, -1))
  if (!isRow && !isSame(space, group.space)) return false
  // Parts of a value are written at every element of the space.
  if (loop.loop === 'place' && (isRow || isOfRows(group, loop))) return false
  if (!loop.args.every((ref) => !isMade(group, ref.value) || isInStep(group, ref))) return false
  const { product } = group
  if (product === undefined) return true
  const views = loop.args.filter((ref) => !isMade(group, ref.value)).map(({ view }) => view)
  if (loop.loop === 'place') {
    views.push(loop.at)
    if (overProduct({ ...loop.at, dims: loop.args[0].view.dims }, product) === undefined) return false
    return isSame(loop.args[0].view.dims, product.out.dims)
  }
  // Its output may be stored to memory.
  views.push(whole(loop.out.dims))
  return (
    isSame(loop.out.dims, product.out.dims) && views.every((view) => overProduct(view, product) !== undefined)
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
  if (other === group || other.product !== undefined || group.product !== undefined) return false
  if (isOne(other) || isOne(group)) return false
  if (group.loops.length + other.loops.length > MAX_LOOPS || group.cost + other.cost > MAX_COST) return false
  // Tables and indices are read from memory.
  if (loop.loop === 'gather' || (loop.loop === 'place' && isOfRows(other, loop))) return false
  if (!isSame(other.space, group.space) || (other.isReduced && group.space.length === 0)) return false
  const read = new Set([...readBesides(group, other), ...readBesides(other, group)])
  if (read.size > MAX_READ) return false
  if ((group.isReduced || other.isReduced) && [...group.loops, ...other.loops].some(isScattered)) return false
  const next = { ...other, isReduced: group.isReduced || other.isReduced }
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
  for (const value of other.read) group.read.add(value)
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
