// Loops: the values of a graph whose sizes are known, and the loops that compute them.
import { roundUp } from '../../../core/abi/encodings.ts'
import { countOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { costOf, type Kind, type Tree } from './tree.ts'
import { inverseOf, isWhole, spread, transposed, type View, whole } from './view.ts'

/**
 * How an output element depends on input elements (the mapping types of DNNFusion, without `reorganize`,
 * which is a view): `one-to-one` elementwise; `one-to-many` with broadcasting or repetition; `many-to-many`
 * reductions and products; `shuffle` the same elements in a different order.
 */
export type Mapping = 'one-to-one' | 'one-to-many' | 'many-to-many' | 'shuffle'

/** Elements in row-major order of `dims`, whose axes may be ordered differently from the graph's. */
export interface Value {
  readonly id: number
  /** Its name in the graph, or the name of the node that needs it. */
  readonly name: string
  readonly kind: Kind
  /** Whether its elements, integers from 0 to 255, take a byte each. Otherwise they take four. */
  readonly isByte?: boolean | undefined
  readonly dims: readonly number[]
  /** Data from the caller or the file; absent if loops compute the value. */
  readonly given?: { readonly input: string } | GivenConstant | undefined
}

/** A constant from the file. Codes become floats as they are loaded: (code - zero) * scale. */
export interface GivenConstant {
  readonly constant: string
  readonly codes?: Codes | BlockCodes | undefined
  /**
   * Which elements to take, in the view's row-major order. Default: all, in stored order. Cannot be combined
   * with codes in blocks.
   */
  readonly view?: View | undefined
  /**
   * How packed codes are laid out in memory. Default: one element for each of the file's. Cannot be combined
   * with the other options.
   */
  readonly packing?: Packing | undefined
  /**
   * Whether these are filters, [count, channels, 3, 3], that multiply tiles: [16, channels, count]. Cannot be
   * combined with a view, packing or codes in blocks.
   */
  readonly isTiled?: boolean | undefined
  /**
   * Set for the sums of 8-bit codes, [count]: of each filter, or of each column of a matrix. Every u8 code
   * counts 128 less. Cannot be combined with the other options.
   */
  readonly summed?: CodedPlace | undefined
}

/**
 * How a constant holds 8-bit codes: `filters` [count, channels of a group, ...taps], or a `matrix` [k, n].
 */
export type CodedForm = 'filters' | 'matrix'

/** Where a constant's 8-bit codes are. */
export interface CodedPlace {
  readonly form: CodedForm
  /** Which matrix of several, [count, k, n]. Default: there is one. */
  readonly index?: number | undefined
}

/**
 * `words`: four bytes per element, the first byte lowest. `nibbles`: one 4-bit code per element, a byte's
 * low half first.
 */
export type Packing = 'words' | 'nibbles'

/** The number added to signed 4-bit codes in words, so that none is negative. */
export const SIGNED_MIDDLE = 8

export const isConstant = (value: Value): value is Value & { readonly given: GivenConstant } =>
  value.given !== undefined && 'constant' in value.given

/** One number for all elements, or one for each index of the axis. */
export interface Codes {
  readonly axis: number
  readonly scale: readonly number[]
  readonly zero: readonly number[]
}

/**
 * Rows [n, k] with one scale per block: codes [n][k / block]. Two 4-bit codes share a byte; the first is in
 * the low half.
 */
export interface BlockCodes {
  readonly bits: 4 | 8
  readonly block: number
  readonly k: number
  /** Constants: scales [n][k / block]; zero points laid out like codes, 2^(bits - 1) by default. */
  readonly scales: string
  readonly zeros?: string | undefined
}

/** A value as a loop reads it. `view.dims` are the dims that the graph sees. */
export interface Ref {
  readonly value: Value
  readonly view: View
}

/** A checked reduction flags a result that is not an i32, like checked instructions. */
export type Reduction = 'sum' | 'max' | 'min' | 'product' | 'sum checked' | 'product checked'

/** The result for zero elements. */
const NEUTRALS: Readonly<Record<Kind, Readonly<Record<'sum' | 'max' | 'min' | 'product', number>>>> = {
  f32: { sum: 0, max: -Infinity, min: Infinity, product: 1 },
  i32: { sum: 0, max: -(2 ** 31), min: 2 ** 31 - 1, product: 1 },
}
export const neutralOf = (kind: Kind, how: Reduction): number =>
  NEUTRALS[kind][how === 'sum checked' ? 'sum' : how === 'product checked' ? 'product' : how]

/** Fields that all loops share. A loop's space is the set of indices over which it runs. */
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
  /** Size-dependent numbers that the tree reads. */
  readonly sizes: readonly number[]
}

/** out[i] = the reduction of arg[i, j] over j, the last axis. `out.dims` are the dims of `arg` before it. */
interface ReduceLoop extends LoopBase {
  readonly loop: 'reduce'
  readonly args: readonly [Ref]
  readonly how: Reduction
}

/** out[i] = table[i + step * index[i]]: the table's view has stride 0 along the index's axes. */
interface GatherLoop extends LoopBase {
  readonly loop: 'gather'
  readonly args: readonly [table: Ref, index: Ref]
  /** Elements from one index to the next. */
  readonly step: number
  /** Indices are from -size to size - 1. */
  readonly size: number
}

/** out[at] = arg: part of a value that several loops compute. */
export interface PlaceLoop extends LoopBase {
  readonly loop: 'place'
  readonly args: readonly [Ref]
  readonly at: View
}

/** out[at[b, m, n]] = sum over k of a[b, m, k] * b[b, k, n], or of a[b, m, k, n] * b[b, k, n]. */
export interface ProductLoop extends LoopBase {
  readonly loop: 'product'
  readonly args: readonly [a: Ref, b: Ref]
  readonly at: View
  /** Set if A and B are 8-bit codes, whose sums are integers. */
  readonly codes?: CodeMatrix | undefined
  /** Set if A's rows are windows; A's last axes are then the row axes followed by the summed axes. */
  readonly windows?: Windows | undefined
}

/**
 * Constant filters, or a matrix, as codes, and what their sums begin with. The zero point is 0 of i8 codes,
 * and 128 of u8 ones.
 */
export interface CodeMatrix extends CodedPlace {
  /** The zero point of A's codes, as they are stored. */
  readonly zero: number
  /**
   * A constant, [count], that is added to the sums, divided by one scale for all or by one for each, and
   * rounded.
   */
  readonly bias?: { readonly constant: string; readonly scale: readonly number[] } | undefined
  readonly group: number
  /** The summed axes in the order of A: 0 is the channels, or k. */
  readonly order: readonly number[]
  /**
   * How many channels A has in a group, or how many numbers in a row. Those beyond the filters' own count
   * nothing.
   */
  readonly channels: number
}

/** Rows that strides cannot describe, because each consists of several runs of adjacent numbers. */
export interface Windows {
  /** How many axes of A are rows, and how many after those are summed. */
  readonly rowAxes: number
  readonly sumAxes: number
  /** Whether each column has its own numbers; they are adjacent, and A's axes leave them out. */
  readonly isByColumn: boolean
  /** The number of adjacent numbers in a run; 1 if each column has its own. */
  readonly run: number
  /** i32 [m]: the bytes from the first row to each. */
  readonly rows: Ref
  /**
   * i32 [k / run]: the bytes from the end of each run to the next run in its row, or from one number of a
   * column to the next; 0 after the last.
   */
  readonly gaps: Ref
}

/**
 * out[i + step * index[i]] = arg[i], or `tree` applied to the old element (0) and arg[i] (1). Elements are
 * written in order. Earlier loops have filled `out`; `to` reads it, with stride 0 along the index's axes.
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
 * out[..., j] = the position of the j-th number in sorted order along arg's last axis, largest or smallest
 * first. Equal numbers keep their order, and NaN ranks above every number.
 */
export interface SelectLoop extends LoopBase {
  readonly loop: 'select'
  readonly args: readonly [Ref]
  readonly isLeast: boolean
}

/** The encodings of matrices that the engine's kernels multiply by. */
export type MatrixEncoding = 'w8_g32' | 'w4_g32'

/** out = the rows of arg, f32 [m, k], as 8-bit codes with one scale per 32 codes: i32 [m, words]. */
interface QuantizeLoop extends LoopBase {
  readonly loop: 'quantize'
  /** A row's numbers are contiguous, and k is a multiple of 32. */
  readonly args: readonly [Ref]
}

/**
 * out[m, n] = sum over k of x[m, k] * matrix[k, n], computed by an engine kernel. f32 [m, n rounded up to
 * 32].
 */
export interface LinearLoop extends LoopBase {
  readonly loop: 'linear'
  /** Rows that a quantize loop produced. */
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

/** Whether an engine kernel runs the loop. */
export const isKernelLoop = (loop: Loop): loop is KernelLoop =>
  loop.loop === 'quantize' || loop.loop === 'linear'

/** Whether the loop is a group of its own. */
export const isAlone = (loop: Loop): boolean =>
  isKernelLoop(loop) || loop.loop === 'scatter' || loop.loop === 'select'

/** Bytes of a quantised row of `k` numbers: codes, then a scale and a sum per 32 codes. */
export const codedRowBytes = (k: number): number => roundUp(k + (8 * k) / 32, 16)

/** A graph whose sizes are known, as loops in the order in which they run. */
export interface LoopList {
  readonly loops: readonly Loop[]
  readonly inputs: ReadonlyMap<string, Value>
  readonly outputs: readonly { readonly name: string; readonly ref: Ref; readonly dtype: Tensor['dtype'] }[]
  /** Constants that are not in the file. */
  readonly made: ReadonlyMap<string, Tensor>
  /** Bytes that Reshape, Transpose, Slice and the like would move if each of them ran. */
  readonly viewBytes: number
  /** Number of nodes that became views. */
  readonly viewNodes: number
}

/**
 * The cost of one elementwise instruction in steps: it takes about as long as this many multiplications in a
 * product.
 */
const ELEMENT_STEPS = 16

/** A loop's cost in steps: multiplications in products, or weighted elementwise instructions. */
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
/** The size of an element in memory. */
export const elementBytes = ({ isByte }: Pick<Value, 'isByte'>): number => (isByte === true ? 1 : 4)
export const bytesOf = (value: Pick<Value, 'dims' | 'isByte'>): number =>
  elementBytes(value) * countOf(value.dims)
/** The reference with its axes in a different order. */
export const turnedRef = (ref: Ref, perm: readonly number[]): Ref => ({
  ...ref,
  view: transposed(ref.view, perm),
})

/** Undoes `perm`: the reference with its axes back in the graph's order. */
export const unturned = (ref: Ref, perm: readonly number[] | undefined): Ref =>
  perm === undefined ? ref : turnedRef(ref, inverseOf(perm))

export const spreadRef = ({ value, view }: Ref, to: readonly number[]): Ref => ({
  value,
  view: spread(view, to),
})
/** Whether the reference covers its whole value in order, perhaps with different dims. */
export const isAll = ({ value, view }: Ref): boolean => isWhole(view, value.dims)
