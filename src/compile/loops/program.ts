// Programs: the values of a graph whose sizes are known, and the loops that make them.
import type { Mapping } from '../../onnx/ir/operator.ts'
import { countOf, type Tensor } from '../../onnx/ir/tensor.ts'
import type { Kind, Tree } from './tree.ts'
import { isWhole, spread, type View, whole } from './view.ts'

/** Elements in row order of `dims`, which may be another order of axes than the graph's. */
export interface Value {
  readonly id: number
  /** The graph's name, or that of the node that needs it. */
  readonly name: string
  readonly kind: Kind
  readonly dims: readonly number[]
  /** What the caller gives, or what the file has; absent where loops make it. */
  readonly given?: { readonly input: string } | GivenConstant | undefined
}

/** A constant of the file. Codes become floats when they are loaded: (code - zero) * scale. */
export interface GivenConstant {
  readonly constant: string
  readonly codes?: Codes | undefined
}

/** One number for all, or one for each index of the axis. */
export interface Codes {
  readonly axis: number
  readonly scale: readonly number[]
  readonly zero: readonly number[]
}

/** A value as a loop reads it. `view.dims` are the dims that the graph sees. */
export interface Ref {
  readonly value: Value
  readonly view: View
}

export type Reduction = 'sum' | 'max' | 'min' | 'product'

/** What all loops have. The space of a loop is what it runs over. */
interface LoopBase {
  /** The node that it comes from, for messages and prints. */
  readonly node: string
  readonly mapping: Mapping
  readonly out: Value
}

/** out[i] = tree(args[i]). Each argument has the dims of `out`. */
export interface MapLoop extends LoopBase {
  readonly loop: 'map'
  readonly args: readonly Ref[]
  readonly tree: Tree
  /** Numbers that depend on sizes, which the tree reads. */
  readonly sizes: readonly number[]
}

/** out[i] = the reduction of arg[i, j] over j, the last axis. `out.dims` are the dims of `arg` before it. */
export interface ReduceLoop extends LoopBase {
  readonly loop: 'reduce'
  readonly args: readonly [Ref]
  readonly how: Reduction
}

/** out[i] = table[i + step * index[i]]: the table's view has stride 0 along the axes of the index. */
export interface GatherLoop extends LoopBase {
  readonly loop: 'gather'
  readonly args: readonly [table: Ref, index: Ref]
  /** Elements from one index to the next. */
  readonly step: number
  /** Indices lie from -size to size - 1. */
  readonly size: number
}

/** out[at] = arg: a part of a value that several loops make. */
export interface PlaceLoop extends LoopBase {
  readonly loop: 'place'
  readonly args: readonly [Ref]
  readonly at: View
}

/** out[at[b, m, n]] = sum over k of a[b, m, k] * b[b, k, n]. */
export interface ProductLoop extends LoopBase {
  readonly loop: 'product'
  readonly args: readonly [a: Ref, b: Ref]
  readonly at: View
}

export type Loop = MapLoop | ReduceLoop | GatherLoop | PlaceLoop | ProductLoop

export interface Program {
  readonly loops: readonly Loop[]
  readonly inputs: ReadonlyMap<string, Value>
  readonly outputs: readonly { readonly name: string; readonly ref: Ref; readonly dtype: Tensor['dtype'] }[]
  /** Bytes that Reshape, Transpose, Slice and the like would move if each of them ran. */
  readonly viewBytes: number
  /** Nodes that became views. */
  readonly viewNodes: number
}

export const refTo = (value: Value): Ref => ({ value, view: whole(value.dims) })
export const dimsOf = ({ view }: Ref): readonly number[] => view.dims
export const bytesOf = ({ dims }: Pick<Value, 'dims'>): number => 4 * countOf(dims)
export const spreadRef = ({ value, view }: Ref, to: readonly number[]): Ref => ({
  value,
  view: spread(view, to),
})
/** Whether the reference is all of its value in order, perhaps under other dims. */
export const isAll = ({ value, view }: Ref): boolean => isWhole(view, value.dims)
