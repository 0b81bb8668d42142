// Lays numbers out in a machine's memory. In: addresses of floats or bytes. Out: floats in another order,
// panels of columns, filters of tiles, floats of codes, panels of codes.

import { walk } from '../../onnx/ir/broadcast.ts'
import { PANEL } from '../emit/kernel.ts'
import { collapsed, type View } from '../loops/view.ts'
import { CODE_BLOCK, CODE_GROUP, CODE_HEAD, LAYOUT_FUNCTIONS, layoutModule, SIGN } from './layout-code.ts'

type LayoutFunctions = Readonly<Record<(typeof LAYOUT_FUNCTIONS)[number], (...numbers: number[]) => void>>

/** The memory in which numbers are laid out. */
export interface LayoutMemory {
  buffer(): ArrayBufferLike
  take(bytes: number): number
  give(address: number): void
  /** Creates functions over the memory. */
  instance(module: (sharedPages: number | undefined) => Uint8Array<ArrayBuffer>): WebAssembly.Exports
}

/** A matrix [k, n] of floats, in elements. */
interface Matrix {
  readonly from: number
  readonly k: number
  readonly n: number
  readonly kStep: number
  readonly nStep: number
}

/** Bytes as floats: (code - zero) * scale. */
interface ByteCodes {
  readonly isSigned: boolean
  readonly zero: number
  readonly scale: number
}

/** Eight outputs of a matrix of codes, of `groups` groups of inputs. */
interface CodePanel {
  readonly groups: number
  readonly inputStep: number
  readonly outputStep: number
  readonly isSigned: boolean
  readonly zeros: readonly number[]
  /** Bit patterns in f16. */
  readonly scales: readonly number[]
}

/** A filter of codes, whose codes have places in `filter`'s form at an address. */
interface CodeFilter {
  readonly places: number
  readonly count: number
  readonly isSigned: boolean
  /** Where the sum of the codes is written, times a factor and plus a number. */
  readonly start: number
  readonly factor: number
  readonly added: number
}

/** Numbers that the functions read: a filter of zeros, masks of columns, and the head of a panel of codes. */
const ZEROS = 0
const ZERO_BYTES = 64
const MASKS = ZERO_BYTES
const HEAD = MASKS + 2 * 4 * PANEL
const TABLE_BYTES = HEAD + CODE_HEAD.bytes

/** The bytes of a 3 x 3 filter. */
const FILTER_BYTES = 36

/** The functions, and the address of the numbers that they read. */
interface Opened {
  readonly functions: LayoutFunctions
  readonly table: number
}

export class Layouts {
  readonly #memory: LayoutMemory
  #known: Opened | undefined

  constructor(memory: LayoutMemory) {
    this.#memory = memory
  }

  /** Runs `work` with memory that is free again afterwards. */
  async scratch<Made>(bytes: number, work: (address: number) => Promise<Made>): Promise<Made> {
    const address = this.#memory.take(bytes)
    try {
      return await work(address)
    } finally {
      this.#memory.give(address)
    }
  }

  /** The elements of a view over the floats at `from`, in row-major order. */
  gather(to: number, from: number, view: View): void {
    const { gather } = this.#functions()
    const { offset, dims, strides } = collapsed(view)
    const split = Math.max(0, dims.length - 3)
    const sizes = [1, 1, 1, ...dims.slice(split)].slice(-3)
    const steps = [0, 0, 0, ...strides.slice(split)].slice(-3)
    const loops = sizes.flatMap((size, axis) => [size, 4 * steps[axis]!])
    const bytes = 4 * sizes.reduce((product, size) => product * size, 1)
    const starts = walk(dims.slice(0, split), strides.slice(0, split), offset)
    for (const [at, start] of starts.entries()) gather(to + at * bytes, from + 4 * start, ...loops)
  }

  /** Panels of `PANEL` columns, each with its rows one after the other; columns beyond the last are 0. */
  panels(to: number, from: number, { from: first, k, n, kStep, nStep }: Matrix): void {
    const { panel } = this.#functions()
    for (let column = 0; column < n; column += PANEL) {
      const last = Math.min(PANEL, n - column) - 1
      const mask = this.#table() + MASKS + 4 * (PANEL - 1 - last)
      const start = from + 4 * (first + column * nStep)
      panel(to + 4 * column * k, start, k, 4 * kStep, 4 * nStep, last, mask)
    }
  }

  /**
   * Filters [count, channels, 3, 3] as 16 matrices [channels, count] that multiply tiles, in panels or in
   * row-major order.
   */
  tiles(to: number, from: number, channels: number, count: number, isInPanels: boolean): void {
    const { tiles } = this.#functions()
    const zeros = this.#table() + ZEROS
    const step = channels * FILTER_BYTES
    const rowBytes = isInPanels ? 4 * PANEL : 4 * count
    const itemBytes = channels * rowBytes * (isInPanels ? Math.ceil(count / PANEL) : 1)
    const columns = isInPanels ? Math.ceil(count / PANEL) * PANEL : count
    // In row-major order, a pair beyond the last column is overwritten by the pairs before it.
    for (let column = columns - (columns % 2 || 2); column >= 0; column -= 2) {
      const panel = isInPanels ? column - (column % PANEL) : 0
      const start = to + 4 * (panel * channels + column - panel)
      const pair = [column, column + 1].flatMap((at) =>
        at < count ? [from + at * step, FILTER_BYTES] : [zeros, 0],
      )
      tiles(start, ...pair, channels, itemBytes, rowBytes)
    }
  }

  /** Bytes as floats. May write up to three floats beyond the last. */
  floats(to: number, from: number, count: number, { isSigned, zero, scale }: ByteCodes): void {
    const [middle, flip] = isSigned ? [zero + SIGN, SIGN] : [zero, 0]
    this.#functions().floats(to, from, Math.ceil(count / 4), flip, middle, bitsOf(scale))
  }

  /** A panel in w8_g32. False if a code minus its zero point is not between -127 and 127. */
  codes(to: number, from: number, panel: CodePanel): boolean {
    const { groups, inputStep, outputStep, isSigned, zeros, scales } = panel
    const { codes } = this.#functions()
    const head = this.#table() + HEAD
    const halves = new Uint16Array(this.#memory.buffer(), head, PANEL)
    // The order of scales in a block (`matrices.ts`): those of outputs 0 and 4, 1 and 5, and so on.
    for (const [row, scale] of scales.entries()) halves[(row % 4) * 2 + (row < 4 ? 0 : 1)] = scale
    new Int32Array(this.#memory.buffer(), head + CODE_HEAD.added, PANEL).set(
      zeros.map((zero) => (isSigned ? 0 : SIGN) - zero),
    )
    codes(to, from, groups, inputStep, outputStep, head, isSigned ? SIGN : 0)
    return new Int32Array(this.#memory.buffer(), head + CODE_HEAD.status, 1)[0] === 0
  }

  /** The codes of a filter as signed bytes: unsigned ones are 128 lower. */
  filter(to: number, from: number, filter: CodeFilter): void {
    const { places, count, isSigned, start, factor, added } = filter
    this.#functions().filter(to, from, places, count, start, added, factor, isSigned ? SIGN : 0)
  }

  #functions(): LayoutFunctions {
    return this.#opened().functions
  }

  #table(): number {
    return this.#opened().table
  }

  #opened(): Opened {
    if (this.#known !== undefined) return this.#known
    const exported = this.#memory.instance(layoutModule)
    const functions = Object.fromEntries(LAYOUT_FUNCTIONS.map((name, at) => [name, exported[`f${at}`]]))
    const table = this.#memory.take(TABLE_BYTES)
    const words = new Int32Array(this.#memory.buffer(), table, TABLE_BYTES / 4).fill(0)
    words.fill(-1, MASKS / 4, MASKS / 4 + PANEL)
    this.#known = { functions: functions as unknown as LayoutFunctions, table }
    return this.#known
  }
}

/** Bytes of a panel of codes of so many inputs. */
export const codePanelBytes = (k: number): number => (k / CODE_GROUP) * CODE_BLOCK

const bitsOf = (value: number): number => new Int32Array(Float32Array.of(value).buffer)[0]!
