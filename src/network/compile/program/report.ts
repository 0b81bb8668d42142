// What a program moves: bytes that its steps read and write, and layouts that it converts.
import { matrixBytes } from '../../../core/abi/encodings.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { placedIn, writtenStreams } from '../emit/kernel.ts'
import type { Group } from '../fuse/groups.ts'
import { bytesOf, dimsOf, isConstant, type LinearLoop, type Loop, type Value } from '../loops/loops.ts'
import { orderOf, type View, whole } from '../loops/view.ts'
import type { Program } from './program.ts'
import type { Step } from './step.ts'

interface ProgramReport {
  readonly loops: number
  readonly groups: number
  /** Bytes of values that groups read and write. */
  readonly movedBytes: number
  /** Bytes that the same loops would read and write without fusion. */
  readonly unfusedBytes: number
  /** Bytes that Reshape, Transpose, Slice and the like would read and write if they were copies. */
  readonly viewBytes: number
  readonly viewNodes: number
  /** Bytes read and written by loops that only move elements. */
  readonly copiedBytes: number
  /** The steps that change the layout of values: read elements in one order and write them in another. */
  readonly conversions: Conversions
  /** Bytes of all values between groups if none shared memory. */
  readonly valueBytes: number
}

/** Indices of steps. */
interface Conversions {
  /** Steps that only move elements, into another order of axes. */
  readonly alone: readonly number[]
  /** Steps that compute, or pad, as they change the order. */
  readonly fused: readonly number[]
  /** Steps that only move elements and keep their order: padding, concatenation. */
  readonly copies: readonly number[]
}

/** The bytes of values that a step reads and writes, counting each value once. */
export function movedBy(step: Step) {
  if ('kernel' in step) {
    const { args, out } = step.kernel
    const weights = step.kernel.loop === 'linear' ? weightBytes(step.kernel) : 0
    return { read: bytesOf(args[0].value) + weights, written: bytesOf(out) }
  }
  const { kernel, outer, inner, streams, product } = step.call
  const written = writtenStreams(kernel)
  const rows = outer.reduce((count, size) => count * size, 4 * inner)
  const read = new Map<Value, number>()
  const made = new Map<Value, number>()
  for (const [at, stream] of streams.entries()) {
    const value = placedIn(stream)
    // Counts only as many rows of a table as are gathered.
    const bytes = stream.index === undefined ? (value ? bytesOf(value) : 0) : rows
    if (value !== undefined) (written.has(at) ? made : read).set(value, bytes)
  }
  for (const side of product === undefined ? [] : [product.a, product.b]) {
    const value = placedIn(side)
    if (value !== undefined) read.set(value, bytesOf(value))
  }
  const sum = (map: ReadonlyMap<Value, number>) =>
    [...map.values()].reduce((total, bytes) => total + bytes, 0)
  return { read: sum(read), written: sum(made) }
}

/** Bytes of a matrix in the encoding of the kernels. */
function weightBytes({ matrix, encoding }: LinearLoop): number {
  const [k, n] = dimsOf(matrix) as [number, number]
  return matrixBytes(encoding, n, k)
}

/** Bytes read and written by a loop that only moves elements. */
const copiedBy = (loop: Loop): number =>
  8 * countOf(loop.loop === 'place' ? dimsOf(loop.args[0]) : loop.out.dims)

/** Whether the group only moves elements. */
const isMoving = ({ loops }: Group): boolean =>
  loops.every((loop) => loop.loop === 'place' || (loop.loop === 'map' && 'arg' in loop.tree))

function conversionsOf(groups: readonly Group[]): Conversions {
  const found = { alone: [] as number[], fused: [] as number[], copies: [] as number[] }
  for (const [index, group] of groups.entries()) {
    if (group.loops.some(isConverting)) found[isMoving(group) ? 'alone' : 'fused'].push(index)
    else if (isMoving(group)) found.copies.push(index)
  }
  return found
}

/** Whether an elementwise loop reads a computed value in another order of axes than it writes. */
function isConverting(loop: Loop): boolean {
  if (loop.loop !== 'map' && loop.loop !== 'place') return false
  const to = loop.loop === 'place' ? { ...loop.at, dims: dimsOf(loop.args[0]) } : whole(loop.out.dims)
  return loop.args.some(({ value, view }) => !isConstant(value) && isTurned(view, to))
}

/** Whether the axes of two views of the same elements have different orders in memory. */
function isTurned(from: View, to: View): boolean {
  const steps = orderOf(to)
    .filter((axis) => from.dims[axis] !== 1 && from.strides[axis] !== 0)
    .map((axis) => Math.abs(from.strides[axis]!))
  return steps.some((step, at) => at > 0 && step > steps[at - 1]!)
}

export function reportOf({ lowered, groups, steps, places }: Program): ProgramReport {
  const values = (list: Iterable<Value | undefined>) =>
    [...new Set(list)].reduce((sum, value) => sum + (value === undefined ? 0 : bytesOf(value)), 0)
  const { loops, viewBytes, viewNodes } = lowered
  const unfusedBytes = loops.reduce((sum, each) => {
    const { loop, args, out } = each
    // A gather reads as many bytes of its table as it writes.
    const read = loop === 'gather' ? args.slice(1) : args
    const weights = loop === 'linear' ? weightBytes(each) : 0
    return sum + weights + bytesOf(out) * (loop === 'gather' ? 2 : 1) + values(read.map(({ value }) => value))
  }, 0)
  const movedBytes = steps.reduce((sum, step) => {
    const { read, written } = movedBy(step)
    return sum + read + written
  }, 0)
  const copiedBytes = groups
    .filter(isMoving)
    .reduce((sum, group) => sum + group.loops.reduce((bytes, loop) => bytes + copiedBy(loop), 0), 0)
  return {
    loops: loops.length,
    groups: groups.length,
    movedBytes,
    unfusedBytes,
    viewBytes,
    viewNodes,
    copiedBytes,
    conversions: conversionsOf(groups),
    valueBytes: values(places.keys()),
  }
}
