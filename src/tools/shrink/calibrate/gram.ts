// Computes Gram matrices y^T x of input rows with the engine's own float product.
//
// 256 rows of x act as a linear layer's weight with one output per input: [k][256]. An embedding supplies the
// rows of y as the linear's input. Products over 256 rows are f32; the caller sums them in f64.
//
// x^T x is symmetric, so columns past the diagonal are skipped. For that there are linears of a few widths,
// which use the first outputs of the same weight.

import { PANEL_ROWS, roundUp } from '../../../core/abi/encodings.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { StepBuffer } from '../../../core/generate/schedule/step-buffer.ts'
import { graphBuilder, matrix } from '../../../core/graph/builder.ts'
import { compile } from '../../../core/graph/compile-graph.ts'
import { planTotals } from '../../../core/graph/plan/cost.ts'
import type { Plan } from '../../../core/graph/plan/plan.ts'
import type { Arena, Ptr } from '../../../core/runtime/memory/arena.ts'
import type { Pool } from '../../../core/runtime/pool.ts'
import { type WrittenPlan, writePlan } from '../../../core/runtime/write-plan.ts'
import { SequenceState } from '../../../core/state/sequence-state.ts'
import { StateCache } from '../../../core/state/state-cache.ts'
import { packedChunks } from '../../../core/weights/slabs.ts'
import { unpackPanels } from '../../../core/weights/unpack.ts'

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

/** Rows whose products are summed as f32. */
const BATCH = 256
/** Inputs whose products with all others are computed in one step. */
const STEP_INPUTS = 256
/** Widths of x^T x. More widths compute less of the upper triangle. */
const WIDTHS = 8

/** Bytes of linear memory for the machines of widths up to `k`, one of each kind. */
export function gramBytes(k: number): number {
  if (k === 0) return 0
  const totals = widthsOf(k, true).map((width) => planTotals(gramPlan(k, width)))
  const arenas = totals.reduce((sum, { arenaBytes }) => sum + arenaBytes + (1 << 16), 0)
  const { weightBytes, arenaBytes } = planTotals(gramPlan(k, k))
  return 3 * (weightBytes + arenaBytes + (1 << 20)) + weightBytes + arenas
}

const widthsOf = (k: number, isSymmetric: boolean): number[] =>
  isSymmetric
    ? [...new Set(Array.from({ length: WIDTHS }, (_, i) => Math.min(k, roundUp((k * (i + 1)) / WIDTHS, 8))))]
    : [k]

function gramPlan(n: number, width: number): Plan {
  const b = graphBuilder()
  const rows = b.embed('rows', matrix(BATCH, { y: n }))
  const products = b.linear('gram', rows, matrix(BATCH, { x: width }))
  return compile(b.finish(products), {
    tokens: Math.min(STEP_INPUTS, n),
    logitRows: 1,
    encodingOf: () => 'f32',
  })
}

/** A matrix in linear memory. */
interface Table {
  readonly at: Ptr
  readonly bytes: number
}

/** A plan that computes only the first columns. */
interface Columns {
  readonly width: number
  readonly plan: Plan
  readonly written: WrittenPlan
}

export class GramMachine {
  readonly #n: number
  readonly #k: number
  readonly #arena: Arena
  readonly #pool: Pool
  /** Narrowest first. */
  readonly #columns: readonly Columns[]
  /** Addresses of y and x. */
  readonly #tables: readonly [Table, Table]
  readonly #step: StepBuffer
  readonly #state: SequenceState

  /** `n` and `k`: widths of y and x. `isSymmetric`: whether they are the same. */
  constructor(arena: Arena, pool: Pool, n: number, k: number, isSymmetric: boolean) {
    this.#n = n
    this.#k = k
    this.#arena = arena
    this.#pool = pool
    const plans = widthsOf(k, isSymmetric).map((width) => ({ width, plan: gramPlan(n, width) }))
    const { plan } = plans.at(-1) as { plan: Plan }
    const tables = plan.slots.map(({ bytes }) => ({
      at: arena.allocate(bytes, 'the calibration inputs'),
      bytes,
    }))
    this.#tables = tables as [Table, Table]
    const places = tables.map(({ at }) => at)
    this.#columns = plans.map((own) => ({ ...own, written: writePlan(arena, own.plan, places) }))
    const capacity = { tokens: plan.tokens, logitRows: 1, sequences: 1 }
    this.#step = new StepBuffer(arena, capacity, 0, [])
    // The sequence is never advanced, because the products have no state.
    this.#state = new SequenceState(new StateCache({ arena, blockBytes: [], contextLength: STEP_INPUTS }))
  }

  /**
   * Passes the rows of y^T x to `take`, in blocks [rows][width]; y is [rows][n], x is [rows][k]. If both are
   * the same, a block has at least the columns up to the diagonal; otherwise it has all. Throws `internal`
   * if the pool died.
   */
  multiply(
    y: Float32Array,
    x: Float32Array,
    take: (block: Float32Array, first: number, width: number) => void,
  ): void {
    const n = this.#n
    const k = this.#k
    const tokens = Math.min(STEP_INPUTS, n)
    for (let from = 0; from < x.length / k; from += BATCH) {
      this.#lay(0, n, y.subarray(from * n, (from + BATCH) * n))
      this.#lay(1, k, x.subarray(from * k, (from + BATCH) * k))
      for (let first = 0; first < n; first += tokens) {
        const end = Math.min(first + tokens, n)
        const narrow = this.#columns.length > 1 && this.#columns.find(({ width }) => width >= end)
        this.#products(narrow || (this.#columns.at(-1) as Columns), first, end, take)
      }
    }
  }

  /** Panels of 8 columns: [panel][row][8]. Missing rows are zero. */
  #lay(table: 0 | 1, width: number, rows: Float32Array): void {
    const { f32 } = this.#arena
    const at = this.#tables[table].at / 4
    f32.fill(0, at, at + this.#tables[table].bytes / 4)
    for (let row = 0; row < rows.length / width; row++) {
      for (let i = 0; i < width; i += PANEL_ROWS) {
        const to = at + (i / PANEL_ROWS) * BATCH * PANEL_ROWS + row * PANEL_ROWS
        f32.set(rows.subarray(row * width + i, row * width + Math.min(i + PANEL_ROWS, width)), to)
      }
    }
  }

  #products(
    { width, plan, written }: Columns,
    first: number,
    end: number,
    take: (block: Float32Array, first: number, width: number) => void,
  ): void {
    const step = this.#step
    step.begin()
    step.addSequence(this.#state)
    for (let i = first; i < end; i++) step.addToken(i, false)
    step.finish()
    this.#pool.run(written.records, step.step, 0, written.count)
    const { arena, stride } = plan.logits
    const { f32 } = this.#arena
    for (let row = 0; row < end - first; row++) {
      const at = (written.activations + arena + row * stride) / 4
      take(f32.subarray(at, at + width), first + row, width)
    }
  }
}
