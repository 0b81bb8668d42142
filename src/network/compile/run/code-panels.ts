// Lays filters and matrices of 8-bit codes out for products. In: filters [count, channels of a group,
// ...taps], or a matrix [k, n], whose columns are filters, perhaps one of several. Out: for each group,
// panels of eight filters.
//
// A panel begins with the initial values of its eight i32 sums. Then come, for every four codes of a row of
// A, the codes of the eight filters: four of each filter, or, if codes are multiplied in pairs, first two of
// each, then the other two.
import type { Constant } from '../../onnx/ir/graph.ts'
import { countOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { type Dot, PANEL, PANEL_BYTES, STEP_CODES } from '../emit/kernel.ts'
import type { CodedPlace, CodeMatrix } from '../loops/loops.ts'
import { readConstant } from './constant-tensor.ts'
import { SIGN } from './layout-code.ts'
import type { LayoutMemory, Layouts } from './layouts.ts'

/** The memory that holds constants. */
export interface ConstantMemory extends LayoutMemory {
  /** How codes are multiplied, which their layout depends on. */
  readonly dot: () => Dot
}

export class CodeWriter {
  readonly #memory: ConstantMemory
  readonly #layouts: Layouts

  constructor(memory: ConstantMemory, layouts: Layouts) {
    this.#memory = memory
    this.#layouts = layouts
  }

  /**
   * Writes panels, `panelBytes` bytes, and returns how they are multiplied. `addend`: the constant of the
   * bias.
   */
  writePanels(
    to: number,
    constant: Constant,
    addend: Tensor | undefined,
    matrix: CodeMatrix,
    signal?: AbortSignal,
  ): Promise<Dot> {
    const { zero, bias, group, order, channels } = matrix
    const { count, summed, first: begin, next, step } = filtersOf(constant, matrix)
    return this.#withBytes(constant, signal, (from, bytes) => {
      const isSigned = constant.dtype === 'i8'
      const dot = dotFor(bytes, isSigned, this.#memory.dot())
      const places = placesOf(summed, order, channels)
      const each = count / group
      const panels = Math.ceil(each / PANEL)
      const size = panelBytes(constant, matrix) / (group * panels)
      new Uint8Array(this.#memory.buffer(), to, group * panels * size).fill(0)
      const biasOf = (filter: number): number => {
        if (bias === undefined || addend === undefined) return 0
        return Math.round(Number(addend.data[filter]) / bias.scale[bias.scale.length === 1 ? 0 : filter]!)
      }
      const table = places.flatMap((place, at) => (place < 0 ? [] : [place * step, offsetIn(at, dot)]))
      return this.#withTable(table, (address) => {
        for (let filter = 0; filter < count; filter++) {
          const inGroup = filter % each
          const panel = Math.floor(filter / each) * panels + Math.floor(inGroup / PANEL)
          const column = inGroup % PANEL
          const start = to + panel * size
          const first = PANEL_BYTES + column * (dot === 'pairs' ? 2 : STEP_CODES)
          this.#layouts.filter(start + first, from + begin + filter * next, {
            places: address,
            count: table.length / 2,
            isSigned,
            start: start + 4 * column,
            // Codes of A are read as they are stored, or 128 lower.
            factor: (dot === 'signed' ? SIGN : 0) - zero,
            added: biasOf(filter),
          })
        }
        return dot
      })
    })
  }

  /** Writes the sum of each filter's codes, i32. */
  async writeSums(to: number, constant: Constant, place: CodedPlace, signal?: AbortSignal): Promise<void> {
    const { count, summed, first, next, step } = filtersOf(constant, place)
    await this.#withBytes(constant, signal, (from) => {
      // The codes themselves go where a sum is written afterwards.
      const table = Array.from({ length: countOf(summed) }, (_, at) => [at * step, 0]).flat()
      return this.#withTable(table, (places) => {
        for (let filter = 0; filter < count; filter++) {
          const [start, isSigned] = [to + 4 * filter, constant.dtype === 'i8']
          const sum = { count: table.length / 2, isSigned, start, factor: 1, added: 0 }
          this.#layouts.filter(start, from + first + filter * next, { ...sum, places })
        }
      })
    })
  }

  #withBytes<Made>(
    constant: Constant,
    signal: AbortSignal | undefined,
    work: (address: number, bytes: Uint8Array) => Promise<Made>,
  ): Promise<Made> {
    const count = countOf(constant.dims)
    return this.#layouts.scratch(count, async (from) => {
      await readConstant(constant, new Uint8Array(this.#memory.buffer(), from, count), signal)
      return await work(from, new Uint8Array(this.#memory.buffer(), from, count))
    })
  }

  #withTable<Made>(words: readonly number[], work: (address: number) => Made): Promise<Made> {
    return this.#layouts.scratch(4 * words.length, async (address) => {
      new Int32Array(this.#memory.buffer(), address, words.length).set(words)
      return work(address)
    })
  }
}

/** Bytes of all panels. */
export function panelBytes(constant: Constant, matrix: CodeMatrix): number {
  const { group, order, channels } = matrix
  const { count, summed } = filtersOf(constant, matrix)
  const codes = countOf(order.map((axis) => (axis === 0 ? channels : summed[axis]!)))
  return group * Math.ceil(count / group / PANEL) * (codes / STEP_CODES + 1) * PANEL_BYTES
}

/** Where the code of a place goes, from where those of its filter begin. */
function offsetIn(at: number, dot: Dot): number {
  const lane = at % STEP_CODES
  const within = dot === 'pairs' ? (PANEL_BYTES / 2) * (lane >> 1) + (lane & 1) : lane
  return ((at - lane) / STEP_CODES) * PANEL_BYTES + within
}

/**
 * How to multiply these filters on a machine that multiplies by `dot`. With signed codes, the sum of two
 * products of -128 and -128 may overflow.
 */
const dotFor = (bytes: Uint8Array, isSigned: boolean, dot: Dot): Dot =>
  dot === 'signed' && bytes.includes(isSigned ? SIGN : 0) ? 'pairs' : dot

/**
 * The filters in a constant: how many there are, the sizes of their axes, the first one's place, the elements
 * from one to the next, and from one number of a filter to the next.
 */
function filtersOf({ dims }: Constant, { form, index }: CodedPlace) {
  const own = index === undefined ? dims : dims.slice(1)
  const first = (index ?? 0) * countOf(own)
  const [rows, columns, ...taps] = own as [number, number, ...number[]]
  if (form === 'matrix') return { count: columns, summed: [rows], first, next: 1, step: columns }
  const summed = [columns, ...taps]
  return { count: rows, summed, first, next: countOf(summed), step: 1 }
}

/**
 * The places of a filter's numbers in the order in which A has them; -1 for channels that the filter does not
 * have.
 */
function placesOf(dims: readonly number[], order: readonly number[], channels: number): readonly number[] {
  const strides = dims.map((_, axis) => countOf(dims.slice(axis + 1)))
  let places = [0]
  for (const axis of order) {
    const size = axis === 0 ? channels : dims[axis]!
    places = places.flatMap((place) =>
      Array.from({ length: size }, (_, at) =>
        place < 0 || at >= dims[axis]! ? -1 : place + at * strides[axis]!,
      ),
    )
  }
  return places
}
