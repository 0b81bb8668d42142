// Computes the f32 linears of a plan with 16-bit codes of weights and activations, each scaled to the norm of
// up to 512 of a row's values. Their error is a few ten-thousandths of a product's norm, and all bits are the
// same on every machine.

import { PANEL_ROWS, ROW_PADDING, roundUp } from '../../../core/abi/encodings.ts'
import type { Plan, PlanPointer } from '../../../core/graph/plan/plan.ts'
import type { Arena, Ptr } from '../../../core/runtime/memory/arena.ts'
import type { CodeCall, Operand } from './products/code-kernels.ts'
import { blocksOf, type CodeMemory, CodeSpace, columnsOf } from './products/code-memory.ts'
import type { SolverCrew } from './solver/solver-crew.ts'

interface Linear {
  readonly slot: number
  readonly bias: number | undefined
  /** Outputs with padding, and inputs. */
  readonly n: number
  readonly k: number
  /** Offsets in the arena, and numbers from one row to the next. */
  readonly x: number
  readonly xStride: number
  readonly y: number
  readonly yStride: number
  readonly isAdded: boolean
}

/** The plan's linears by the index of their ops. */
function linearsOf({ ops }: Plan): Map<number, Linear> {
  const found = new Map<number, Linear>()
  for (const [index, { name, fields }] of ops.entries()) {
    const { w, bias, x, y } = fields as Record<string, number | PlanPointer>
    if (name !== 'linear_f32' || !isSlot(w) || !isArena(x) || !isArena(y)) continue
    const number = (field: string) => fields[field] as number
    found.set(index, {
      slot: w.slot,
      bias: isSlot(bias) ? bias.slot : undefined,
      n: roundUp(number('n'), ROW_PADDING),
      k: number('k'),
      x: x.arena,
      xStride: number('x_stride') / 4,
      y: y.arena,
      yStride: number('y_stride') / 4,
      isAdded: number('accumulate') === 1,
    })
  }
  return found
}

type Field = number | PlanPointer | undefined
const isSlot = (field: Field): field is { slot: number } => typeof field === 'object' && 'slot' in field
const isArena = (field: Field): field is { arena: number } => typeof field === 'object' && 'arena' in field

/** Addresses in the memory of codes. */
interface Layout {
  /** The rows of a step: inputs and outputs. The outputs' place also holds a panel of weights. */
  readonly x: number
  readonly y: number
  /** By slot: the weights, in blocks of inputs. */
  readonly weights: ReadonlyMap<number, readonly Operand[]>
  /** The inputs, in blocks. Narrower linears use a part. */
  readonly rows: readonly Operand[]
}

function layOut(space: CodeSpace, { tokens }: Plan, linears: ReadonlyMap<number, Linear>): Layout {
  const all = [...linears.values()]
  const rows = columnsOf(tokens)
  const most = (of: (linear: Linear) => number) => Math.max(0, ...all.map(of))
  const operands = (k: number, width: number) => blocksOf(k).map(({ count }) => space.operand(width, count))
  const room = most(({ k, yStride }) => Math.max(rows * yStride, k * PANEL_ROWS))
  return {
    x: space.numbers(rows * most(({ xStride }) => xStride), 4),
    y: space.numbers(room, 4),
    weights: new Map(all.map(({ slot, n, k }) => [slot, operands(k, n)])),
    rows: operands(
      most(({ k }) => k),
      rows,
    ),
  }
}

/** Bytes of the memory of codes that a plan needs. */
export function codedLinearsBytes(plan: Plan): number {
  const space = new CodeSpace(0)
  layOut(space, plan, linearsOf(plan))
  return space.end
}

interface Places {
  readonly arena: Arena
  /** Where the activations begin. */
  readonly activations: number
  readonly slots: readonly Ptr[]
}

export class CodedLinears {
  readonly #linears: ReadonlyMap<number, Linear>
  readonly #crew: SolverCrew
  readonly #memory: CodeMemory
  readonly #places: Places
  readonly #layout: Layout

  constructor(plan: Plan, crew: SolverCrew, memory: CodeMemory, places: Places) {
    this.#linears = linearsOf(plan)
    this.#crew = crew
    this.#memory = memory
    this.#places = places
    this.#layout = layOut(memory.space, plan, this.#linears)
    for (const slot of this.#layout.weights.keys()) this.reload(slot)
  }

  /** The indices of the ops that `run` computes. */
  get ops(): Iterable<number> {
    return this.#linears.keys()
  }

  /** Codes the weights of a slot again. */
  reload(slot: number): void {
    const linear = [...this.#linears.values()].find((own) => own.slot === slot)
    if (linear === undefined) return
    const { n, k } = linear
    const { arena, slots } = this.#places
    const { f32, kernels } = this.#memory
    const { y, weights } = this.#layout
    const size = k * PANEL_ROWS
    for (let panel = 0; panel < n / PANEL_ROWS; panel++) {
      const from = slots[slot]! / 4 + panel * size
      f32.set(arena.f32.subarray(from, from + size), y / 4)
      for (const [block, { first, count }] of blocksOf(k).entries()) {
        const own = weights.get(slot)![block]!
        const codes = own.codes + panel * own.pairs * PANEL_ROWS * 4
        const scales = own.scales + panel * PANEL_ROWS * 8
        const to = { ...own, panels: 1, codes, scales }
        kernels.codeColumns(y + first * PANEL_ROWS * 4, PANEL_ROWS, count, PANEL_ROWS, to)
      }
    }
  }

  /** Runs an op for the rows of a step. Throws `internal` if a thread died, or the signal's reason. */
  async run(op: number, rows: number): Promise<void> {
    const linear = this.#linears.get(op) as Linear
    const { x, xStride, y, yStride } = linear
    const { activations, arena } = this.#places
    const { f32 } = this.#memory
    const from = (activations + x) / 4
    f32.set(arena.f32.subarray(from, from + rows * xStride), this.#layout.x / 4)
    const to = (activations + y) / 4
    const made = f32.subarray(this.#layout.y / 4, this.#layout.y / 4 + rows * yStride)
    this.#begin(linear, made, arena.f32.subarray(to, to + made.length))
    await this.#crew.multiplyCodes(this.#calls(linear, rows), this.#memory)
    arena.f32.set(made, to)
  }

  /** What the products are added to. */
  #begin({ bias, n, yStride, isAdded }: Linear, made: Float32Array, before: Float32Array): void {
    const { arena, slots } = this.#places
    if (isAdded) made.set(before)
    else made.fill(0)
    if (bias !== undefined) addBias(made, yStride, arena.f32.subarray(slots[bias]! / 4, slots[bias]! / 4 + n))
  }

  /** Codes the rows of inputs. */
  #calls({ slot, k, xStride, yStride }: Linear, rows: number): readonly CodeCall[] {
    const { x, y, weights, rows: room } = this.#layout
    return blocksOf(k).map(({ first, count }, block) => {
      const pairs = Math.ceil(count / 2)
      const a = { ...(room[block] as Operand), panels: columnsOf(rows) / PANEL_ROWS, pairs }
      const b = weights.get(slot)![block]!
      this.#memory.kernels.codeRows(x + first * 4, xStride, rows, count, a)
      return { a, b, first: 0, step: 1, c: y, stride: yStride, type: 'rows', isLower: false }
    })
  }
}

// hot
/** Adds a bias to every row. */
function addBias(rows: Float32Array, stride: number, bias: Float32Array): void {
  for (let at = 0; at < rows.length; at += stride) {
    for (let i = 0; i < bias.length; i++) rows[at + i]! += bias[i]!
  }
}
