// Splits a model into segments, and runs windows of rows through a segment: to its end, or up to an op whose
// inputs are captured.

import { GROUP_SIZE } from '../../../core/abi/encodings.ts'
import { ropeTables } from '../../../core/arch/rope.ts'
import { type Weights, weightOf } from '../../../core/arch/tensors/names.ts'
import { memo } from '../../../core/base/values.ts'
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
import { GramMachine, gramBytes } from './gram.ts'

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
  readonly #options: RunnerOptions
  readonly #grams = new Map<string, GramMachine>()

  private constructor(parts: {
    plan: Plan
    arena: Arena
    pool: Pool
    written: WrittenPlan
    step: StepBuffer
    cache: StateCache
    slots: readonly Ptr[]
    width: number
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
    options: RunnerOptions,
  ): Promise<SegmentRunner> {
    const { plan, config } = prepared
    const { weightBytes, arenaBytes, blockBytes, slabBytes } = planTotals(plan)
    const widest = Math.max(0, ...tapsOf(plan).map(({ k }) => k))
    const state = blockBytes.reduce((sum, bytes) => sum + bytes, 0) * (Math.ceil(window / 64) + 1)
    const needBytes = weightBytes + arenaBytes + state + 2 * slabBytes + gramBytes(widest) + 4 * ENGINE_BYTES
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
    return new SegmentRunner({ plan, arena, pool, written, step, cache, slots, width, options })
  }

  /** The segment's output for a window, [rows][columns]. Throws `internal` if the pool died. */
  outputs(batch: Window): Float32Array {
    const { logits } = this.#plan
    const made = new Float32Array(this.#count(batch) * logits.width)
    this.#run(batch, this.#plan.ops.length, (first, count) => {
      this.#copy(logits, count, made.subarray(first * logits.width))
    })
    return made
  }

  /** The inputs of the tap's op for a window, [rows][k], and the residual that it adds to, [rows][n]. */
  inputs({ input, residual, op }: Tap, batch: Window): { x: Float32Array; residual?: Float32Array } {
    const rows = this.#count(batch)
    const x = new Float32Array(rows * input.width)
    const added = new Float32Array(rows * (residual?.width ?? 0))
    this.#run(batch, op, (first, count) => {
      this.#copy(input, count, x.subarray(first * input.width))
      if (residual !== undefined) this.#copy(residual, count, added.subarray(first * residual.width))
    })
    return residual === undefined ? { x } : { x, residual: added }
  }

  /** Multiplies rows of these widths on the same threads. Without `n`: rows of width `k` with themselves. */
  gram(k: number, n?: number): GramMachine {
    const make = () => new GramMachine(this.#arena, this.#pool, n ?? k, k, n === undefined)
    return memo(this.#grams, `${n} ${k}`, make)
  }

  /** Reloads a tap's weights after some have been replaced. */
  async reload(tap: Tap, weights: Weights): Promise<void> {
    const { ref, encoding, bytes } = this.#plan.slots[tap.slot] as WeightSlot
    const address = this.#slots[tap.slot] as Ptr
    const view = () => this.#arena.u8.subarray(address, address + bytes)
    const parts = ref.parts.map(({ name, n }) => ({ tensor: weightOf(weights, name), n }))
    await streamMatrix(parts, ref.k, encoding, view, this.#options)
  }

  dispose(): void {
    this.#pool.dispose()
  }

  #count(batch: Window): number {
    return this.#width === 0 ? batch.length : batch.length / this.#width
  }

  /** Runs ops up to `end`, in steps. `read` is called after each step with its first row and row count. */
  #run(batch: Window, end: number, read: (first: number, count: number) => void): void {
    const total = this.#count(batch)
    const step = this.#step
    const state = new SequenceState(this.#cache)
    const isRows = this.#width > 0
    try {
      for (let first = 0; first < total; first += this.#plan.tokens) {
        const count = Math.min(this.#plan.tokens, total - first)
        state.reserve(count)
        step.begin()
        step.addSequence(state)
        for (let row = first; row < first + count; row++) step.addToken(isRows ? 0 : batch[row]!, false)
        step.finish()
        if (isRows) this.#place(batch as Float32Array, first, count)
        this.#pool.run(this.#written.records, step.step, isRows ? 1 : 0, end)
        read(first, count)
        state.advance(count)
      }
    } finally {
      state.release()
    }
  }

  /** Writes rows where the placeholder would. */
  #place(rows: Float32Array, first: number, count: number): void {
    const { y, y_stride: stride } = this.#plan.ops[0]!.fields as { y: { arena: number }; y_stride: number }
    const width = this.#width
    const { f32 } = this.#arena
    for (let row = 0; row < count; row++) {
      const at = (this.#written.activations + y.arena + row * stride) / 4
      f32.set(rows.subarray((first + row) * width, (first + row + 1) * width), at)
      // Clears the padding, because kernels read whole groups.
      f32.fill(0, at + width, at + Math.ceil(width / GROUP_SIZE) * GROUP_SIZE)
    }
  }

  #copy({ arena, stride, width }: PlanRows, count: number, target: Float32Array): void {
    const { f32 } = this.#arena
    for (let row = 0; row < count; row++) {
      const at = (this.#written.activations + arena + row * stride) / 4
      target.set(f32.subarray(at, at + width), row * width)
    }
  }
}
