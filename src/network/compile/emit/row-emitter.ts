// The code of one row of a kernel: passes over its elements, four at a time, and the numbers computed between
// passes.
import { neutralOf, type Reduction } from '../loops/loops.ts'
import { costOf, type Kind, type Tree } from '../loops/tree.ts'
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import type { VectorName } from '../wasm/opcodes.ts'
import { CHECKED } from './checked.ts'
import { emitTree } from './expression.ts'
import {
  type Cell,
  canLeave,
  ELEMENT,
  type Kernel,
  RECORD,
  type Source,
  STATUS,
  STREAM_WORDS,
  sizesWord,
  streamWord,
  VECTOR,
} from './kernel.ts'

/**
 * Passes whose elements cost less than this process two vectors at once, because a single sum would wait for
 * its own latency.
 */
const SHORT = 12

const COMBINE: Readonly<Record<Kind, Partial<Readonly<Record<Reduction, VectorName>>>>> = {
  f32: { sum: 'f32x4.add', max: 'f32x4.max', min: 'f32x4.min', product: 'f32x4.mul' },
  i32: { sum: 'i32x4.add', max: 'i32x4.max_s', min: 'i32x4.min_s', product: 'i32x4.mul' },
}

interface StreamLocals {
  readonly row: Local
  readonly next: Local | undefined
  readonly step: Local | undefined
  /** The value that a uniform stream has in all lanes. */
  readonly held: Local | undefined
}

interface Place {
  readonly pass: number
  readonly isSingle: boolean
  /** Byte offset from the current element, and the index of the vector, 0 or 1. */
  readonly offset: number
}

export class RowEmitter {
  readonly #code: FunctionBody
  readonly #kernel: Kernel
  readonly #record: Local
  readonly #fuse: boolean
  readonly #streams: readonly StreamLocals[]
  readonly #constants = new Map<string, Local>()
  readonly #sizes: readonly Local[]
  /** Numbers per row: reductions and values computed from them. */
  readonly #rowCells = new Map<number, Local>()
  readonly #at: Local
  readonly #limit: Local
  /** Nonzero in lanes where a number overflowed 32 bits. */
  readonly #left: Local | undefined

  /** `record`: the address of the step's record. Constants and steps are read here, once per call. */
  constructor(code: FunctionBody, kernel: Kernel, record: Local, fuse: boolean) {
    this.#code = code
    this.#kernel = kernel
    this.#record = record
    this.#fuse = fuse
    this.#at = code.local('i32')
    this.#limit = code.local('i32')
    this.#left = canLeave(kernel) ? code.local('v128') : undefined
    this.#streams = kernel.streams.map(({ mode }, stream) => {
      const isStrided =
        mode === 'strided' || mode === 'turned' || (mode === 'uniform' && this.#isStored(stream))
      const step = isStrided ? code.local('i32') : undefined
      if (step)
        code
          .get(record)
          .load32(ELEMENT * (streamWord(kernel, stream) + STREAM_WORDS.inner))
          .set(step)
      return {
        row: code.local('i32'),
        next: isStrided ? code.local('i32') : undefined,
        step,
        held: mode === 'uniform' && !this.#isStored(stream) ? code.local('v128') : undefined,
      }
    })
    this.#sizes = Array.from({ length: kernel.sizes }, (_, index) => {
      const local = code.local('v128')
      code
        .get(record)
        .memory('v128.load32_splat', ELEMENT * (sizesWord(kernel) + index))
        .set(local)
      return local
    })
    for (const cell of kernel.cells) if ('tree' in cell) this.#holdConstants(cell.tree)
  }

  row(stream: number): Local {
    return this.#streams[stream]!.row
  }

  /** Emits a whole row, whose streams already have their addresses. `bytes`: the size of its elements. */
  emitRow(bytes: Local): void {
    const { kernel, code } = { kernel: this.#kernel, code: this.#code }
    this.#begin()
    for (let pass = 0; pass < kernel.passes; pass++) {
      this.#rowNumbers(pass)
      this.#pass(pass, bytes)
    }
    this.#rowNumbers(kernel.passes)
    for (const { source, stream, isRow } of kernel.stores) {
      if (!isRow) continue
      code.get(this.row(stream))
      this.#source(source, new Map(), { pass: kernel.passes, isSingle: true, offset: 0 })
      if (kernel.streams[stream]!.isByte === true) code.extractLane(0).store8()
      else code.storeLane(0)
    }
    this.#noteLeft()
  }

  /**
   * Emits a row of exactly so many vectors, without a loop. Only for kernels of one pass without reductions.
   */
  emitVectors(count: number): void {
    this.#begin()
    this.#toStart()
    for (let vector = 0; vector < count; vector++)
      this.#body({ pass: 0, isSingle: false, offset: vector * VECTOR }, [], [])
    this.#noteLeft()
  }

  /**
   * Leaves a source's vector on the stack, computed from vectors of the streams, whose keys are `s` and their
   * number. Adds the vectors that it computes. Only for kernels of one pass.
   */
  emitSource(source: Source, known: Map<string, Local>): void {
    this.#source(source, known, { pass: 0, isSingle: false, offset: 0 })
  }

  /** Moves gathered streams to their rows, and reads the values that are the same in the whole row. */
  #begin(): void {
    for (const [stream, { index }] of this.#kernel.streams.entries())
      if (index !== undefined) this.#move(stream, index)
    for (const [stream, { held, row }] of this.#streams.entries())
      if (held !== undefined) this.#first(stream, row).set(held)
  }

  #toStart(): void {
    const code = this.#code
    for (const { next, row } of this.#streams) if (next !== undefined) code.get(row).set(next)
    code.number(0).set(this.#at)
  }

  /** A number in the row that overflowed 32 bits sets the step's status. */
  #noteLeft(): void {
    if (this.#left === undefined) return
    const code = this.#code
    code.get(this.#left).vector('v128.any_true')
    code.when(() => this.#note(STATUS.left))
  }

  #note(bit: number): void {
    const code = this.#code
    code.get(this.#record).get(this.#record)
    code.load32(ELEMENT * RECORD.status).number(bit)
    code.plain('i32.or').store32(ELEMENT * RECORD.status)
  }

  #isStored(stream: number): boolean {
    return this.#kernel.stores.some((store) => store.stream === stream && !store.isRow)
  }

  #holdConstants(tree: Tree): void {
    if ('op' in tree) for (const each of tree.of) this.#holdConstants(each)
    if ('value' in tree) this.#constant(tree.value, tree.kind)
  }

  #constant(value: number, kind: Kind): Local {
    const key = `${kind} ${Object.is(value, -0) ? '-0' : value}`
    const known = this.#constants.get(key)
    if (known !== undefined) return known
    const local = this.#code.local('v128')
    const written = kind === 'f32' ? this.#code.floats(value) : this.#code.integers(value)
    written.set(local)
    this.#constants.set(key, local)
    return local
  }

  /** An index outside the table sets the step's status and reads the first row instead. */
  #move(stream: number, index: number): void {
    const code = this.#code
    const word = streamWord(this.#kernel, stream)
    const at = code.local('i32')
    const field = (offset: number) => code.get(this.#record).load32(ELEMENT * (word + offset))
    code.get(this.row(index)).load32().tee(at).number(0).plain('i32.lt_s')
    code.when(() => {
      code.get(at)
      field(STREAM_WORDS.size).plain('i32.add').set(at)
    })
    code.get(at)
    field(STREAM_WORDS.size).plain('i32.ge_u')
    code.when(() => {
      this.#note(STATUS.index)
      code.number(0).set(at)
    })
    code.get(this.row(stream)).get(at)
    field(STREAM_WORDS.index).plain('i32.mul').plain('i32.add').set(this.row(stream))
  }

  /** Emits the row's numbers that can be computed before a pass. */
  #rowNumbers(pass: number): void {
    const code = this.#code
    for (const [index, cell] of this.#kernel.cells.entries()) {
      if (!('tree' in cell) || !cell.isRow || cell.pass !== pass) continue
      const local = code.local('v128')
      this.#tree(cell, new Map(), { pass, isSingle: true, offset: 0 })
      code.set(local)
      this.#rowCells.set(index, local)
    }
  }

  #pass(pass: number, bytes: Local): void {
    const code = this.#code
    const { cells, stores } = this.#kernel
    const reduced = cells.flatMap((cell, index) => ('how' in cell && cell.pass === pass ? [index] : []))
    const isNeeded = reduced.length > 0 || stores.some((store) => store.pass === pass && !store.isRow)
    if (!isNeeded) return
    const cost = cells.reduce((sum, cell) => sum + ('tree' in cell && !cell.isRow ? costOf(cell.tree) : 0), 0)
    const vectors = reduced.length > 0 && cost < SHORT ? 2 : 1
    const sums = reduced.map((index) => {
      const { how, kind } = cells[index] as Extract<Cell, { how: Reduction }>
      return Array.from({ length: vectors }, () => {
        const sum = code.local('v128')
        code.get(this.#constant(neutralOf(kind, how), kind)).set(sum)
        return sum
      })
    })
    this.#toStart()
    const whole = (mask: number) => code.get(bytes).number(mask).plain('i32.and').set(this.#limit)
    if (vectors === 2) {
      whole(-2 * VECTOR)
      code.whileLess(this.#at, this.#limit, () => {
        for (let vector = 0; vector < 2; vector++)
          this.#body(
            { pass, isSingle: false, offset: vector * VECTOR },
            reduced,
            sums.map((each) => each[vector]!),
          )
        code.increase(this.#at, 2 * VECTOR)
      })
    }
    const first = sums.map((each) => each[0]!)
    whole(-VECTOR)
    code.whileLess(this.#at, this.#limit, () => {
      this.#body({ pass, isSingle: false, offset: 0 }, reduced, first)
      code.increase(this.#at, VECTOR)
    })
    code.whileLess(this.#at, bytes, () => {
      this.#body({ pass, isSingle: true, offset: 0 }, reduced, first)
      code.increase(this.#at, ELEMENT)
    })
    for (const [at, index] of reduced.entries()) this.#finish(index, sums[at]!)
  }

  /** Joins the lanes of a reduction, so that all lanes hold the result. */
  #finish(index: number, sums: readonly Local[]): void {
    const code = this.#code
    const { how, kind } = this.#kernel.cells[index] as Extract<Cell, { how: Reduction }>
    const [sum] = sums as [Local]
    for (const other of sums.slice(1)) {
      code.get(sum).get(other)
      this.#combine(kind, how)
      code.set(sum)
    }
    for (const lanes of [
      [2, 3, 0, 1],
      [1, 0, 3, 2],
    ]) {
      code.get(sum).get(sum).get(sum).shuffle(lanes)
      this.#combine(kind, how)
      code.set(sum)
    }
    this.#rowCells.set(index, sum)
  }

  /** Joins the two vectors on the stack. */
  #combine(kind: Kind, how: Reduction): void {
    if (how === 'sum checked') CHECKED['i.add checked'](this.#code, this.#left!)
    else if (how === 'product checked') CHECKED['i.mul checked'](this.#code, this.#left!)
    else this.#code.vector(COMBINE[kind][how]!)
  }

  /** Emits one vector, or one element, of a pass. Reads everything before it writes anything. */
  #body(place: Place, reduced: readonly number[], sums: readonly Local[]): void {
    const code = this.#code
    const known = new Map<string, Local>()
    const { cells } = this.#kernel
    const held = (source: Source): Local => {
      const local = code.local('v128')
      this.#source(source, known, place)
      code.set(local)
      return local
    }
    const stores = this.#kernel.stores
      .filter((store) => store.pass === place.pass && !store.isRow)
      .map(({ source, stream }) => ({ stream, value: held(source) }))
    const values = reduced.map((index) => held((cells[index] as Extract<Cell, { how: Reduction }>).arg))
    for (const { stream, value } of stores) this.#write(stream, value, place)
    for (const [at, index] of reduced.entries()) {
      const { how, kind } = cells[index] as Extract<Cell, { how: Reduction }>
      const sum = sums[at]!
      code.get(sum).get(values[at]!)
      // For a single element, only the first lane counts.
      if (place.isSingle)
        code
          .get(this.#constant(neutralOf(kind, how), kind))
          .lanes([-1, 0, 0, 0])
          .vector('v128.bitselect')
      this.#combine(kind, how)
      code.set(sum)
    }
  }

  /** Leaves the source's vector on the stack. */
  #source(source: Source, known: Map<string, Local>, place: Place): void {
    const code = this.#code
    const key = 'stream' in source ? `s${source.stream}` : `c${source.cell}`
    const ready = known.get(key) ?? ('cell' in source ? this.#rowCells.get(source.cell) : undefined)
    if (ready !== undefined) {
      code.get(ready)
      return
    }
    if ('stream' in source) this.#read(source.stream, place)
    else {
      const reload = this.#kernel.reloads.find(({ cell }) => cell === source.cell)
      const cell = this.#kernel.cells[source.cell] as Extract<Cell, { tree: Tree }>
      if (reload !== undefined && cell.pass < place.pass) this.#read(reload.stream, place)
      else this.#tree(cell, known, place)
    }
    const local = code.local('v128')
    code.tee(local)
    known.set(key, local)
  }

  #tree({ tree, args }: Extract<Cell, { tree: Tree }>, known: Map<string, Local>, place: Place): void {
    const reads = {
      arg: (index: number) => this.#source(args[index]!, known, place),
      size: (index: number) => this.#sizes[index]!,
      constant: (value: number, kind: Kind) => this.#constant(value, kind),
      left: this.#left,
    }
    emitTree(this.#code, tree, reads, this.#fuse)
  }

  #read(stream: number, { isSingle, offset }: Place): void {
    const code = this.#code
    const { next, step, held } = this.#streams[stream]!
    if (held !== undefined) {
      code.get(held)
      return
    }
    const isByte = this.#kernel.streams[stream]!.isByte === true
    if (next === undefined) {
      this.#address(stream)
      if (isByte) emitByteLoad(code, isSingle, offset / ELEMENT)
      else code.memory(isSingle ? 'v128.load32_splat' : 'v128.load', offset)
      return
    }
    const advance = () => code.get(next).get(step!).plain('i32.add').set(next)
    const made = code.local('v128')
    this.#first(stream, next).set(made)
    advance()
    for (let lane = 1; lane < 4 && !isSingle; lane++) {
      if (isByte) code.get(made).get(next).load8().integerLane(lane).set(made)
      else code.get(next).get(made).loadLane(lane).set(made)
      advance()
    }
    code.get(made)
  }

  /** Leaves the element at an address of the stream on the stack, in all lanes. */
  #first(stream: number, address: Local): FunctionBody {
    const code = this.#code.get(address)
    if (this.#kernel.streams[stream]!.isByte !== true) return code.memory('v128.load32_splat')
    return code.load8().vector('i32x4.splat')
  }

  /** Leaves the address of the current element of a stream along the row on the stack. */
  #address(stream: number): void {
    const code = this.#code.get(this.row(stream)).get(this.#at)
    if (this.#kernel.streams[stream]!.isByte === true) code.number(2).plain('i32.shr_s')
    code.plain('i32.add')
  }

  #write(stream: number, value: Local, { isSingle, offset }: Place): void {
    const code = this.#code
    const { next, step } = this.#streams[stream]!
    const isByte = this.#kernel.streams[stream]!.isByte === true
    if (next !== undefined) {
      for (let lane = 0; lane < (isSingle ? 1 : 4); lane++) {
        code.get(next).get(value)
        if (isByte) code.extractLane(lane).store8()
        else code.storeLane(lane)
        code.get(next).get(step!).plain('i32.add').set(next)
      }
      return
    }
    this.#address(stream)
    code.get(value)
    if (isByte && isSingle) code.extractLane(0).store8(offset / ELEMENT)
    else if (isByte) {
      const narrow = code.local('v128')
      code.get(value).vector('i16x8.narrow_i32x4_s').tee(narrow)
      code
        .get(narrow)
        .vector('i8x16.narrow_i16x8_u')
        .storeLane(0, offset / ELEMENT)
    } else if (isSingle) code.storeLane(0, offset)
    else code.memory('v128.store', offset)
  }
}

/** Four bytes, or one, as integers. */
function emitByteLoad(code: FunctionBody, isSingle: boolean, offset: number): void {
  if (isSingle) code.load8(offset).vector('i32x4.splat')
  else {
    code.memory('v128.load32_zero', offset).vector('i16x8.extend_low_i8x16_u')
    code.vector('i32x4.extend_low_i16x8_u')
  }
}
