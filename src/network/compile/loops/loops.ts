// Loops: the values of a graph whose sizes are known, and the loops that make them.
import { roundUp } from '../../../core/abi/encodings.ts'
import { countOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { costOf, type Kind, type Tree } from './tree.ts'
import { inverseOf, isWhole, spread, transposed, type View, whole } from './view.ts'

/**
 * How an output element depends on input elements (the mapping types of DNNFusion, without `reorganize`,
 * which is a view): `one-to-one` elementwise; `one-to-many` with broadcasting or repetition; `many-to-many`
 * reductions and products; `shuffle` the same elements in another order.
 */
export type Mapping = 'one-to-one' | 'one-to-many' | 'many-to-many' | 'shuffle'

/** Elements in row order of `dims`, which may be another order of axes than the graph's. */
export interface Value {
  readonly id: number
  /** The graph's name, or that of the node that needs it. */
  readonly name: string
  readonly kind: Kind
  readonly dims: readonly number[]
  /** The data from the caller or from the file; absent if loops compute it. */
  readonly given?: { readonly input: string } | GivenConstant | undefined
}

/** A constant of the file. Codes become floats when they are loaded: (code - zero) * scale. */
export interface GivenConstant {
  readonly constant: string
  readonly codes?: Codes | BlockCodes | undefined
  /** Which elements, in the row order of the view's dims. Default: all as they lie. Not beside codes. */
  readonly view?: View | undefined
  /** How packed codes lie in memory. Default: an element for each of the file's. Not beside the others. */
  readonly packing?: Packing | undefined
}

/**
 * `words`: four bytes in each element, the first as its lowest. `nibbles`: a code of 4 bits in each element;
 * of bytes, the low half comes first.
 */
export type Packing = 'words' | 'nibbles'

/** The number added to signed 4-bit codes in words, so that none is negative. */
export const SIGNED_MIDDLE = 8

/** Whether the value is one of the file's. */
export const isConstant = (value: Value): value is Value & { readonly given: GivenConstant } =>
  value.given !== undefined && 'constant' in value.given

/** One number for all, or one for each index of the axis. */
export interface Codes {
  readonly axis: number
  readonly scale: readonly number[]
  readonly zero: readonly number[]
}

/**
 * Rows [n, k] whose blocks have a scale each: codes [n][k / block], of 4 bits two in a byte, the first in its
 * low half.
 */
export interface BlockCodes {
  readonly bits: 4 | 8
  readonly block: number
  readonly k: number
  /** Constants: scales [n][k / block]; zero points as codes are, by default 2^(bits - 1). */
  readonly scales: string
  readonly zeros?: string | undefined
}

/** A value as a loop reads it. `view.dims` are the dims that the graph sees. */
export interface Ref {
  readonly value: Value
  readonly view: View
}

/** A checked one notes a result that is not an i32, as checked instructions do. */
export type Reduction = 'sum' | 'max' | 'min' | 'product' | 'sum checked' | 'product checked'

/** The result of reducing no elements. */
const NEUTRALS: Readonly<Record<Kind, Readonly<Record<'sum' | 'max' | 'min' | 'product', number>>>> = {
  f32: { sum: 0, max: -Infinity, min: Infinity, product: 1 },
  i32: { sum: 0, max: -(2 ** 31), min: 2 ** 31 - 1, product: 1 },
}
export const neutralOf = (kind: Kind, how: Reduction): number =>
  NEUTRALS[kind][how === 'sum checked' ? 'sum' : how === 'product checked' ? 'product' : how]

/** What all loops have. The space of a loop is what it runs over. */
interface LoopBase {
  /** The node that it comes from, for messages and prints. */
  readonly node: string
  readonly mapping: Mapping
  readonly out: Value
}

/** out[i] = tree(args[i]). Each argument has the dims of `out`. */
interface MapLoop extends LoopBase {
  readonly loop: 'map'
  readonly args: readonly Ref[]
  readonly tree: Tree
  /** Numbers that depend on sizes, which the tree reads. */
  readonly sizes: readonly number[]
}

/** out[i] = the reduction of arg[i, j] over j, the last axis. `out.dims` are the dims of `arg` before it. */
interface ReduceLoop extends LoopBase {
  readonly loop: 'reduce'
  readonly args: readonly [Ref]
  readonly how: Reduction
}

/** out[i] = table[i + step * index[i]]: the table's view has stride 0 along the axes of the index. */
interface GatherLoop extends LoopBase {
  readonly loop: 'gather'
  readonly args: readonly [table: Ref, index: Ref]
  /** Elements from one index to the next. */
  readonly step: number
  /** Indices are from -size to size - 1. */
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
  /** Where rows of A are windows: its last axes are then those of rows and those of the sum. */
  readonly windows?: Windows | undefined
}

/** Rows that no strides describe, because each is of several runs of neighbouring numbers. */
export interface Windows {
  /** How many axes of A are rows, and how many after them are added up. */
  readonly rowAxes: number
  readonly sumAxes: number
  /** Number of adjacent numbers in a run. */
  readonly run: number
  /** i32 [m]: the bytes from the first row to each. */
  readonly rows: Ref
  /** i32 [k / run]: the bytes from the end of each run to the next one of its row; 0 after the last. */
  readonly gaps: Ref
}

/**
 * out[i + step * index[i]] = arg[i], or what `tree` makes of the old element (0) and of arg[i] (1). Elements
 * are written in their order. Other loops have made `out` before; `to` reads it, with stride 0 along the axes
 * of the index.
 */
export interface ScatterLoop extends LoopBase {
  readonly loop: 'scatter'
  readonly args: readonly [updates: Ref, index: Ref, to: Ref]
  readonly tree: Tree | undefined
  /** Elements from one index to the next. */
  readonly step: number
  /** Indices are from -size to size - 1. */
  readonly size: number
}

/**
 * out[..., j] = the place of the number that is j-th in order along the last axis of arg: the largest first,
 * or the least. Equal numbers keep their order, and NaN is greater than every number.
 */
export interface SelectLoop extends LoopBase {
  readonly loop: 'select'
  readonly args: readonly [Ref]
  readonly isLeast: boolean
}

/** The encodings of matrices that the engine's kernels multiply by. */
export type MatrixEncoding = 'w8_g32' | 'w4_g32'

/** out = the rows of arg, f32 [m, k], as 8-bit codes with a scale for each 32 of them: i32 [m, words]. */
interface QuantizeLoop extends LoopBase {
  readonly loop: 'quantize'
  /** Numbers of a row are neighbours, and k is a multiple of 32. */
  readonly args: readonly [Ref]
}

/** out[m, n] = sum over k of x[m, k] * matrix[k, n], by a kernel of the engine. f32 [m, n up to 32]. */
export interface LinearLoop extends LoopBase {
  readonly loop: 'linear'
  /** Rows that a quantize loop made. */
  readonly args: readonly [Ref]
  readonly m: number
  /** The constant as the product reads it: [k, n]. */
  readonly matrix: Ref
  readonly encoding: MatrixEncoding
}

export type KernelLoop = QuantizeLoop | LinearLoop
export type Loop =
  | MapLoop
  | ReduceLoop
  | GatherLoop
  | PlaceLoop
  | ProductLoop
  | ScatterLoop
  | SelectLoop
  | KernelLoop

/** Whether a kernel of the engine runs the loop. */
export const isKernelLoop = (loop: Loop): loop is KernelLoop =>
  loop.loop === 'quantize' || loop.loop === 'linear'

/** Whether the loop is its own group. */
export const isAlone = (loop: Loop): boolean =>
  isKernelLoop(loop) || loop.loop === 'scatter' || loop.loop === 'select'

/** Bytes of a quantised row of `k` numbers: codes, then a scale and a sum for each 32. */
export const codedRowBytes = (k: number): number => roundUp(k + (8 * k) / 32, 16)

/** A graph whose sizes are known, as loops in the order in which they run. */
export interface LoopList {
  readonly loops: readonly Loop[]
  readonly inputs: ReadonlyMap<string, Value>
  readonly outputs: readonly { readonly name: string; readonly ref: Ref; readonly dtype: Tensor['dtype'] }[]
  /** Constants that the file does not have. */
  readonly made: ReadonlyMap<string, Tensor>
  /** Bytes that Reshape, Transpose, Slice and the like would move if each of them ran. */
  readonly viewBytes: number
  /** Nodes that became views. */
  readonly viewNodes: number
}

/**
 * Steps of an instruction on an element: it takes about as long as this many multiplications of a product.
 */
const ELEMENT_STEPS = 16

/** Steps of a run that a loop takes: multiplications of products, or weighted instructions on elements. */
export function stepsOf(loop: Loop): number {
  switch (loop.loop) {
    case 'product':
      return countOf(loop.at.dims) * loop.args[1].view.dims.at(-2)!
    case 'linear':
      return loop.m * countOf(dimsOf(loop.matrix))
    case 'map':
      return ELEMENT_STEPS * countOf(loop.out.dims) * (1 + costOf(loop.tree))
    case 'select':
      return ELEMENT_STEPS * countOf(dimsOf(loop.args[0])) * (1 + Math.log2(1 + loop.out.dims.at(-1)!))
    case 'reduce':
    case 'gather':
    case 'place':
    case 'scatter':
    case 'quantize':
      return ELEMENT_STEPS * countOf(dimsOf(loop.args[0]))
    default:
      return loop satisfies never
  }
}

export const refTo = (value: Value): Ref => ({ value, view: whole(value.dims) })
export const dimsOf = ({ view }: Ref): readonly number[] => view.dims
export const bytesOf = ({ dims }: Pick<Value, 'dims'>): number => 4 * countOf(dims)
/** The reference with its axes in another order. */
export const turnedRef = (ref: Ref, perm: readonly number[]): Ref => ({
  ...ref,
  view: transposed(ref.view, perm),
})

/** The reference whose axes were put in the order `perm`, in the graph's order. */
export const unturned = (ref: Ref, perm: readonly number[] | undefined): Ref =>
  perm === undefined ? ref : turnedRef(ref, inverseOf(perm))

export const spreadRef = ({ value, view }: Ref, to: readonly number[]): Ref => ({
  value,
  view: spread(view, to),
})
/** Whether the reference is all of its value in order, perhaps under other dims. */
export const isAll = ({ value, view }: Ref): boolean => isWhole(view, value.dims)
