// Kernels: what a group computes, independent of sizes, so that one function serves all sizes; and the
// arguments that a step passes to it.
import type { CodeMatrix, Reduction, Ref, Value } from '../loops/loops.ts'
import { isChecked, type Kind, type Tree } from '../loops/tree.ts'

/**
 * How a stream moves along the innermost axis: four elements at a time, not at all, or by an arbitrary
 * stride. `turned`: by a stride, but the elements of adjacent rows are adjacent.
 */
export type Mode = 'vector' | 'uniform' | 'strided' | 'turned'

/** A place in memory that rows of elements are read from, or written to. */
export interface Stream {
  readonly mode: Mode
  readonly kind: Kind
  /** Whether elements take one byte each. */
  readonly isByte?: boolean | undefined
  /** The stream of indices that positions this one, one index per row. */
  readonly index?: number | undefined
}

export type Source = { readonly stream: number } | { readonly cell: number }

/** A value that is computed for each element, or once per row. Its number is its index in the list. */
export type Cell =
  | {
      readonly tree: Tree
      readonly args: readonly Source[]
      readonly isRow: boolean
      /** The pass over the row in which it is computed. A number per row is computed before that pass. */
      readonly pass: number
    }
  | { readonly how: Reduction; readonly kind: Kind; readonly arg: Source; readonly pass: number }

export interface Store {
  readonly source: Source
  readonly stream: number
  readonly pass: number
  /** One element per row, written after the last pass. */
  readonly isRow: boolean
}

/** A cell that later passes read from memory instead of computing it again. */
export interface Reload {
  readonly cell: number
  readonly stream: number
}

/** Everything that determines the code. Equal kernels share one function. */
export interface Kernel {
  /** Axes around the rows; in a product, its batch axes. */
  readonly outer: number
  readonly streams: readonly Stream[]
  readonly cells: readonly Cell[]
  readonly stores: readonly Store[]
  readonly reloads: readonly Reload[]
  readonly passes: number
  /** How many numbers that depend on sizes the trees read. */
  readonly sizes: number
  /** If true, a product of two matrices comes first; stream 0 is then its tile. */
  readonly product?: ProductForm | undefined
  /** Whether rows are written in their order, so that one call processes all of them whatever its range. */
  readonly isOrdered?: boolean | undefined
  /**
   * Set if the kernel finds the largest numbers in rows. Its streams are then the rows, the positions, and a
   * heap.
   */
  readonly selection?: SelectionForm | undefined
}

export interface SelectionForm {
  readonly isLeast: boolean
  readonly kind: Kind
}

export interface ProductForm {
  /** Whether the numbers along the summed axis are adjacent in A. */
  readonly isUnit: boolean
  /** Whether rows of A consist of runs that tables describe. */
  readonly isWindowed: boolean
  /**
   * Whether each column has its own numbers in A, next to those of the other columns. Rows are then windows.
   */
  readonly isByColumn: boolean
  /**
   * Whether both sides are codes. A is read four codes at a time, which are a step of the sum. A panel of B
   * begins with the initial values of its eight sums.
   */
  readonly isCoded: boolean
  /** `packed`: B is stored in panels; `rows`: adjacent along n; `any`: neither. */
  readonly b: 'packed' | 'rows' | 'any'
}

/** Where a stream begins: in a value's buffer, or in the scratch memory of the step. */
export type Place = { readonly value: Value; readonly offset: number } | { readonly scratch: number }

/** A stream's position and its steps, in elements. */
export interface StreamPlace {
  readonly at: Place
  readonly steps: readonly number[]
  readonly inner: number
  readonly index?: { readonly step: number; readonly size: number } | undefined
}

/** The value in which a stream is, unless it is in scratch memory. */
export const placedIn = ({ at }: Pick<StreamPlace, 'at'>): Value | undefined =>
  'value' in at ? at.value : undefined

/** Streams written by a kernel. */
export const writtenStreams = ({ stores }: Kernel): ReadonlySet<number> =>
  new Set(stores.map(({ stream }) => stream))

/** The arguments that a step passes to its kernel. */
export interface KernelCall {
  readonly kernel: Kernel
  readonly outer: readonly number[]
  /** Elements of a row. */
  readonly inner: number
  readonly streams: readonly StreamPlace[]
  readonly sizes: readonly number[]
  /** Size of the scratch memory in bytes. */
  readonly scratchBytes: number
  readonly product?: ProductCall | undefined
  /** How many positions a selection finds in each row. */
  readonly selected?: number | undefined
}

export interface ProductCall {
  readonly m: number
  readonly n: number
  readonly k: number
  /** How many rows a unit has, except for the last of each product. */
  readonly rows: number
  readonly a: StreamPlace & { readonly row: number; readonly k: number; readonly walks: readonly Walk[] }
  readonly b: StreamPlace & { readonly k: number; readonly column: number }
  /** B as the loop reads it: [..., k, n]. */
  readonly matrix: Ref
  /** How the sums of codes are made. */
  readonly codes?: CodeMatrix | undefined
  /** Tables of rows and gaps, and the length of a run. */
  readonly windows?: WindowsCall | undefined
}

interface WindowsCall {
  readonly rows: Pick<StreamPlace, 'at'>
  readonly gaps: Pick<StreamPlace, 'at'>
  readonly run: number
}

/** An axis to step along: its size, and the number of elements from one position to the next. */
export type Walk = readonly [size: number, step: number]

/** Whether a call may flag a 32-bit integer overflow. */
export const canLeave = ({ cells }: Kernel): boolean =>
  cells.some((cell) => ('tree' in cell ? isChecked(cell.tree) : cell.how.endsWith(' checked')))

/** Rows that are processed at once if streams are turned: as many as a vector has lanes. */
export const QUAD_ROWS = 4

/**
 * Whether four rows are processed at once, so that vectors of elements can be turned into vectors of rows.
 */
export const isTurning = ({ streams }: Pick<Kernel, 'streams'>): boolean =>
  streams.some(({ mode }) => mode === 'turned')

/** Words of a record before the outer sizes: the status and the number of elements in a row. */
export const RECORD = { status: 0, inner: 1, outer: 2 } as const
/** Status bits: an index is outside its table; an integer overflowed 32 bits. */
export const STATUS = { index: 1, left: 2 } as const
/** Words of a stream after its base: step, and, for gathered streams, the index's step and size. */
export const STREAM_WORDS = { base: 0, inner: 1, index: 2, size: 3, steps: 4 } as const
/** Words of a product, which follow everything else. */
export const PRODUCT_WORDS = {
  m: 0,
  k: 1,
  a: 2,
  aRow: 3,
  aK: 4,
  b: 5,
  bK: 6,
  bColumn: 7,
  tile: 8,
  panel: 9,
  rows: 10,
  gaps: 11,
  run: 12,
  unitRows: 13,
  aSteps: 14,
} as const

/** Bytes of an element and of a vector. */
export const ELEMENT = 4
export const VECTOR = 16

/** Columns in a panel, and the maximum number of rows in a tile. */
export const PANEL = 8
export const PANEL_BYTES = ELEMENT * PANEL
export const TILE_ROWS = 6
/**
 * Rows in a tile. A multiplication that is not fused with its addition needs a register for its result, and
 * six rows would need more than the 16 of most processors.
 */
export const tileRows = ({ isCoded }: Pick<ProductForm, 'isCoded'>, { fuse, dot }: Target): number =>
  (isCoded ? dot !== 'pairs' : fuse) ? TILE_ROWS : 4

/** The instructions that functions may use. */
export interface Target {
  /** Fused multiply-add, an instruction of relaxed SIMD. */
  readonly fuse: boolean
  readonly dot: Dot
}

/**
 * How four codes are multiplied by four others and summed. `unsigned`, `signed`: by the relaxed dot product,
 * whose second operand has that sign on this machine. `pairs`: widened to 16 bits, two at a time.
 */
export type Dot = 'unsigned' | 'signed' | 'pairs'

/** Codes of A and B that a step of a coded sum multiplies. */
export const STEP_CODES = 4
/** Blocks of rows are multiples of this, so that only the last tile of a product has fewer rows. */
export const BLOCK_STEP = 12

/** A stream's first word in the record. */
export const streamWord = ({ outer }: Pick<Kernel, 'outer'>, stream: number): number =>
  RECORD.outer + outer + stream * (STREAM_WORDS.steps + axesOf({ outer }))

/** The number of steps of a stream: one per outer axis, and one for the rows of a product. */
export const axesOf = ({ outer }: Pick<Kernel, 'outer'>): number => outer + 1

export const sizesWord = (kernel: Pick<Kernel, 'outer' | 'streams'>): number =>
  streamWord(kernel, kernel.streams.length)
export const productWord = (kernel: Pick<Kernel, 'outer' | 'streams' | 'sizes'>): number =>
  sizesWord(kernel) + kernel.sizes
/** The word that holds how many positions a selection finds. */
export const selectedWord = productWord
export const recordWords = (kernel: Kernel): number => {
  if (kernel.selection !== undefined) return selectedWord(kernel) + 1
  return productWord(kernel) + (kernel.product === undefined ? 0 : PRODUCT_WORDS.aSteps + 2 * kernel.outer)
}
