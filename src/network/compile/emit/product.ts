// The code of a product: panels of eight columns of B, tiles of four rows of A, followed by the loops fused
// with it, one row of the tile at a time.
//
// For each k, a panel has eight adjacent numbers of a row of B. Constant matrices are stored in panels;
// others are copied to scratch memory panel by panel. Sums run over k in order, with one accumulator per
// element; with fused multiply-add, each step rounds once.
//
// Rows of A that are windows are read in place: one table has the position of each row, and another the gap
// after each run of adjacent numbers.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import { type Address, emitAddresses } from './addresses.ts'
import {
  type Kernel,
  PANEL,
  PRODUCT_WORDS,
  type ProductForm,
  productWord,
  RECORD,
  STREAM_WORDS,
  streamWord,
  TILE_ROWS,
} from './kernel.ts'
import { RowEmitter } from './row-emitter.ts'

const PANEL_BYTES = 4 * PANEL

export function emitProduct(code: FunctionBody, kernel: Kernel, form: ProductForm, fuse: boolean): void {
  new ProductEmitter(code, kernel, form, fuse).emit()
}

class ProductEmitter {
  readonly #code: FunctionBody
  readonly #kernel: Kernel
  readonly #form: ProductForm
  readonly #fuse: boolean
  readonly #record: Local
  readonly #fields: Readonly<
    Record<'m' | 'k' | 'aRow' | 'aK' | 'bK' | 'bColumn' | 'tile' | 'panel' | 'rows' | 'gaps' | 'run', Local>
  >
  readonly #a: Local
  /** The entry of the tile's first row in the table of rows. */
  readonly #entry: Local
  readonly #b: Local
  readonly #panel: Local
  /** How many of the panel's columns are part of the product. */
  readonly #columns: Local

  constructor(code: FunctionBody, kernel: Kernel, form: ProductForm, fuse: boolean) {
    this.#code = code
    this.#kernel = kernel
    this.#form = form
    this.#fuse = fuse
    this.#record = code.parameter(0)
    const field = (name: keyof typeof PRODUCT_WORDS): Local => {
      const local = code.local('i32')
      code
        .get(this.#record)
        .load32(4 * (productWord(kernel) + PRODUCT_WORDS[name]))
        .set(local)
      return local
    }
    this.#fields = {
      m: field('m'),
      k: field('k'),
      aRow: field('aRow'),
      aK: field('aK'),
      bK: field('bK'),
      bColumn: field('bColumn'),
      tile: field('tile'),
      panel: field('panel'),
      rows: field('rows'),
      gaps: field('gaps'),
      run: field('run'),
    }
    this.#a = code.local('i32')
    this.#entry = code.local('i32')
    this.#b = code.local('i32')
    this.#panel = code.local('i32')
    this.#columns = code.local('i32')
  }

  emit(): void {
    const code = this.#code
    const kernel = this.#kernel
    const unit = code.parameter(1)
    const last = code.parameter(2)
    const rows = new RowEmitter(code, kernel, this.#record, this.#fuse)
    const panels = code.local('i32')
    const batch = code.local('i32')
    const column = code.local('i32')
    const inner = () => code.get(this.#record).load32(4 * RECORD.inner)
    inner()
      .number(PANEL - 1)
      .plain('i32.add')
      .number(PANEL)
      .plain('i32.div_u')
      .set(panels)
    const starts = kernel.streams.map(() => code.local('i32'))
    const word = productWord(kernel)
    const addresses: Address[] = [
      { local: this.#a, word: word + PRODUCT_WORDS.a, steps: word + PRODUCT_WORDS.aSteps },
      { local: this.#b, word: word + PRODUCT_WORDS.b, steps: word + PRODUCT_WORDS.aSteps + kernel.outer },
      ...starts.slice(1).map((local, at) => ({
        local,
        word: streamWord(kernel, at + 1) + STREAM_WORDS.base,
        steps: streamWord(kernel, at + 1) + STREAM_WORDS.steps,
      })),
    ]
    code.whileLess(unit, last, () => {
      code.get(unit).get(panels).plain('i32.div_u').set(batch)
      code.get(unit).get(panels).plain('i32.rem_u').number(PANEL).plain('i32.mul').set(column)
      emitAddresses(code, kernel, this.#record, batch, addresses)
      for (const [at, local] of starts.entries()) {
        if (at === 0) continue
        const step = streamWord(kernel, at) + STREAM_WORDS.inner
        code
          .get(local)
          .get(column)
          .get(this.#record)
          .load32(4 * step)
        code.plain('i32.mul').plain('i32.add').set(local)
      }
      inner().get(column).plain('i32.sub').set(this.#columns)
      code.number(PANEL).get(this.#columns).plain('i32.lt_s')
      code.when(() => code.number(PANEL).set(this.#columns))
      this.#takePanel(column)
      this.#tiles(rows, starts)
      code.increase(unit, 1)
    })
  }

  /** The address of the panel; if B is not stored in panels, the panel is built in scratch memory. */
  #takePanel(column: Local): void {
    const code = this.#code
    const { k, bK, bColumn, panel } = this.#fields
    if (this.#form.b === 'packed') {
      // A matrix's panels are contiguous, each 8 k numbers long.
      code.get(this.#b).get(column).get(k).plain('i32.mul').number(2).plain('i32.shl')
      code.plain('i32.add').set(this.#panel)
      return
    }
    const from = code.local('i32')
    const to = code.local('i32')
    const left = code.local('i32')
    code.get(panel).set(this.#panel)
    code.get(this.#b).get(column).get(bColumn).plain('i32.mul').plain('i32.add').set(this.#b)
    if (this.#form.b === 'rows') {
      code.get(this.#b).set(from).get(panel).set(to).get(k).set(left)
      code.loop(() => {
        code.get(to).get(from).memory('v128.load').memory('v128.store')
        code.get(to).get(from).memory('v128.load', 16).memory('v128.store', 16)
        code.get(from).get(bK).plain('i32.add').set(from)
        code.increase(to, PANEL_BYTES).increase(left, -1).get(left)
      })
      return
    }
    for (let each = 0; each < PANEL; each++) {
      // Beyond the last column, the first column is read instead.
      const isThere = () => code.number(each).get(this.#columns).plain('i32.lt_s')
      code.get(this.#b)
      isThere().get(bColumn).number(each).plain('i32.mul').plain('i32.mul').plain('i32.add').set(from)
      code.get(panel).set(to).get(k).set(left)
      code.loop(() => {
        code
          .get(to)
          .get(from)
          .load32()
          .store32(4 * each)
        code.get(from).get(bK).plain('i32.add').set(from)
        code.increase(to, PANEL_BYTES).increase(left, -1).get(left)
      })
    }
  }

  /** Processes four rows at a time, then one at a time, and runs the loops over each tile's rows after it. */
  #tiles(rows: RowEmitter, starts: readonly Local[]): void {
    const code = this.#code
    const { m, tile } = this.#fields
    const left = code.local('i32')
    const count = code.local('i32')
    const bytes = code.local('i32')
    const row = code.local('i32')
    code.get(this.#columns).number(2).plain('i32.shl').set(bytes)
    code.get(m).set(left)
    if (this.#form.isWindowed) code.get(this.#fields.rows).set(this.#entry)
    code.loop(() => {
      code.number(1).set(count)
      code
        .number(TILE_ROWS - 1)
        .get(left)
        .plain('i32.lt_s')
      code.when(() => {
        this.#tile(TILE_ROWS)
        code.number(TILE_ROWS).set(count)
      })
      code.get(count).number(1).plain('i32.eq')
      code.when(() => this.#tile(1))
      this.#nextRows(count)
      code.get(tile).set(row)
      code.get(left).get(count).plain('i32.sub').set(left)
      code.loop(() => {
        code.get(row).set(rows.row(0))
        for (const [at, local] of starts.entries()) if (at > 0) code.get(local).set(rows.row(at))
        rows.emitRow(bytes)
        for (const [at, local] of starts.entries()) {
          if (at === 0) continue
          const step = streamWord(this.#kernel, at) + STREAM_WORDS.steps + this.#kernel.outer
          code
            .get(local)
            .get(this.#record)
            .load32(4 * step)
            .plain('i32.add')
            .set(local)
        }
        code.increase(row, PANEL_BYTES).increase(count, -1).get(count)
      })
      code.get(left)
    })
  }

  #nextRows(count: Local): void {
    const code = this.#code
    if (this.#form.isWindowed)
      code.get(this.#entry).get(count).number(2).plain('i32.shl').plain('i32.add').set(this.#entry)
    else code.get(this.#a).get(this.#fields.aRow).get(count).plain('i32.mul').plain('i32.add').set(this.#a)
  }

  /** Multiplies `rows` rows of A by the panel, into the tile in scratch memory. */
  #tile(rows: number): void {
    const code = this.#code
    const { k, tile, run, gaps } = this.#fields
    const sums = Array.from({ length: 2 * rows }, () => code.local('v128'))
    const b = code.local('i32')
    for (const sum of sums) code.floats(0).set(sum)
    const at = this.#rowsFrom(rows)
    code.get(this.#panel).set(b)
    if (this.#form.isWindowed) {
      const gap = code.local('i32')
      const left = code.local('i32')
      code.get(gaps).set(gap)
      code.get(k).set(left)
      code.loop(() => {
        this.#sum(sums, at, b, run)
        for (const address of at) code.get(address).get(gap).load32().plain('i32.add').set(address)
        code.increase(gap, 4)
        code.get(left).get(run).plain('i32.sub').set(left)
        code.get(left)
      })
    } else this.#sum(sums, at, b, k)
    for (const [index, sum] of sums.entries())
      code
        .get(tile)
        .get(sum)
        .memory('v128.store', 16 * index)
  }

  /** The addresses of the tile's rows. */
  #rowsFrom(rows: number): readonly Local[] {
    const code = this.#code
    const at = Array.from({ length: rows }, () => code.local('i32'))
    for (const [row, local] of at.entries()) {
      if (this.#form.isWindowed) {
        code
          .get(this.#a)
          .get(this.#entry)
          .load32(4 * row)
        code.plain('i32.add').set(local)
      } else if (row === 0) code.get(this.#a).set(local)
      else
        code
          .get(at[row - 1]!)
          .get(this.#fields.aRow)
          .plain('i32.add')
          .set(local)
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

  /** One step of the sum: multiplies each row's number by the panel's eight. */
  #step(sums: readonly Local[], at: readonly Local[], b: Local, step: number): void {
    const code = this.#code
    const x = code.local('v128')
    const low = code.local('v128')
    const high = code.local('v128')
    code
      .get(b)
      .memory('v128.load', PANEL_BYTES * step)
      .set(low)
    code
      .get(b)
      .memory('v128.load', PANEL_BYTES * step + 16)
      .set(high)
    for (const [row, address] of at.entries()) {
      code
        .get(address)
        .memory('v128.load32_splat', 4 * step)
        .set(x)
      for (const [half, numbers] of [low, high].entries()) {
        const sum = sums[2 * row + half]!
        if (this.#fuse) code.get(x).get(numbers).get(sum).vector('f32x4.relaxed_madd').set(sum)
        else code.get(sum).get(x).get(numbers).vector('f32x4.mul').vector('f32x4.add').set(sum)
      }
    }
  }

  #advance(at: readonly Local[], b: Local, steps: number): void {
    const code = this.#code
    for (const address of at) {
      if (this.#form.isUnit) code.increase(address, 4 * steps)
      else code.get(address).get(this.#fields.aK).plain('i32.add').set(address)
    }
    code.increase(b, PANEL_BYTES * steps)
  }
}
