// Lowers an optimised graph to a Plan, field by field.

import { ABI, KV_FORMAT, ROWS } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { AttentionShape, Dim, Value, WeightRef } from '../ir.ts'
import { type Addresses, type Fields, type OpRecord, opRecord, show } from '../node.ts'
import { type Graph, inputsOf, type Node, type NodeOf, recordOf } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'
import { blockLayout, layerOffsets, Slots, type StripBytesOf, slabLayout } from './layouts.ts'
import type { Plan, PlanExchange, PlanOp, PlanPointer, PlanRows } from './plan.ts'
import { type Capacity, type MemoryPlan, routedTimes } from './plan-memory.ts'

/**
 * Turns nodes into op records. Throws `architecture` for more kinds of state than the engine has tables for,
 * `internal` for a node without a kernel.
 */
export function lower(
  graph: Graph,
  memory: MemoryPlan,
  encodingOf: EncodingOf,
  capacity: Capacity,
  stripBytesOf?: StripBytesOf,
): Plan {
  return new Lowering(graph, memory, new Slots(encodingOf, stripBytesOf), capacity).plan()
}

class Lowering {
  readonly #graph: Graph
  readonly #memory: MemoryPlan
  readonly #slots: Slots
  readonly #capacity: Capacity
  readonly #slabs: ReturnType<typeof slabLayout>
  readonly #gathered = new Set<number>()
  readonly #ops: PlanOp[] = []
  readonly #exchanges: PlanExchange[] = []
  #hiddenOps = 0

  constructor(graph: Graph, memory: MemoryPlan, slots: Slots, capacity: Capacity) {
    this.#graph = graph
    this.#memory = memory
    this.#slots = slots
    this.#capacity = capacity
    this.#slabs = slabLayout(graph)
  }

  plan(): Plan {
    const { stateGroups, nodes, output, hidden } = this.#graph
    const { pool: slab } = this.#slabs
    const pools = [...stateGroups.map(blockLayout), ...(slab.bytes > 0 ? [slab] : [])]
    const kinds = pools.length
    if (kinds > ABI.MAX_STATE_GROUPS) {
      throw new HalfbyteError(
        'architecture',
        `the model has ${kinds} kinds of layers with state but the engine supports at most ${ABI.MAX_STATE_GROUPS}`,
      )
    }
    for (const node of nodes) this.#lower(node)
    return {
      ops: this.#ops,
      slots: this.#slots.all,
      stateGroups,
      slabBytes: slab.bytes,
      pools,
      arenaBytes: this.#memory.bytes,
      tokens: this.#capacity.tokens,
      logitRows: this.#capacity.logitRows,
      logits: this.#planRows(output),
      exchanges: this.#exchanges,
      hidden: { ...this.#planRows(hidden), ops: this.#hiddenOps },
    }
  }

  /** Appends the node's records to the plan. */
  #lower(node: Node): void {
    // A slice is a view, and the norm after `takeRows` gathers its rows.
    if (node.op === 'slice') return
    if (node.op === 'takeRows') {
      this.#gathered.add(node.output.id)
      return
    }
    checkGather(node, this.#gathered)
    const output = node.output ?? ('quantized' in node ? node.quantized : undefined)
    const shape = output?.shape ?? ['tokens', 0]
    const label = `${output?.label.replace(/\.a8$/, '')} ${show(shape)}`
    const rows = rowsCode(shape[0])
    if (node.op === 'exchange' || node.op === 'collect') this.#exchanges.push(this.#exchange(node))
    for (const [name, fields] of this.#recordsOf(node))
      this.#ops.push({ name, label, fields: { rows, ...fields } })
    if (output?.id === this.#graph.hidden.id) this.#hiddenOps = this.#ops.length
  }

  #recordsOf(node: Exclude<Node, NodeOf<'slice' | 'takeRows'>>): readonly OpRecord[] {
    if (node.op === 'exchange') return this.#sums(node)
    return node.op === 'collect' ? [] : [recordOf(node, this.#addressesOf(node))]
  }

  #arenaSlotOf(value: Value) {
    const slot = this.#memory.arenaSlots.get(value.id)
    if (slot === undefined) throw new HalfbyteError('internal', `${value.label} has no place in the arena`)
    return slot
  }

  #planRows(value: Value): PlanRows {
    const { offset, stride } = this.#arenaSlotOf(value)
    return { arena: offset, stride, width: value.shape[1] }
  }

  /** Two fields for each value's rows. Both are zero if the kernel need not write them. */
  #rowsAt<Name extends string>(
    values: Readonly<Record<Name, Value | undefined>>,
  ): Fields<Name | `${Name}_stride`> {
    const fields = Object.entries<Value | undefined>(values).flatMap(([field, value]) => {
      const slot = value && this.#arenaSlotOf(value)
      const address = slot === undefined ? 0 : { arena: slot.offset }
      return [
        [field, address],
        [`${field}_stride`, slot?.stride ?? 0],
      ]
    })
    return Object.fromEntries(fields)
  }

  /** The addresses of everything that a node's record points to. */
  #addressesOf(node: Node): Addresses {
    return {
      rowsAt: (values) => this.#rowsAt(values),
      slotsOf: (weights) => this.#slotsOf(weights),
      stateOf: (attention) => this.#stateOf(attention),
      at: (value) => ({ arena: this.#arenaSlotOf(value).offset }),
      slotOf: (weight) => {
        const found = this.#slots.of(weight)
        return { ...found, bytes: this.#slots.all[found.slot]?.bytes ?? 0 }
      },
      // The table of slabs follows the tables of blocks.
      slab: () => ({
        group: this.#graph.stateGroups.length,
        state_offset: this.#slabs.offsets.get(node) ?? 0,
      }),
      room: () => ({ arena: this.#memory.scratch.get(node) ?? 0 }),
    }
  }

  #stateOf(attention: AttentionShape) {
    const index = this.#graph.stateGroups.findIndex(({ layers }) => layers.includes(attention.layer))
    const group = this.#graph.stateGroups[index]
    if (group === undefined) throw new HalfbyteError('internal', `layer ${attention.layer} has no state`)
    const { k, v } = layerOffsets(group, attention.layer)
    const formats = { k_format: KV_FORMAT[group.format.k], v_format: KV_FORMAT[group.format.v] }
    return { group: index, k_offset: k, v_offset: v, ...formats }
  }

  #exchange(node: NodeOf<'exchange' | 'collect'>): PlanExchange {
    const rows = node.input.shape[0] === 'logitRows' ? 'logitRows' : 'tokens'
    const common = { op: this.#ops.length, rows, own: this.#planRows(node.input) } as const
    if (node.op === 'collect') return { ...common, kind: 'columns', widths: node.widths }
    // Parts of a product begin at group boundaries, so whole rows are sent.
    const own = { ...common.own, width: common.own.stride / 4 }
    return { ...common, own, kind: 'sum', offsets: this.#offsetsOf(node) }
  }

  /**
   * Byte offsets of each shard's rows. The other shards' rows are in the node's scratch memory, in shard
   * order.
   */
  #offsetsOf(node: NodeOf<'exchange'>): number[] {
    const { offset, stride } = this.#arenaSlotOf(node.input)
    const bytes =
      (node.input.shape[0] === 'logitRows' ? this.#capacity.logitRows : this.#capacity.tokens) * stride
    const room = this.#memory.scratch.get(node) ?? 0
    return Array.from({ length: node.shards }, (_, shard) => {
      if (shard === node.shard) return offset
      return room + (shard < node.shard ? shard : shard - 1) * bytes
    })
  }

  /** Additions in shard order. Rows from earlier shards are summed where they arrived. */
  #sums(node: NodeOf<'exchange'>): OpRecord[] {
    const { stride } = this.#arenaSlotOf(node.input)
    const offsets = this.#offsetsOf(node)
    const add = (x: number, y: PlanPointer, y_stride: number, n: number) =>
      opRecord('add', { x: { arena: x }, x_stride: stride, y, y_stride, n, scale: 1 })
    const [first = 0, ...others] = offsets
    if (node.residual !== undefined) {
      const y = this.#arenaSlotOf(node.output)
      return offsets.map((x) => add(x, { arena: y.offset }, y.stride, node.output.shape[1]))
    }
    return others.map((offset, index) => {
      const shard = index + 1
      const y = shard < node.shard ? first : (offsets[node.shard] ?? 0)
      return add(shard === node.shard ? first : offset, { arena: y }, stride, stride / 4)
    })
  }

  /** 0 for a weight that the node lacks. */
  #slotsOf<Name extends string>(weights: Readonly<Record<Name, WeightRef | undefined>>): Fields<Name> {
    const fields = Object.entries<WeightRef | undefined>(weights).map(([field, weight]) => [
      field,
      weight ? { slot: this.#slots.of(weight).slot } : 0,
    ])
    return Object.fromEntries(fields)
  }
}

function rowsCode(rows: Dim): number {
  if (typeof rows === 'number' || rows === 'tokens') return ROWS.tokens
  return rows === 'logitRows' ? ROWS.logits : ROWS.routed + routedTimes(rows)
}

/** Only a norm gathers rows, and a norm of wanted rows always does. */
function checkGather(node: Node, gathered: ReadonlySet<number>): void {
  const reads = inputsOf(node).some(({ id }) => gathered.has(id))
  const gathers = (node.op === 'rmsnorm' || node.op === 'layernorm') && node.input.shape[0] === 'logitRows'
  if (reads === gathers) return
  throw new HalfbyteError(
    'internal',
    `${node.op} reads the rows whose logits are wanted; a norm gathers them once`,
  )
}
