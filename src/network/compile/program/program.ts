// The program of a network: groups of loops as steps with kernels, and memory for the values between them.
import { arenaAligned, planArena } from '../../../core/graph/plan/arena.ts'
import type { ProgramBudget } from '../../onnx/graph-budget.ts'
import { isBig } from '../../onnx/ir/tensor.ts'
import {
  type Kernel,
  type KernelCall,
  PANEL,
  placedIn,
  type StreamPlace,
  writtenStreams,
} from '../emit/kernel.ts'
import { type Group, growGroups } from '../fuse/groups.ts'
import { kernelOf } from '../fuse/kernel-of.ts'
import {
  bytesOf,
  elementBytes,
  isConstant,
  isKernelLoop,
  type LoopList,
  stepsOf,
  type Value,
} from '../loops/loops.ts'
import type { Tree } from '../loops/tree.ts'
import type { LeftOut } from '../stages.ts'
import { checkCall, checkKernel } from './check.ts'
import { emitted, type Step } from './step.ts'

/** Everything that a run needs of a program. */
export interface RunnableProgram {
  readonly lowered: Pick<LoopList, 'inputs' | 'outputs'>
  readonly steps: readonly Step[]
  /** Byte offsets in the arena. Constants are not in it. */
  readonly places: ReadonlyMap<Value, number>
  readonly arenaBytes: number
  readonly scratchBytes: number
}

export interface Program extends RunnableProgram {
  readonly lowered: LoopList
  /** The loops of each step. */
  readonly groups: readonly Group[]
}

/** The last vector of a row may read past the end of the row. */
const PADDING = 64

/** How many placed values are examined per planning unit. */
const LOOKED_AT = 8

/** Options for making a program. */
interface ProgramOptions {
  readonly leftOut: LeftOut
  readonly budget: ProgramBudget
}

/** Throws `out-of-memory` if the program exceeds the budget. */
export function programOf(lowered: LoopList, { leftOut, budget }: ProgramOptions): Program {
  const groups = growGroups(lowered, (loop) => !leftOut.has('groups') && !leftOut.has(loop.mapping), budget)
  const isRead = readOutside(lowered, groups)
  const keys = new Set<string>()
  const steps = groups.map((group): Step => {
    const [first] = group.loops
    const taken = group.loops.reduce((sum, loop) => sum + stepsOf(loop), 0)
    if (isKernelLoop(first!)) {
      checkKernel(first)
      return { kernel: first, nodes: [first.node], taken }
    }
    const call = kernelOf(group, isRead, !leftOut.has('panels'))
    const nodes = [...new Set(group.loops.map(({ node }) => node))]
    checkCall(call, nodes)
    const key = keyOf(call.kernel)
    if (!keys.has(key)) budget.spend(FUNCTION_UNITS + INSTRUCTION_UNITS * group.cost)
    keys.add(key)
    return { call, key, units: unitsOf(call), nodes, taken }
  })
  const { places, bytes } = placesOf(lowered, steps, !leftOut.has('places'), budget)
  budget.room(() => 'the memory that a run holds at once', bytes + copiedOut(lowered))
  return {
    lowered,
    groups,
    steps,
    places,
    arenaBytes: bytes,
    scratchBytes: emitted(steps).reduce(
      (most, { call }) => Math.max(most, arenaAligned(call.scratchBytes)),
      0,
    ),
  }
}

/** Planning units for emitting and compiling a function, and for each of its instructions. */
const FUNCTION_UNITS = 16_384
const INSTRUCTION_UNITS = 256

/** Bytes of the outputs, which are copied for the caller. */
const copiedOut = ({ outputs }: LoopList): number =>
  outputs.reduce((sum, { ref, dtype }) => sum + (isBig(dtype) ? 2 : 1) * bytesOf(ref.value), 0)

/** A key that is equal for equal kernels. JSON lacks infinities, NaN and -0. */
export function keyOf(kernel: Kernel): string {
  const special: string[] = []
  for (const cell of kernel.cells) if ('tree' in cell) findSpecial(cell.tree, special)
  return JSON.stringify(kernel) + special.join(' ')
}

/** Finds the numbers that JSON cannot represent, in order. */
function findSpecial(tree: Tree, found: string[]): void {
  if ('op' in tree) for (const each of tree.of) findSpecial(each, found)
  else if ('value' in tree && (tree.value === 0 || !Number.isFinite(tree.value)))
    found.push(Object.is(tree.value, -0) ? '-0' : `${tree.value}`)
}

/** Values that the caller or another group reads. */
function readOutside({ outputs }: LoopList, groups: readonly Group[]): (value: Value) => boolean {
  const makers = new Map<Value, Group>()
  for (const group of groups) for (const { out } of group.loops) makers.set(out, group)
  const read = new Set<Value>(outputs.map(({ ref }) => ref.value))
  for (const group of groups)
    for (const { args } of group.loops)
      for (const { value } of args) if (makers.get(value) !== group) read.add(value)
  return (value) => read.has(value)
}

function unitsOf({ kernel, outer, inner, product, selected }: KernelCall): number {
  const count = outer.reduce((product, size) => product * size, 1)
  if (kernel.isOrdered) return count * inner === 0 ? 0 : 1
  if (selected === 0) return 0
  if (product === undefined) return inner === 0 ? 0 : count
  return product.m === 0 ? 0 : count * Math.ceil(product.m / product.rows) * Math.ceil(product.n / PANEL)
}

function placesOf(lowered: LoopList, steps: readonly Step[], mayShare: boolean, budget: ProgramBudget) {
  const spans = new Map<Value, { from: number; to: number }>()
  const touch = (value: Value | undefined, at: number): void => {
    if (value === undefined || isConstant(value)) return
    const span = spans.get(value)
    if (span === undefined) spans.set(value, { from: at, to: at })
    else span.to = Math.max(span.to, at)
  }
  for (const value of lowered.inputs.values()) touch(value, 0)
  for (const [at, step] of steps.entries()) for (const value of valuesOf(step)) touch(value, at)
  for (const { ref } of lowered.outputs) touch(ref.value, steps.length)
  const shared = mayShare ? sharedPlaces(lowered, steps, spans) : new Map<Value, Value>()
  // The map lists a value after the one that it overwrites, so one pass finds the root of each.
  const rooted = new Map<Value, Value>()
  for (const [value, over] of shared) rooted.set(value, rooted.get(over) ?? over)
  const rootOf = (value: Value): Value => rooted.get(value) ?? value
  const roots = new Map<Value, { from: number; to: number }>()
  for (const [value, { from, to }] of spans) {
    const root = roots.get(rootOf(value))
    if (root === undefined) roots.set(rootOf(value), { from, to })
    else {
      root.from = Math.min(root.from, from)
      root.to = Math.max(root.to, to)
    }
  }
  const buffers = [...roots].map(([value, span]) => ({
    value,
    bytes: bytesOf(value) + PADDING,
    ...(mayShare ? span : { from: 0, to: steps.length }),
  }))
  const { offsets, bytes } = planArena(buffers, (placed) => budget.spend(placed / LOOKED_AT))
  const offsetOf = new Map([...offsets].map(([{ value }, offset]) => [value, offset]))
  const places = new Map([...spans.keys()].map((value) => [value, offsetOf.get(rootOf(value))!]))
  return { places, bytes }
}

/** Values read or written by a step. */
function valuesOf(step: Step): readonly (Value | undefined)[] {
  if ('kernel' in step) return [step.kernel.args[0].value, step.kernel.out]
  const { streams, product } = step.call
  const { rows, gaps } = product?.windows ?? {}
  return [...streams, product?.a, product?.b, rows, gaps].map((place) => place && placedIn(place))
}

/**
 * Values that are written over another value, each element of which has been read for the last time before it
 * is overwritten.
 */
function sharedPlaces(
  lowered: LoopList,
  steps: readonly Step[],
  spans: ReadonlyMap<Value, { readonly from: number; readonly to: number }>,
): ReadonlyMap<Value, Value> {
  const shared = new Map<Value, Value>()
  const taken = new Set<Value>(lowered.outputs.map(({ ref }) => ref.value))
  const isOutput = new Set(taken)
  for (const [at, step] of steps.entries()) {
    if ('kernel' in step) continue
    const { kernel, streams, product } = step.call
    for (const { stream, pass, isRow } of kernel.stores) {
      const to = streams[stream]!
      const value = placedIn(to)
      if (value === undefined || isRow || pass !== kernel.passes - 1 || shared.has(value)) continue
      if (spans.get(value)!.from !== at || !isAlone(kernel, streams, value)) continue
      const old = streams.find((from, index) => {
        const other = placedIn(from)
        if (other === undefined || other === value || taken.has(other) || isOutput.has(other)) return false
        const span = spans.get(other)
        if (span === undefined || span.to !== at || bytesOf(other) !== bytesOf(value)) return false
        if (elementBytes(other) !== elementBytes(value)) return false
        if (other === placedIn(product?.a ?? from) && product !== undefined) return false
        if (product !== undefined && other === placedIn(product.b)) return false
        return (
          !writtenStreams(kernel).has(index) &&
          streams.every((each) => placedIn(each) !== other || isSamePlace(each, to))
        )
      })
      if (old === undefined) continue
      taken.add(placedIn(old)!)
      shared.set(value, placedIn(old)!)
    }
  }
  return shared
}

/** Whether a single store writes the whole value. */
const isAlone = (kernel: Kernel, streams: readonly StreamPlace[], value: Value): boolean =>
  kernel.stores.filter(({ stream }) => placedIn(streams[stream]!) === value).length === 1

const isSamePlace = (a: StreamPlace, b: StreamPlace): boolean =>
  'value' in a.at &&
  'value' in b.at &&
  a.at.offset === b.at.offset &&
  a.inner === b.inner &&
  a.index === undefined &&
  `${a.steps}` === `${b.steps}`
