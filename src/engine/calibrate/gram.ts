// Gram matrices. In: rows x and y of inputs. Out: y^T x, computed by the engine's own product of floats.
//
// The inputs x of 256 rows are the weight of a linear, one output per input: [k][256]. An embedding gives the
// same of y as the linear's input. Products over 256 rows are f32; the caller adds them in f64.

import { PANEL_ROWS } from '../../abi/encodings.ts'
import { StepBuffer } from '../../generate/schedule/step-buffer.ts'
import { graphBuilder, matrix } from '../../graph/builder.ts'
import { compile } from '../../graph/compile.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { planTotals } from '../../graph/plan/totals.ts'
import type { Arena, Ptr } from '../../runtime/memory/arena.ts'
import type { Pool } from '../../runtime/pool.ts'
import { type WrittenPlan, writePlan } from '../../runtime/write-plan.ts'
import { SequenceState } from '../../state/sequence-state.ts'
import { StateCache } from '../../state/state-cache.ts'

/** Rows whose products are summed as f32. */
const BATCH = 256
/** Inputs whose products with all others are computed by one step. */
const STEP_INPUTS = 256

/** Bytes of linear memory that one machine takes. */
export function gramBytes(n: number, k: number): number {
  if (k === 0) return 0
  const { weightBytes, arenaBytes } = planTotals(gramPlan(n, k))
  return weightBytes + arenaBytes + (1 << 20)
}

function gramPlan(n: number, k: number): Plan {
  const b = graphBuilder()
  const rows = b.embed('rows', matrix(BATCH, { y: n }))
  const products = b.linear('gram', rows, matrix(BATCH, { x: k }))
  return compile(b.finish(products), {
    tokens: Math.min(STEP_INPUTS, n),
    logitRows: 1,
    encodingOf: () => 'f32',
  })
}

export class GramMachine {
  readonly #n: number
  readonly #k: number
  readonly #arena: Arena
  readonly #pool: Pool
  readonly #plan: Plan
  readonly #written: WrittenPlan
  /** Addresses of y and x. */
  readonly #tables: readonly [Ptr, Ptr]
  readonly #step: StepBuffer
  readonly #state: SequenceState

  /** `n` and `k`: widths of y and x. */
  constructor(arena: Arena, pool: Pool, n: number, k: number) {
    this.#n = n
    this.#k = k
    this.#arena = arena
    this.#pool = pool
    this.#plan = gramPlan(n, k)
    const [y, x] = this.#plan.slots.map(({ bytes }) => arena.allocate(bytes, 'the calibration inputs'))
    this.#tables = [y as Ptr, x as Ptr]
    this.#written = writePlan(arena, this.#plan, this.#tables)
    const capacity = { tokens: this.#plan.tokens, logitRows: 1, sequences: 1 }
    this.#step = new StepBuffer(arena, capacity, 0, [])
    // It is never advanced: the products have no state.
    this.#state = new SequenceState(new StateCache({ arena, blockBytes: [], contextLength: STEP_INPUTS }))
  }

  /**
   * Passes on the rows of y^T x, in blocks: y is [rows][n], x is [rows][k]. Throws `internal` if the pool
   * died.
   */
  multiply(y: Float32Array, x: Float32Array, take: (block: Float32Array, first: number) => void): void {
    const [n, k] = [this.#n, this.#k]
    for (let from = 0; from < x.length / k; from += BATCH) {
      this.#lay(0, n, y.subarray(from * n, (from + BATCH) * n))
      this.#lay(1, k, x.subarray(from * k, (from + BATCH) * k))
      for (let first = 0; first < n; first += this.#plan.tokens) {
        this.#products(first, Math.min(this.#plan.tokens, n - first), take)
      }
    }
  }

  /** Panels of 8 columns: [panel][row][8]. Rows that are missing are zero. */
  #lay(table: 0 | 1, width: number, rows: Float32Array): void {
    const { f32 } = this.#arena
    const at = this.#tables[table] / 4
    f32.fill(0, at, at + this.#plan.slots[table]!.bytes / 4)
    for (let row = 0; row < rows.length / width; row++) {
      for (let i = 0; i < width; i += PANEL_ROWS) {
        const to = at + (i / PANEL_ROWS) * BATCH * PANEL_ROWS + row * PANEL_ROWS
        f32.set(rows.subarray(row * width + i, row * width + Math.min(i + PANEL_ROWS, width)), to)
      }
    }
  }

  #products(first: number, count: number, take: (block: Float32Array, first: number) => void): void {
    const k = this.#k
    const step = this.#step
    step.begin()
    step.addSequence(this.#state)
    for (let i = first; i < first + count; i++) step.addToken(i, false)
    step.finish()
    this.#pool.run(this.#written.records, step.step, 0, this.#written.count)
    const { arena, stride } = this.#plan.logits
    const { f32 } = this.#arena
    for (let row = 0; row < count; row++) {
      const at = (this.#written.activations + arena + row * stride) / 4
      take(f32.subarray(at, at + k), first + row)
    }
  }
}
