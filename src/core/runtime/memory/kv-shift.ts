// Moves stored positions in the state and rotates their keys by the distance, with all threads of a pool.

import { ABI } from '../../abi/constants.ts'
import { OPS } from '../../abi/ops.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Plan, PlanOp } from '../../graph/plan/plan.ts'
import type { Pool } from '../pool.ts'
import { writeRecord } from '../write-plan.ts'
import type { Arena, Ptr } from './arena.ts'

interface KvShiftOptions {
  readonly pool: Pool
  readonly arena: Arena
  readonly plan: Plan
  /** Addresses of the plan's weights. */
  readonly slots: readonly Ptr[]
  /** Inverse frequencies of each kind of rotation in the model, as in the step buffer. */
  readonly ropes: readonly Float64Array[]
}

/** The start of a range of positions, in the block tables of all state groups. */
export interface KvPosition {
  /** Per state group, the address of a table: u32 addresses of blocks, each of 64 positions. */
  readonly tables: readonly Ptr[]
  /** The first position. */
  readonly position: number
}

/**
 * Moves stored positions to other positions, in all layers. K becomes what it would be at the new position; V
 * is unchanged. Error: f32 keys are rotated by sums of rounded angles, so elements change by about 2e-7 of
 * the largest. int8 keys are quantised again, which adds an error of up to half a step (range / 510) to each
 * element with every move.
 */
export class KvShift {
  readonly #options: KvShiftOptions
  readonly #layers: readonly PlanOp[]
  /** Op records, then per rope f32 [pairs][cosine, sine]. */
  readonly #records: Ptr
  readonly #angles: readonly Ptr[]

  /** Throws `out-of-memory`. */
  constructor(options: KvShiftOptions) {
    const { arena, plan, ropes } = options
    this.#options = options
    this.#layers = plan.ops.filter(
      // A layer without KV heads uses another layer's state.
      ({ name, fields }) => name === 'rope_kv' && fields['kv_heads'] !== 0,
    )
    this.#records = arena.allocate(this.#layers.length * ABI.OP_BYTES, 'moving the context')
    this.#angles = ropes.map(({ length }) => arena.allocate(length * 8, 'moving the context'))
  }

  /**
   * Moves `count` positions, in all state groups or in one. The blocks of `to` must have no other references.
   * Blocks of `from` are only read, unless they are also in `to`. Throws `internal` if a thread died, and for
   * a move up within the same tables, which would read overwritten values.
   */
  move(from: KvPosition, to: KvPosition, count: number, group?: number): void {
    const { arena, pool, slots } = this.#options
    const layers = this.#layers.filter(({ fields }) => group === undefined || fields.group === group)
    if (to.position > from.position && to.tables.some((table, group) => table === from.tables[group])) {
      throw new HalfbyteError(
        'internal',
        `within their own blocks, positions can only move down, not from ${from.position} to ${to.position}`,
      )
    }
    this.#turnBy(to.position - from.position)
    for (const [index, op] of layers.entries()) {
      const record = {
        ...op,
        name: 'shift_kv' as const,
        fields: this.#fields(op, from, to, count),
      }
      writeRecord(arena, this.#records + index * ABI.OP_BYTES, record, (pointer) =>
        'slot' in pointer ? (slots[pointer.slot] ?? 0) : 0,
      )
    }
    // The op does not read the step, so any address will do.
    pool.run(this.#records, this.#records, 0, layers.length)
  }

  #turnBy(distance: number): void {
    const { arena, ropes } = this.#options
    for (const [rope, frequencies] of ropes.entries()) {
      let at = (this.#angles[rope] ?? 0) / 4
      for (const frequency of frequencies) {
        arena.f32[at++] = Math.cos(distance * frequency)
        arena.f32[at++] = Math.sin(distance * frequency)
      }
    }
  }

  #fields({ fields }: PlanOp, from: KvPosition, to: KvPosition, count: number): PlanOp['fields'] {
    const number = (name: string): number => Number(fields[name])
    const group = number('group')
    const isTurned = to.position !== from.position
    return {
      // Shapes and formats have the same names in both ops.
      ...Object.fromEntries(OPS.shift_kv.fields.map((name) => [name, number(name)])),
      k_bias: fields.k_bias ?? 0,
      rows: 0,
      from_blocks: from.tables[group] ?? 0,
      from: from.position,
      to_blocks: to.tables[group] ?? 0,
      to: to.position,
      count,
      angles: this.#angles[number('rope')] ?? 0,
      rope_dims: isTurned ? number('rope_dims') : 0,
    }
  }
}
