// The code of a product: panels of eight columns of B, tiles of six rows of A (four without fused
// multiply-add), followed by the loops fused with it, one row of the tile at a time. A unit is a panel for a
// block of rows.
//
// For each k, a panel has eight adjacent numbers of a row of B. Constant matrices are stored in panels;
// others are copied to scratch memory panel by panel. Sums run over k in order, with one accumulator per
// element; with fused multiply-add, each step rounds once.
//
// Rows of A that are windows are read in place: one table has the position of each row, and another the gap
// after each run of adjacent numbers. If each column has its own numbers in A, as in a depthwise convolution,
// they are read as vectors.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import { type Address, emitAddresses } from './addresses.ts'
import {
  type Kernel,
  PANEL,
  PANEL_BYTES,
  PRODUCT_WORDS,
  type ProductForm,
  productWord,
  RECORD,
  STREAM_WORDS,
  streamWord,
  type Target,
  tileRows,
  VECTOR,
} from './kernel.ts'
import { PANELS_AT_ONCE, type ProductFields, TileEmitter } from './product-tile.ts'
import { RowEmitter } from './row-emitter.ts'

export function emitProduct(code: FunctionBody, kernel: Kernel, form: ProductForm, target: Target): void {
  new ProductEmitter(code, kernel, form, target).emit()
}

class ProductEmitter {
  readonly #code: FunctionBody
  readonly #kernel: Kernel
  readonly #form: ProductForm
  readonly #target: Target
  readonly #record: Local
  readonly #fields: ProductFields
  readonly #multiply: TileEmitter
  readonly #a: Local
  /** The entry of the tile's first row in the table of rows. */
  readonly #entry: Local
  readonly #b: Local
  readonly #panel: Local
  /** How many of the panel's columns are part of the product. */
  readonly #columns: Local
  /** How many of the unit's rows are left. */
  readonly #left: Local

  constructor(code: FunctionBody, kernel: Kernel, form: ProductForm, target: Target) {
    this.#code = code
    this.#kernel = kernel
    this.#form = form
    this.#target = target
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
      unitRows: field('unitRows'),
    }
    this.#a = code.local('i32')
    this.#entry = code.local('i32')
    this.#b = code.local('i32')
    this.#panel = code.local('i32')
    this.#columns = code.local('i32')
    this.#left = code.local('i32')
    this.#multiply = new TileEmitter(code, form, target, {
      ...this.#fields,
      a: this.#a,
      entry: this.#entry,
      from: this.#panel,
      left: this.#left,
    })
  }

  emit(): void {
    const code = this.#code
    const kernel = this.#kernel
    const unit = code.parameter(1)
    const last = code.parameter(2)
    const rows = new RowEmitter(code, kernel, this.#record, this.#target.fuse)
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
    const { m, unitRows } = this.#fields
    const blocks = code.local('i32')
    const start = code.local('i32')
    code.get(m).get(unitRows).plain('i32.add').number(1).plain('i32.sub')
    code.get(unitRows).plain('i32.div_u').set(blocks)
    code.whileLess(unit, last, () => {
      code.get(unit).get(panels).plain('i32.rem_u').number(PANEL).plain('i32.mul').set(column)
      code.get(unit).get(panels).plain('i32.div_u').tee(start)
      code.get(blocks).plain('i32.div_u').set(batch)
      code.get(start).get(blocks).plain('i32.rem_u').get(unitRows).plain('i32.mul').set(start)
      emitAddresses(code, kernel, this.#record, batch, addresses)
      for (const [at, local] of starts.entries()) if (at > 0) this.#toUnit(local, at, start, column)
      this.#least(this.#left, () => code.get(m).get(start).plain('i32.sub'), unitRows)
      this.#least(this.#columns, () => inner().get(column).plain('i32.sub'), PANEL)
      this.#takePanel(column)
      this.#toRow(start)
      if (this.#form.isByColumn)
        code.get(this.#a).get(column).number(2).plain('i32.shl').plain('i32.add').set(this.#a)
      const count = code.local('i32')
      code.number(1).set(count)
      if (this.#form.b === 'packed' && !this.#form.isWindowed)
        this.#several({ rows, starts, unit, last, column }, count)
      code.get(count).number(1).plain('i32.eq')
      code.when(() => this.#tiles(rows, starts))
      code.get(unit).get(count).plain('i32.add').set(unit)
    })
  }

  /**
   * Multiplies the only row of a product by several panels at once, if so many are left, and sets `count`.
   * With one panel, its two sums would wait for their own latency.
   */
  #several(
    {
      rows,
      starts,
      unit,
      last,
      column,
    }: {
      readonly rows: RowEmitter
      readonly starts: readonly Local[]
    } & Readonly<Record<'unit' | 'last' | 'column', Local>>,
    count: Local,
  ): void {
    const code = this.#code
    const bytes = code.local('i32')
    code.get(this.#fields.m).number(1).plain('i32.eq')
    code.get(last).get(unit).plain('i32.sub').number(PANELS_AT_ONCE).plain('i32.ge_s').plain('i32.and')
    code
      .get(this.#record)
      .load32(4 * RECORD.inner)
      .get(column)
      .plain('i32.sub')
    code
      .number(PANELS_AT_ONCE * PANEL)
      .plain('i32.ge_s')
      .plain('i32.and')
    code.when(() => {
      this.#multiply.emitRow()
      code.get(this.#fields.tile).set(rows.row(0))
      for (const [at, local] of starts.entries()) if (at > 0) code.get(local).set(rows.row(at))
      code.number(PANELS_AT_ONCE * PANEL_BYTES).set(bytes)
      rows.emitRow(bytes)
      code.number(PANELS_AT_ONCE).set(count)
    })
  }

  /** Sets the local to what `value` leaves on the stack, or to `most` if that is less. */
  #least(local: Local, value: () => void, most: Local | number): void {
    const code = this.#code
    const limit = () => (typeof most === 'number' ? code.number(most) : code.get(most))
    value()
    code.set(local)
    limit().get(local).plain('i32.lt_s')
    code.when(() => limit().set(local))
  }

  /** Advances a stream to the unit's first row and column. */
  #toUnit(local: Local, stream: number, start: Local, column: Local): void {
    const code = this.#code
    for (const [count, word] of [
      [column, streamWord(this.#kernel, stream) + STREAM_WORDS.inner],
      [start, this.#rowStep(stream)],
    ] as const) {
      code
        .get(local)
        .get(count)
        .get(this.#record)
        .load32(4 * word)
      code.plain('i32.mul').plain('i32.add').set(local)
    }
  }

  /** The word with a stream's step from row to row. */
  #rowStep(stream: number): number {
    return streamWord(this.#kernel, stream) + STREAM_WORDS.steps + this.#kernel.outer
  }

  /** Advances A to the unit's first row. */
  #toRow(start: Local): void {
    const code = this.#code
    const { rows, aRow } = this.#fields
    if (this.#form.isWindowed)
      code.get(rows).get(start).number(2).plain('i32.shl').plain('i32.add').set(this.#entry)
    else code.get(this.#a).get(start).get(aRow).plain('i32.mul').plain('i32.add').set(this.#a)
  }

  /** The address of the panel; if B is not stored in panels, the panel is built in scratch memory. */
  #takePanel(column: Local): void {
    const code = this.#code
    const { k, bK, bColumn, panel } = this.#fields
    if (this.#form.b === 'packed') {
      // A matrix's panels are contiguous, each 8 k numbers long. A panel of codes begins with eight more.
      code.get(this.#b).get(column).get(k)
      if (this.#form.isCoded) code.number(1).plain('i32.add')
      code.plain('i32.mul').number(2).plain('i32.shl')
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
        code.get(to).get(from).memory('v128.load', VECTOR).memory('v128.store', VECTOR)
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

  /**
   * Processes a tile of rows at a time, or a single row, and runs the loops over each tile's rows after it.
   */
  #tiles(rows: RowEmitter, starts: readonly Local[]): void {
    const code = this.#code
    const { tile } = this.#fields
    const left = this.#left
    const count = code.local('i32')
    const bytes = code.local('i32')
    const row = code.local('i32')
    const isSingle = code.local('i32')
    code.get(this.#columns).number(2).plain('i32.shl').set(bytes)
    const tallest = tileRows(this.#form, this.#target)
    code.loop(() => {
      this.#least(count, () => code.get(left), tallest)
      code.get(left).number(1).plain('i32.eq').tee(isSingle)
      code.when(() => this.#multiply.emit(1))
      code.get(isSingle).plain('i32.eqz')
      code.when(() => this.#multiply.emit(tallest))
      this.#nextRows(count)
      code.get(tile).set(row)
      code.get(left).get(count).plain('i32.sub').set(left)
      code.loop(() => {
        code.get(row).set(rows.row(0))
        for (const [at, local] of starts.entries()) if (at > 0) code.get(local).set(rows.row(at))
        const isFull = () => code.get(this.#columns).number(PANEL).plain('i32.eq')
        isFull()
        code.when(() => rows.emitVectors(PANEL_BYTES / VECTOR))
        isFull().plain('i32.eqz')
        code.when(() => rows.emitRow(bytes))
        for (const [at, local] of starts.entries()) {
          if (at === 0) continue
          code
            .get(local)
            .get(this.#record)
            .load32(4 * this.#rowStep(at))
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
}
