// Reads matrices, and sums products of input rows in 16-bit codes.
//
//   gram    sum x x^T, up to the diagonal        x: inputs of the compressed model
//   drift   sum d x^T                            d: those of the float model, minus x
//   behind  sum r x^T                            r: the same difference of the residuals
//
// Up to 512 rows of x are coded at once; a column of x is one of the operand.

import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { packedChunks } from '../../../core/weights/slabs.ts'
import { unpackPanels } from '../../../core/weights/unpack.ts'
import type { InputSums } from '../matrix/hessian.ts'
import { type CodeCall, MAX_DEPTH, type Operand, PANEL } from './products/code-kernels.ts'
import { type CodeMemory, CodeSpace, columnsOf } from './products/code-memory.ts'
import type { Tap, TapInputs } from './segment-runner.ts'
import type { SolverCrew } from './solver/solver-crew.ts'

/** All weights of a matrix, [n][k]. */
export async function readMatrix(tensor: TensorInfo, signal: AbortSignal): Promise<Float32Array> {
  const [n = 0] = tensor.shape
  for await (const { values } of matrixSlabs(tensor, signal, n)) return values
  return new Float32Array(0)
}

/** Rows per slab: a multiple of the row padding of matrices. */
const SLAB_ROWS = 2048

/**
 * The weights of a matrix in slabs of rows, [n][k], so that a large table is never in memory as floats.
 */
export async function* matrixSlabs(
  tensor: TensorInfo,
  signal: AbortSignal,
  slabRows = SLAB_ROWS,
): AsyncGenerator<{ readonly n: number; readonly values: Float32Array }> {
  const [rows = 0, k = 0] = tensor.shape
  let left = rows * k
  let values = new Float32Array(Math.min(slabRows * k, left))
  let at = 0
  for await (const chunk of packedChunks(tensor, 'f32', { signal })) {
    let read = unpackPanels('f32', chunk, k)
    read = read.subarray(0, Math.min(read.length, left - at))
    while (read.length > 0) {
      const count = Math.min(read.length, values.length - at)
      values.set(read.subarray(0, count), at)
      read = read.subarray(count)
      at += count
      if (at < values.length) continue
      yield { n: at / k, values }
      left -= at
      at = 0
      values = new Float32Array(Math.min(slabRows * k, left))
    }
  }
}

/** What is summed: the number of inputs, and the width of the residual, if any. */
type Shape = Pick<Tap, 'k' | 'residual'>

/** Coded rows of one kind, and the address of their sums with the rows of x. */
interface Kind {
  readonly operand: Operand
  readonly sums: number
}

/** What all taps of a segment share. */
interface Kinds {
  readonly x: Kind
  readonly drift?: Kind | undefined
  readonly behind?: Kind | undefined
  /** Where rows are before they are coded. */
  readonly staged: number
}

interface GramShape {
  readonly taps: readonly Shape[]
  /** Rows that are usually added together. */
  readonly window: number
  readonly hasDrift: boolean
}

const batchOf = ({ window }: GramShape): number => Math.min(MAX_DEPTH, window)

function layOut(space: CodeSpace, shape: GramShape): Kinds {
  const { taps, hasDrift } = shape
  const most = (of: (tap: Shape) => number) => Math.max(0, ...taps.map(of))
  const rows = batchOf(shape)
  const k = most((tap) => tap.k)
  const n = hasDrift ? most(({ residual }) => residual?.width ?? 0) : 0
  const kind = (width: number, sums: number): Kind => ({
    operand: space.operand(width, rows),
    sums: space.numbers(sums, 8),
  })
  const behind = most(({ k, residual }) => columnsOf(k) * columnsOf(residual?.width ?? 0))
  return {
    x: kind(k, columnsOf(k) ** 2),
    drift: hasDrift ? kind(k, columnsOf(k) ** 2) : undefined,
    behind: n > 0 ? kind(n, behind) : undefined,
    staged: space.numbers(rows * Math.max(k, n), 4),
  }
}

/** Bytes of the memory of codes that a machine needs. */
export function gramBytes(shape: GramShape): number {
  const space = new CodeSpace(0)
  layOut(space, shape)
  return space.end
}

/** Sums the products of one tap of a segment at a time. */
export class GramMachine {
  readonly #crew: SolverCrew
  readonly #memory: CodeMemory
  readonly #rows: number
  readonly #kinds: Kinds

  constructor(crew: SolverCrew, memory: CodeMemory, shape: GramShape) {
    this.#crew = crew
    this.#memory = memory
    this.#rows = batchOf(shape)
    this.#kinds = layOut(memory.space, shape)
  }

  /** Begins the sums of a tap. */
  begin({ k, residual }: Shape): void {
    const stride = columnsOf(k)
    const { x, drift, behind } = this.#kinds
    for (const kind of [x, drift]) if (kind) this.#sums(kind, stride, stride).fill(0)
    if (behind && residual) this.#sums(behind, columnsOf(residual.width), stride).fill(0)
  }

  /**
   * Adds a window: the rows of x, and the differences of the float model's inputs and residual. Throws
   * `internal` if a thread died, or the signal's reason.
   */
  async add({ k, residual }: Shape, x: Float32Array, far?: TapInputs): Promise<void> {
    const { drift, behind } = this.#kinds
    for (let first = 0; first < x.length / k; first += this.#rows) {
      const part = (rows: Float32Array, width: number) =>
        rows.subarray(first * width, (first + this.#rows) * width)
      const b = this.#code(this.#kinds.x, part(x, k), k)
      const call = (a: Operand, c: number, isLower: boolean): CodeCall => ({
        ...{ a, b, c, isLower, type: 'sums', stride: columnsOf(k), first: 0, step: 1 },
      })
      const calls = [call(b, this.#kinds.x.sums, true)]
      if (far && drift) calls.push(call(this.#code(drift, part(far.x, k), k), drift.sums, false))
      if (far?.residual && residual && behind) {
        const { width } = residual
        calls.push(call(this.#code(behind, part(far.residual, width), width), behind.sums, false))
      }
      await this.#crew.multiplyCodes(calls, this.#memory)
    }
  }

  /** Copies the sums of a tap. */
  read({ k, residual }: Shape, to: InputSums): void {
    const { x, drift, behind } = this.#kinds
    this.#copy(x, k, k, to.gram)
    if (drift) this.#copy(drift, k, k, to.drift())
    if (behind && residual) this.#copy(behind, residual.width, k, to.behind(residual.width))
  }

  #sums({ sums }: Kind, n: number, stride: number): Float64Array {
    return this.#memory.f64.subarray(sums / 8, sums / 8 + n * stride)
  }

  #code({ operand }: Kind, rows: Float32Array, width: number): Operand {
    const { f32, kernels } = this.#memory
    const count = rows.length / width
    f32.set(rows, this.#kinds.staged / 4)
    const own = { ...operand, panels: columnsOf(width) / PANEL, pairs: Math.ceil(count / 2) }
    kernels.codeColumns(this.#kinds.staged, width, count, width, own)
    return own
  }

  #copy(kind: Kind, n: number, k: number, to: Float64Array): void {
    const stride = columnsOf(k)
    const from = this.#sums(kind, n, stride)
    for (let row = 0; row < n; row++) to.set(from.subarray(row * stride, row * stride + k), row * k)
  }
}
