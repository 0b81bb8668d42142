// The multiplications of a tile: some rows of A by a panel of eight columns of B. Six rows have twelve sums,
// which hide the latency of an addition; with two vectors of B and one of A they fit into 16 registers.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import { PANEL_BYTES, type PRODUCT_WORDS, type ProductForm, type Target, VECTOR } from './kernel.ts'

/** How many panels a single row is multiplied by at once. They fit into the tile. */
export const PANELS_AT_ONCE = 4

/** Turns a code from 0 to 255 into one from -128 to 127. */
const SIGNS = 0x80808080 | 0

/** The words of a product that its code reads at the beginning. */
export type ProductFields = Readonly<Record<Exclude<keyof typeof PRODUCT_WORDS, 'a' | 'b' | 'aSteps'>, Local>>

/** Where the next tile is. */
interface TilePlace extends ProductFields {
  /**
   * The address of the first row, or of the element to which the offsets in the table of rows are relative.
   */
  readonly a: Local
  /** The entry of the first row in the table of rows. */
  readonly entry: Local
  /** The panel. */
  readonly from: Local
  /** How many rows the unit still has. */
  readonly left: Local
}

export class TileEmitter {
  readonly #code: FunctionBody
  readonly #form: ProductForm
  readonly #target: Target
  readonly #at: TilePlace

  constructor(code: FunctionBody, form: ProductForm, target: Target, at: TilePlace) {
    this.#code = code
    this.#form = form
    this.#target = target
    this.#at = at
  }

  /** Multiplies `rows` rows of A by the panel, into the tile. */
  emit(rows: number): void {
    const code = this.#code
    const { k, tile, run, gaps, from } = this.#at
    const sums = Array.from({ length: 2 * rows }, () => code.local('v128'))
    const b = code.local('i32')
    for (const [index, sum] of sums.entries()) {
      if (this.#form.isCoded) code.get(from).memory('v128.load', VECTOR * (index % 2))
      else code.floats(0)
      code.set(sum)
    }
    const at = this.#rowsFrom(rows)
    code.get(from).set(b)
    if (this.#form.isCoded) code.increase(b, PANEL_BYTES)
    if (this.#form.isWindowed) {
      const gap = code.local('i32')
      const left = code.local('i32')
      code.get(gaps).set(gap)
      code.get(k).set(left)
      code.loop(() => {
        if (this.#form.isByColumn) {
          this.#step(sums, at, b, 0)
          code.increase(b, PANEL_BYTES)
        } else this.#sum(sums, at, b, run)
        for (const address of at) code.get(address).get(gap).load32().plain('i32.add').set(address)
        code.increase(gap, 4)
        code.get(left).get(run).plain('i32.sub').set(left)
        code.get(left)
      })
    } else this.#sum(sums, at, b, k)
    this.#store(sums, tile)
  }

  /** Multiplies one row of A, which is no window, by several panels, into the tile. */
  emitRow(): void {
    const code = this.#code
    const { k, tile, from, a, aK } = this.#at
    const sums = Array.from({ length: (PANELS_AT_ONCE * PANEL_BYTES) / VECTOR }, () => code.local('v128'))
    const panels = Array.from({ length: PANELS_AT_ONCE }, () => code.local('i32'))
    const { isCoded } = this.#form
    for (const [index, panel] of panels.entries()) {
      code.get(index === 0 ? from : panels[index - 1]!)
      // The one before has been advanced past the numbers that its sums begin with.
      if (index > 0) code.get(k).number(PANEL_BYTES).plain('i32.mul').plain('i32.add')
      code.set(panel)
      for (const half of [0, 1]) {
        if (isCoded) code.get(panel).memory('v128.load', VECTOR * half)
        else code.floats(0)
        code.set(sums[2 * index + half]!)
      }
      if (isCoded) code.increase(panel, PANEL_BYTES)
    }
    const at = code.local('i32')
    const left = code.local('i32')
    const x = code.local('v128')
    const numbers = code.local('v128')
    code.get(a).set(at).get(k).set(left)
    code.loop(() => {
      const isInPairs = isCoded && this.#target.dot === 'pairs'
      if (!isInPairs) this.#load(at, 0, x)
      for (const [index, panel] of panels.entries()) {
        const own = sums.slice(2 * index, 2 * index + 2)
        if (isInPairs) this.#pairs(own, [at], panel, 0)
        else
          for (const [half, sum] of own.entries()) {
            code
              .get(panel)
              .memory('v128.load', VECTOR * half)
              .set(numbers)
            this.#multiply(sum, x, numbers)
          }
        code.increase(panel, PANEL_BYTES)
      }
      if (this.#form.isUnit) code.increase(at, 4)
      else code.get(at).get(aK).plain('i32.add').set(at)
      code.increase(left, -1).get(left)
    })
    this.#store(sums, tile)
  }

  #store(sums: readonly Local[], tile: Local): void {
    for (const [index, sum] of sums.entries())
      this.#code
        .get(tile)
        .get(sum)
        .memory('v128.store', VECTOR * index)
  }

  /** Adds a product to the sum. */
  #multiply(sum: Local, x: Local, numbers: Local): void {
    const code = this.#code
    if (this.#form.isCoded)
      code.get(numbers).get(x).get(sum).vector('i32x4.relaxed_dot_i8x16_i7x16_add_s').set(sum)
    else if (this.#target.fuse) code.get(x).get(numbers).get(sum).vector('f32x4.relaxed_madd').set(sum)
    else code.get(sum).get(x).get(numbers).vector('f32x4.mul').vector('f32x4.add').set(sum)
  }

  /** The addresses of the tile's rows. Rows beyond the last one are the last one again. */
  #rowsFrom(rows: number): readonly Local[] {
    const code = this.#code
    const at = Array.from({ length: rows }, () => code.local('i32'))
    const from = this.#form.isWindowed ? code.local('i32') : undefined
    if (from !== undefined) code.get(this.#at.entry).set(from)
    const isThere = (row: number) => code.number(row).get(this.#at.left).plain('i32.lt_s')
    for (const [row, local] of at.entries()) {
      if (from !== undefined) {
        if (row > 0) {
          code.get(from)
          isThere(row).number(2).plain('i32.shl').plain('i32.add').set(from)
        }
        code.get(this.#at.a).get(from).load32().plain('i32.add').set(local)
      } else if (row === 0) code.get(this.#at.a).set(local)
      else {
        code.get(at[row - 1]!)
        isThere(row).get(this.#at.aRow).plain('i32.mul').plain('i32.add').set(local)
      }
    }
    return at
  }

  /** Adds `count` steps of the sum, and advances the addresses past them. */
  #sum(sums: readonly Local[], at: readonly Local[], b: Local, count: Local): void {
    const code = this.#code
    const left = code.local('i32')
    const unroll = this.#form.isUnit ? 4 : 1
    if (unroll > 1) {
      code.get(count).number(-unroll).plain('i32.and').set(left)
      code.get(left)
      code.when(() =>
        code.loop(() => {
          for (let step = 0; step < unroll; step++) this.#step(sums, at, b, step)
          this.#advance(at, b, unroll)
          code.increase(left, -unroll).get(left)
        }),
      )
      code
        .get(count)
        .number(unroll - 1)
        .plain('i32.and')
        .set(left)
    } else code.get(count).set(left)
    code.get(left)
    code.when(() =>
      code.loop(() => {
        this.#step(sums, at, b, 0)
        this.#advance(at, b, 1)
        code.increase(left, -1).get(left)
      }),
    )
  }

  /** One k: multiplies each row's number, or four codes, by the panel's eight. */
  #step(sums: readonly Local[], at: readonly Local[], b: Local, step: number): void {
    const code = this.#code
    if (this.#form.isCoded && this.#target.dot === 'pairs') {
      this.#pairs(sums, at, b, step)
      return
    }
    const x = code.local('v128')
    const low = code.local('v128')
    const high = code.local('v128')
    code
      .get(b)
      .memory('v128.load', PANEL_BYTES * step)
      .set(low)
    code
      .get(b)
      .memory('v128.load', PANEL_BYTES * step + VECTOR)
      .set(high)
    for (const [row, address] of at.entries()) {
      if (!this.#form.isByColumn) this.#load(address, step, x)
      for (const [half, numbers] of [low, high].entries()) {
        if (this.#form.isByColumn)
          code
            .get(address)
            .memory('v128.load', VECTOR * half)
            .set(x)
        this.#multiply(sums[2 * row + half]!, x, numbers)
      }
    }
  }

  /** A row's number, or four codes, in each lane. */
  #load(address: Local, step: number, x: Local): void {
    const code = this.#code
    code.get(address).memory('v128.load32_splat', 4 * step)
    if (this.#form.isCoded && this.#target.dot === 'signed') code.integers(SIGNS).vector('v128.xor')
    code.set(x)
  }

  /** Four codes of each row, widened to 16 bits, two at a time. */
  #pairs(sums: readonly Local[], at: readonly Local[], b: Local, step: number): void {
    const code = this.#code
    const x = code.local('v128')
    for (const pair of [0, 1]) {
      const numbers = [0, 1].map((half) => {
        const local = code.local('v128')
        const offset = PANEL_BYTES * step + VECTOR * pair + (VECTOR / 2) * half
        code.get(b).memory('v128.load8x8_s', offset).set(local)
        return local
      })
      for (const [row, address] of at.entries()) {
        code.get(address).memory('v128.load16_splat', 4 * step + 2 * pair)
        code.vector('i16x8.extend_low_i8x16_u').set(x)
        for (const [half, local] of numbers.entries()) {
          const sum = sums[2 * row + half]!
          code.get(x).get(local).vector('i32x4.dot_i16x8_s').get(sum).vector('i32x4.add').set(sum)
        }
      }
    }
  }

  #advance(at: readonly Local[], b: Local, steps: number): void {
    const code = this.#code
    for (const address of at) {
      if (this.#form.isUnit) code.increase(address, 4 * steps)
      else code.get(address).get(this.#at.aK).plain('i32.add').set(address)
    }
    code.increase(b, PANEL_BYTES * steps)
  }
}
