// Computes Gram matrices y^T x of input rows with the engine's own float product.
//
// Up to 512 rows of x act as a linear layer's weight with one output per input: [k][512]. An embedding
// supplies the rows of y as the linear's input. Products over these rows are f32; they are summed in f64.
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

/** Maximum rows whose products are summed as f32. */
const BATCH_ROWS = 512
/** Inputs whose products with all others are computed in one step. */
const STEP_INPUTS = 256
/** Widths of x^T x. More widths compute less of the upper triangle. */
const WIDTHS = 8

const batchOf = (window: number): number => Math.min(BATCH_ROWS, window)

/**
 * Bytes of linear memory for the machines of widths up to `k`, one of each kind, for windows of this length.
 */
export function gramBytes(k: number, window: number): number {
  if (k === 0) return 0
  const batch = batchOf(window)
  const totals = widthsOf(k, true).map((width) => planTotals(gramPlan(k, width, batch)))
  const arenas = totals.reduce((sum, { arenaBytes }) => sum + arenaBytes + (1 << 16), 0)
  const { weightBytes, arenaBytes } = planTotals(gramPlan(k, k, batch))
  return 3 * (weightBytes + arenaBytes + (1 << 20)) + weightBytes + arenas
}

const widthsOf = (k: number, isSymmetric: boolean): number[] =>
  isSymmetric
    ? [...new Set(Array.from({ length: WIDTHS }, (_, i) => Math.min(k, roundUp((k * (i + 1)) / WIDTHS, 8))))]
    : [k]

function gramPlan(n: number, width: number, batch: number): Plan {
  const b = graphBuilder()
  const rows = b.embed('rows', matrix(batch, { y: n }))
  const products = b.linear('gram', rows, matrix(batch, { x: width }))
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

interface GramShape {
  /** Width of y. */
  readonly n: number
  /** Width of x. */
  readonly k: number
  /** Whether y is x. */
  readonly isSymmetric: boolean
  /** Rows that are usually added together. */
  readonly window: number
}

export class GramMachine {
  readonly #n: number
  readonly #k: number
  readonly #batch: number
  readonly #arena: Arena
  readonly #pool: Pool
  /** Narrowest first. */
  readonly #columns: readonly Columns[]
  /** y and x; one table if they are the same. */
  readonly #tables: readonly [Table, Table]
  readonly #step: StepBuffer
  readonly #state: SequenceState

  constructor(arena: Arena, pool: Pool, { n, k, isSymmetric, window }: GramShape) {
    this.#n = n
    this.#k = k
    this.#batch = batchOf(window)
    this.#arena = arena
    this.#pool = pool
    const plans = widthsOf(k, isSymmetric).map((width) => ({ width, plan: gramPlan(n, width, this.#batch) }))
    const { plan } = plans.at(-1) as { plan: Plan }
    const tables = plan.slots.slice(isSymmetric ? 1 : 0).map(({ bytes }): Table => {
      const at = arena.allocate(bytes, 'the calibration inputs')
      arena.f32.fill(0, at / 4, (at + bytes) / 4)
      return { at, bytes }
    })
    const [first, last = first] = tables as [Table, Table?]
    this.#tables = [first, last]
    const places = this.#tables.map(({ at }) => at)
    this.#columns = plans.map((own) => ({ ...own, written: writePlan(arena, own.plan, places) }))
    const capacity = { tokens: plan.tokens, logitRows: 1, sequences: 1 }
    this.#step = new StepBuffer(arena, capacity, 0, [])
    // The sequence is never advanced, because the products have no state.
    this.#state = new SequenceState(new StateCache({ arena, blockBytes: [], contextLength: STEP_INPUTS }))
  }

  /**
   * Adds y^T x to `sums`, [n][k]; y is [rows][n], x is [rows][k]. If both are the same, only columns up to
   * the diagonal are correct. Throws `internal` if the pool died.
   */
  add(y: Float32Array, x: Float32Array, sums: Float64Array): void {
    const n = this.#n
    const k = this.#k
    const batch = this.#batch
    const tokens = Math.min(STEP_INPUTS, n)
    const [own, other] = this.#tables
    for (let from = 0; from < x.length / k; from += batch) {
      this.#lay(other, k, x.subarray(from * k, (from + batch) * k))
      if (own !== other) this.#lay(own, n, y.subarray(from * n, (from + batch) * n))
      for (let first = 0; first < n; first += tokens) {
        const end = Math.min(first + tokens, n)
        const narrow = this.#columns.length > 1 && this.#columns.find(({ width }) => width >= end)
        this.#products(narrow || (this.#columns.at(-1) as Columns), first, end, sums)
      }
    }
  }

  // hot
  /** Panels of 8 columns: [panel][row][8]. Missing rows are zero. */
  #lay({ at, bytes }: Table, width: number, rows: Float32Array): void {
    const { f32 } = this.#arena
    const batch = this.#batch
    if (rows.length < batch * width) f32.fill(0, at / 4, (at + bytes) / 4)
    for (let first = 0; first < width; first += PANEL_ROWS) {
      const columns = Math.min(PANEL_ROWS, width - first)
      let to = at / 4 + first * batch
      for (let from = first; from < rows.length; from += width, to += PANEL_ROWS) {
        for (let i = 0; i < columns; i++) f32[to + i] = rows[from + i]!
      }
    }
  }

  // hot
  #products({ width, plan, written }: Columns, first: number, end: number, sums: Float64Array): void {
    const step = this.#step
    step.begin()
    step.addSequence(this.#state)
    for (let i = first; i < end; i++) step.addToken(i, false)
    step.finish()
    this.#pool.run(written.records, step.step, 0, written.count)
    const { arena, stride } = plan.logits
    const { f32 } = this.#arena
    const k = this.#k
    for (let row = 0; row < end - first; row++) {
      const from = (written.activations + arena + row * stride) / 4
      const to = (first + row) * k
      for (let i = 0; i < width; i++) sums[to + i]! += f32[from + i]!
    }
  }
}
