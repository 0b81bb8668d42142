// Splits a model into segments, and runs windows of rows through a segment: to its end, or up to an op whose
// inputs are captured.

import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import { ropeTables } from '../../../core/arch/rope.ts'
import { type Weights, weightOf } from '../../../core/arch/tensors/names.ts'
import { probeStep } from '../../../core/generate/probe-step.ts'
import { StepBuffer } from '../../../core/generate/schedule/step-buffer.ts'
import { matrix } from '../../../core/graph/builder.ts'
import type { Value } from '../../../core/graph/ir.ts'
import { type Graph, inputsOf, type Node, outputsOf } from '../../../core/graph/nodes.ts'
import { planTotals } from '../../../core/graph/plan/cost.ts'
import type { Plan, PlanPointer, PlanRows, WeightSlot } from '../../../core/graph/plan/plan.ts'
import type { Host } from '../../../core/runtime/host.ts'
import type { Arena, Ptr } from '../../../core/runtime/memory/arena.ts'
import { ENGINE_BYTES, openPool, openRuntime } from '../../../core/runtime/open-runtime.ts'
import type { Pool } from '../../../core/runtime/pool.ts'
import { type WrittenPlan, writePlan } from '../../../core/runtime/write-plan.ts'
import { SequenceState } from '../../../core/state/sequence-state.ts'
import { StateCache } from '../../../core/state/state-cache.ts'
import { streamMatrix } from '../../../core/weights/stream-weights.ts'
import { loadWeights } from '../../../engine/load/load-weights.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { CodedLinears } from './coded-linears.ts'
import type { CodeMemory } from './products/code-memory.ts'
import type { SolverCrew } from './solver/solver-crew.ts'

/** A part of a model. Its output is what the next segment reads. */
export interface Segment {
  /**
   * Begins with a one-row embedding as a placeholder for the previous segment's rows, which are written to
   * its output instead of running it. The first segment begins with the model's own embedding.
   */
  readonly graph: Graph
  /** Width of the rows that the segment reads; 0 for token ids. */
  readonly width: number
}

/** The name of the placeholder's weight, one row of `width` zeros. */
export const PLACEHOLDER = 'calibration.rows'

/**
 * Splits the graph wherever later nodes read only one value of the earlier part, with at least one linear in
 * each part. The part after the last split computes the logits and is omitted.
 */
export function segmentsOf(graph: Graph): Segment[] {
  const lastReads = new Map<number, number>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of inputsOf(node)) lastReads.set(id, index)
  }
  const live = new Map<number, Value>()
  const segments: Segment[] = []
  let before: Value | undefined
  let nodes: Node[] = []
  for (const [index, node] of graph.nodes.entries()) {
    nodes.push(node)
    for (const value of outputsOf(node)) live.set(value.id, value)
    for (const { id } of [...inputsOf(node), ...outputsOf(node)]) {
      if ((lastReads.get(id) ?? -1) <= index) live.delete(id)
    }
    const [value, second] = live.values()
    const isCut = value !== undefined && second === undefined && value.shape[0] === 'tokens'
    if (!isCut || (before !== undefined && !nodes.some(isLinear))) continue
    segments.push(segment(graph, nodes, before, value))
    before = value
    nodes = []
  }
  return segments
}

const isLinear = ({ op }: Node): boolean => op === 'linear' || op === 'linearExperts'

function segment(graph: Graph, nodes: readonly Node[], before: Value | undefined, output: Value): Segment {
  const layers = new Set(nodes.flatMap((node) => (node.op === 'ropeKv' ? [node.attention.layer] : [])))
  const stateGroups = graph.stateGroups
    .map((group) => ({ ...group, layers: group.layers.filter((layer) => layers.has(layer)) }))
    .filter((group) => group.layers.length > 0)
  const width = before?.shape[1] ?? 0
  const table = matrix(width, { [PLACEHOLDER]: 1 })
  const read: Node[] = before ? [{ op: 'embed', table, scale: 1, by: 'id', output: before }] : []
  return { width, graph: { nodes: [...read, ...nodes], output, hidden: output, stateGroups } }
}

export interface RunnerOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  readonly signal: AbortSignal
}

/** A matrix product in the plan whose inputs can be captured. */
export interface Tap {
  /** Index of its op. */
  readonly op: number
  readonly slot: number
  /** The canonical names of its matrices, and their output counts. */
  readonly parts: readonly { readonly name: string; readonly n: number }[]
  /** Width of its inputs. */
  readonly k: number
  /** The location of its inputs, and of the residual that its products are added to, if any. */
  readonly input: PlanRows
  readonly residual?: PlanRows | undefined
}

/** Part of a window: ids, or rows [rows][width] from the previous segment. */
export type Window = readonly number[] | Float32Array

/** The plan's f32 products, in execution order. */
export function tapsOf({ ops, slots }: Plan): Tap[] {
  return ops.flatMap(({ name, fields }, op) => {
    const { w } = fields as { w?: PlanPointer }
    if (name !== 'linear_f32' || w === undefined || !('slot' in w)) return []
    const { parts, k } = (slots[w.slot] as WeightSlot).ref
    const rows = (field: string, width: number): PlanRows => {
      const { arena } = fields[field] as { arena: number }
      return { arena, stride: fields[`${field}_stride`] as number, width }
    }
    const isAdded = fields['accumulate'] === 1 && parts.length === 1
    const residual = isAdded ? rows('y', fields['n'] as number) : undefined
    return [{ op, slot: w.slot, parts, k, input: rows('x', k), residual }]
  })
}

/** Values of a window just before a tap's op. */
export interface TapInputs {
  /** [rows][k] */
  readonly x: Float32Array
  /** The residual that the products are added to, [rows][n]. */
  readonly residual?: Float32Array | undefined
  /** The segment's output, [rows][columns], if it was asked for. */
  readonly output?: Float32Array | undefined
}

/** What computes the f32 products of a plan. */
interface Products {
  readonly crew: SolverCrew
  /** With `codedLinearsBytes` of the plan left. */
  readonly memory: CodeMemory
}

export class SegmentRunner {
  readonly taps: readonly Tap[]
  readonly #plan: Plan
  readonly #arena: Arena
  readonly #pool: Pool
  readonly #written: WrittenPlan
  readonly #step: StepBuffer
  readonly #cache: StateCache
  readonly #slots: readonly Ptr[]
  readonly #width: number
  readonly #linears: CodedLinears
  readonly #options: RunnerOptions

  private constructor(parts: {
    plan: Plan
    arena: Arena
    pool: Pool
    written: WrittenPlan
    step: StepBuffer
    cache: StateCache
    slots: readonly Ptr[]
    width: number
    linears: CodedLinears
    options: RunnerOptions
  }) {
    this.taps = tapsOf(parts.plan)
    this.#plan = parts.plan
    this.#arena = parts.arena
    this.#pool = parts.pool
    this.#written = parts.written
    this.#step = parts.step
    this.#cache = parts.cache
    this.#slots = parts.slots
    this.#width = parts.width
    this.#linears = parts.linears
    this.#options = parts.options
  }

  /**
   * `width`: width of the rows that the segment reads; 0 for ids. Throws errors of reading weights,
   * `out-of-memory`.
   */
  static async open(
    prepared: PreparedModel,
    width: number,
    window: number,
    { crew, memory }: Products,
    options: RunnerOptions,
  ): Promise<SegmentRunner> {
    const { plan, config } = prepared
    const { weightBytes, arenaBytes, blockBytes, slabBytes } = planTotals(plan)
    const state = blockBytes.reduce((sum, bytes) => sum + bytes, 0) * (Math.ceil(window / 64) + 1)
    const needBytes = weightBytes + arenaBytes + state + 2 * slabBytes + 4 * ENGINE_BYTES
    const runtime = await openRuntime({ ...options, needBytes, wantBytes: needBytes + (64 << 20) })
    const { arena } = runtime
    const slots = await loadWeights(arena, prepared, options)
    const written = writePlan(arena, plan, slots)
    const slabs = slabBytes > 0 ? [slabBytes] : []
    const groups = plan.stateGroups.length + slabs.length
    const capacity = { tokens: plan.tokens, logitRows: plan.logitRows, sequences: 1 }
    const step = new StepBuffer(arena, capacity, groups, ropeTables(config, prepared.contextLength))
    const windows = plan.stateGroups.map((group) => group.window)
    const cache = new StateCache({ arena, blockBytes, windows, slabBytes: slabs, contextLength: window })
    const probe = (pool: Pool): void => probeStep(pool, written, step, cache)
    const pool = await openPool(runtime, { ...options, probe })
    const linears = new CodedLinears(plan, crew, memory, { arena, activations: written.activations, slots })
    return new SegmentRunner({ plan, arena, pool, written, step, cache, slots, width, linears, options })
  }

  /** The segment's output for a window, [rows][columns]. Throws `internal` if a thread died. */
  async outputs(batch: Window): Promise<Float32Array> {
    const { logits, ops } = this.#plan
    const made = new Float32Array(this.#count(batch) * logits.width)
    await this.#steps(batch, async (first, count) => {
      await this.#runFrom(batch, first, count, ops.length)
      this.#copy(logits, first, count, made)
    })
    return made
  }

  /** The inputs of the tap's op for a window. `isWhole`: also returns the segment's output. */
  async inputs(tap: Tap, batch: Window, isWhole = false): Promise<TapInputs> {
    const { logits, ops } = this.#plan
    const { input, residual, op } = tap
    const roomOf = ({ width }: PlanRows) => new Float32Array(this.#count(batch) * width)
    const x = roomOf(input)
    const added = residual && roomOf(residual)
    const output = isWhole ? roomOf(logits) : undefined
    await this.#steps(batch, async (first, count) => {
      await this.#runFrom(batch, first, count, op)
      this.#copy(input, first, count, x)
      if (residual && added) this.#copy(residual, first, count, added)
      if (output === undefined) return
      await this.#runOps(op, ops.length, count)
      this.#copy(logits, first, count, output)
    })
    return { x, residual: added, output }
  }

  /** Whether the segment ends with a tap's op, so that `outputsFrom` can compute its output. */
  endsWith({ op, residual }: Tap): boolean {
    return residual !== undefined && op === this.#plan.ops.length - 1
  }

  /** The segment's output for a window, whose values before the tap's op are known; see `endsWith`. */
  async outputsFrom({ input, residual, op }: Tap, { x, residual: added }: TapInputs): Promise<Float32Array> {
    const { logits } = this.#plan
    const rows = x.length / input.width
    const made = new Float32Array(rows * logits.width)
    await this.#steps(new Array<number>(rows).fill(0), async (first, count) => {
      this.#place(input, x, first, count)
      if (residual && added) this.#place(residual, added, first, count)
      await this.#runOps(op, op + 1, count)
      this.#copy(logits, first, count, made)
    })
    return made
  }

  /** Reloads a tap's weights after some have been replaced. */
  async reload(tap: Tap, weights: Weights): Promise<void> {
    const { ref, encoding, bytes } = this.#plan.slots[tap.slot] as WeightSlot
    const address = this.#slots[tap.slot] as Ptr
    const view = () => this.#arena.u8.subarray(address, address + bytes)
    const parts = ref.parts.map(({ name, n }) => ({ tensor: weightOf(weights, name), n }))
    await streamMatrix(parts, ref.k, encoding, view, this.#options)
    this.#linears.reload(tap.slot)
  }

  dispose(): void {
    this.#pool.dispose()
  }

  #count(batch: Window): number {
    return Array.isArray(batch) ? batch.length : batch.length / this.#width
  }

  /** Prepares each step of a window, and calls `run` with its first row and row count. */
  async #steps(batch: Window, run: (first: number, count: number) => Promise<void>): Promise<void> {
    const ids = Array.isArray(batch) ? batch : undefined
    const total = this.#count(batch)
    const step = this.#step
    const state = new SequenceState(this.#cache)
    try {
      for (let first = 0; first < total; first += this.#plan.tokens) {
        const count = Math.min(this.#plan.tokens, total - first)
        state.reserve(count)
        step.begin()
        step.addSequence(state)
        for (let row = first; row < first + count; row++) step.addToken(ids?.[row] ?? 0, false)
        step.finish()
        await run(first, count)
        state.advance(count)
      }
    } finally {
      state.release()
    }
  }

  /**
   * Runs the ops before `end` on rows of a window. Rows are placed where the placeholder would write them.
   */
  async #runFrom(batch: Window, first: number, count: number, end: number): Promise<void> {
    const isRows = this.#width > 0
    if (isRows) this.#place(this.#rows, batch as Float32Array, first, count)
    await this.#runOps(isRows ? 1 : 0, end, count)
  }

  /** Runs ops for the `count` rows of a step: linears by their codes, all others in the pool. */
  async #runOps(first: number, end: number, count: number): Promise<void> {
    const run = (from: number, to: number) => {
      if (from < to) this.#pool.run(this.#written.records, this.#step.step, from, to)
    }
    let at = first
    for (const op of this.#linears.ops) {
      if (op < first || op >= end) continue
      run(at, op)
      await this.#linears.run(op, count)
      at = op + 1
    }
    run(at, end)
  }

  /** Where the placeholder writes. */
  get #rows(): PlanRows {
    const { y, y_stride: stride } = this.#plan.ops[0]!.fields as { y: { arena: number }; y_stride: number }
    return { arena: y.arena, stride, width: this.#width }
  }

  /** Writes rows [first, first + count) of a window. */
  #place({ arena, stride, width }: PlanRows, rows: Float32Array, first: number, count: number): void {
    const { f32 } = this.#arena
    for (let row = 0; row < count; row++) {
      const at = (this.#written.activations + arena + row * stride) / 4
      f32.set(rows.subarray((first + row) * width, (first + row + 1) * width), at)
      // Clears the padding, because kernels read whole groups.
      f32.fill(0, at + width, at + Math.ceil(width / GROUP_SIZE) * GROUP_SIZE)
    }
  }

  /** Reads rows [first, first + count) of a window. */
  #copy({ arena, stride, width }: PlanRows, first: number, count: number, target: Float32Array): void {
    const { f32 } = this.#arena
    for (let row = 0; row < count; row++) {
      const at = (this.#written.activations + arena + row * stride) / 4
      target.set(f32.subarray(at, at + width), (first + row) * width)
    }
  }
}
