// The code of four rows at once, for loops that change the order of axes: some streams have adjacent elements
// along a row, others across rows. Blocks of four by four elements are read as vectors and turned in
// registers. The remainder of the rows is computed across them, with a row in each lane.
import type { FunctionBody, Local } from '../wasm/assembler.ts'
import { ELEMENT, type Kernel, QUAD_ROWS, STREAM_WORDS, streamWord, VECTOR } from './kernel.ts'
import type { RowEmitter } from './row-emitter.ts'

interface QuadStream {
  readonly isTurned: boolean
  readonly isStored: boolean
  /** Where each row begins. A turned stream has one address for all. */
  readonly rows: readonly Local[]
  /** The step from row to row, or along the rows of a turned stream, in bytes. */
  readonly step: Local
  /** The next element of a turned stream. */
  readonly next: Local
  /** The numbers of a uniform stream: each row's in all lanes, and each in its row's lane. */
  readonly held: { readonly rows: readonly Local[]; readonly lanes: Local } | undefined
}

export class QuadEmitter {
  readonly #code: FunctionBody
  readonly #kernel: Kernel
  readonly #values: RowEmitter
  readonly #streams: readonly QuadStream[]
  readonly #at: Local
  readonly #limit: Local

  /** `values`: computes cells from streams. */
  constructor(code: FunctionBody, kernel: Kernel, record: Local, values: RowEmitter) {
    this.#code = code
    this.#kernel = kernel
    this.#values = values
    this.#at = code.local('i32')
    this.#limit = code.local('i32')
    const vectors = (count: number) => Array.from({ length: count }, () => code.local('v128'))
    this.#streams = kernel.streams.map(({ mode }, stream): QuadStream => {
      const isTurned = mode === 'turned'
      const step = code.local('i32')
      const along = isTurned ? STREAM_WORDS.inner : STREAM_WORDS.steps + kernel.outer - 1
      code
        .get(record)
        .load32(ELEMENT * (streamWord(kernel, stream) + along))
        .set(step)
      return {
        isTurned,
        isStored: kernel.stores.some((store) => store.stream === stream),
        rows: Array.from({ length: isTurned ? 1 : QUAD_ROWS }, () => code.local('i32')),
        step,
        next: code.local('i32'),
        held: mode === 'uniform' ? { rows: vectors(QUAD_ROWS), lanes: code.local('v128') } : undefined,
      }
    })
  }

  /** Emits four rows, the first of which begins at `starts`; the elements of a row take `bytes`. */
  emit(starts: readonly Local[], bytes: Local): void {
    const code = this.#code
    for (const [stream, { rows, step, next, held }] of this.#streams.entries()) {
      for (const [row, local] of rows.entries()) {
        code.get(row === 0 ? starts[stream]! : rows[row - 1]!)
        if (row > 0) code.get(step).plain('i32.add')
        code.set(local)
      }
      code.get(rows[0]!).set(next)
      if (held === undefined) continue
      for (const [row, local] of held.rows.entries())
        code.get(rows[row]!).memory('v128.load32_splat').set(local)
      this.#gather(rows, 0).set(held.lanes)
    }
    code.number(0).set(this.#at)
    code.get(bytes).number(-VECTOR).plain('i32.and').set(this.#limit)
    code.whileLess(this.#at, this.#limit, () => {
      this.#block()
      code.increase(this.#at, VECTOR)
    })
    code.whileLess(this.#at, bytes, () => {
      this.#column()
      code.increase(this.#at, ELEMENT)
    })
  }

  /** Four elements of each row. Reads everything before it writes anything. */
  #block(): void {
    const code = this.#code
    const known = Array.from({ length: QUAD_ROWS }, () => new Map<string, Local>())
    for (const [stream, { isTurned, isStored, rows, step, next, held }] of this.#streams.entries()) {
      if (isStored) continue
      const read = Array.from({ length: held === undefined ? QUAD_ROWS : 0 }, (_, row) => {
        const local = code.local('v128')
        if (isTurned) {
          code.get(next).memory('v128.load').set(local)
          code.get(next).get(step).plain('i32.add').set(next)
        } else code.get(rows[row]!).get(this.#at).plain('i32.add').memory('v128.load').set(local)
        return local
      })
      const own = held?.rows ?? (isTurned ? this.#turned(read) : read)
      for (const [row, local] of own.entries()) known[row]!.set(`s${stream}`, local)
    }
    const made = this.#kernel.stores.map(({ source }) =>
      known.map((vectors) => {
        const local = code.local('v128')
        this.#values.emitSource(source, vectors)
        code.set(local)
        return local
      }),
    )
    for (const [at, { stream }] of this.#kernel.stores.entries()) {
      const { isTurned, rows, step, next } = this.#streams[stream]!
      const values = isTurned ? this.#turned(made[at]!) : made[at]!
      for (const [row, value] of values.entries()) {
        if (isTurned) {
          code.get(next).get(value).memory('v128.store')
          code.get(next).get(step).plain('i32.add').set(next)
        } else code.get(rows[row]!).get(this.#at).plain('i32.add').get(value).memory('v128.store')
      }
    }
  }

  /** One element of each row, each in a lane. */
  #column(): void {
    const code = this.#code
    const known = new Map<string, Local>()
    for (const [stream, { isTurned, isStored, rows, step, next, held }] of this.#streams.entries()) {
      if (isStored) continue
      const local = held?.lanes ?? code.local('v128')
      known.set(`s${stream}`, local)
      if (held !== undefined) continue
      if (isTurned) {
        code.get(next).memory('v128.load').set(local)
        code.get(next).get(step).plain('i32.add').set(next)
      } else this.#gather(rows, this.#at).set(local)
    }
    const made = this.#kernel.stores.map(({ source }) => {
      const local = code.local('v128')
      this.#values.emitSource(source, known)
      code.set(local)
      return local
    })
    for (const [at, { stream }] of this.#kernel.stores.entries()) {
      const { isTurned, rows, step, next } = this.#streams[stream]!
      if (isTurned) {
        code.get(next).get(made[at]!).memory('v128.store')
        code.get(next).get(step).plain('i32.add').set(next)
        continue
      }
      for (const [lane, row] of rows.entries())
        code.get(row).get(this.#at).plain('i32.add').get(made[at]!).storeLane(lane)
    }
  }

  /** Leaves a vector on the stack: the element of each row at an offset of so many bytes. */
  #gather(rows: readonly Local[], offset: Local | 0): FunctionBody {
    const code = this.#code
    const local = code.local('v128')
    for (const [lane, row] of rows.entries()) {
      code.get(row)
      if (offset !== 0) code.get(offset).plain('i32.add')
      if (lane === 0) code.memory('v128.load32_splat')
      else code.get(local).loadLane(lane)
      code.set(local)
    }
    return code.get(local)
  }

  /** Four vectors as the rows of a matrix to its columns. */
  #turned(rows: readonly Local[]): readonly Local[] {
    const code = this.#code
    const pair = (a: Local, b: Local, lanes: readonly number[]): Local => {
      const local = code.local('v128')
      code.get(a).get(b).shuffle(lanes).set(local)
      return local
    }
    const [a, b, c, d] = rows as [Local, Local, Local, Local]
    const low = [0, 4, 1, 5]
    const high = [2, 6, 3, 7]
    return [low, high].flatMap((lanes) => {
      const ab = pair(a, b, lanes)
      const cd = pair(c, d, lanes)
      return [pair(ab, cd, [0, 1, 4, 5]), pair(ab, cd, [2, 3, 6, 7])]
    })
  }
}
