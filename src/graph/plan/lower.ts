// Lower. In: an optimised graph, its memory plan, each weight's encoding. Out: the Plan, field by field.

import { ABI, KV_FORMAT, ROWS } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { AttentionShape, Dim, Value, WeightRef } from '../ir.ts'
import { type Addresses, type Fields, type OpRecord, opRecord, show } from '../node.ts'
import { type Graph, inputsOf, type Node, type NodeOf, recordOf } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'
import { blockLayout, layerOffsets, Slots, type StripBytesOf, slabLayout } from './layouts.ts'
import { type Capacity, type MemoryPlan, routedTimes } from './memory.ts'
import type { Plan, PlanExchange, PlanOp, PlanPointer, PlanRows } from './plan.ts'

/**
 * Turns nodes into op records. Throws `architecture` for more kinds of state than the engine has tables,
 * `internal` for a node that has no kernel.
 */
export function lower(
  graph: Graph,
  memory: MemoryPlan,
  encodingOf: EncodingOf,
  capacity: Capacity,
  stripBytesOf?: StripBytesOf,
): Plan {
  const { offsets, pool: slab } = slabLayout(graph)
  const pools = [...graph.stateGroups.map(blockLayout), ...(slab.bytes > 0 ? [slab] : [])]
  const kinds = pools.length
  if (kinds > ABI.MAX_STATE_GROUPS) {
    throw new HalfbyteError(
      'architecture',
      `the model has ${kinds} kinds of layers with state but the engine holds ${ABI.MAX_STATE_GROUPS}`,
    )
  }
  const slots = new Slots(encodingOf, stripBytesOf)
  const gathered = new Set<number>()
  const ops: PlanOp[] = []
  const exchanges: PlanExchange[] = []
  let hiddenOps = 0
  for (const node of graph.nodes) {
    if (node.op === 'slice') continue
    if (node.op === 'takeRows') {
      gathered.add(node.output.id)
      continue
    }
    checkGather(node, gathered)
    const output = node.output ?? ('quantized' in node ? node.quantized : undefined)
    const shape = output?.shape ?? ['tokens', 0]
    const label = `${output?.label.replace(/\.a8$/, '')} ${show(shape)}`
    const rows = rowsCode(shape[0])
    if (node.op === 'exchange' || node.op === 'collect') exchanges.push(exchange(node))
    const records =
      node.op === 'exchange' ? sums(node) : node.op === 'collect' ? [] : [recordOf(node, addressesOf(node))]
    for (const [name, fields] of records) ops.push({ name, label, fields: { rows, ...fields } })
    if (output?.id === graph.hidden.id) hiddenOps = ops.length
  }
  return {
    ops,
    slots: slots.all,
    stateGroups: graph.stateGroups,
    slabBytes: slab.bytes,
    pools,
    arenaBytes: memory.bytes,
    tokens: capacity.tokens,
    logitRows: capacity.logitRows,
    logits: planRows(graph.output),
    exchanges,
    hidden: { ...planRows(graph.hidden), ops: hiddenOps },
  }

  function arenaSlotOf(value: Value) {
    const slot = memory.arenaSlots.get(value.id)
    if (slot === undefined) throw new HalfbyteError('internal', `${value.label} has no place in the arena`)
    return slot
  }
  function planRows(value: Value): PlanRows {
    const { offset, stride } = arenaSlotOf(value)
    return { arena: offset, stride, width: value.shape[1] }
  }
  /** Two fields for each value's rows. Both are zero when the kernel need not write them. */
  function rowsAt<Name extends string>(
    values: Readonly<Record<Name, Value | undefined>>,
  ): Fields<Name | `${Name}_stride`> {
    const fields = Object.entries<Value | undefined>(values).flatMap(([field, value]) => {
      const slot = value && arenaSlotOf(value)
      const address = slot === undefined ? 0 : { arena: slot.offset }
      return [
        [field, address],
        [`${field}_stride`, slot?.stride ?? 0],
      ]
    })
    return Object.fromEntries(fields)
  }
  /** Where one node finds what its record points to. */
  function addressesOf(node: Node): Addresses {
    return {
      rowsAt,
      slotsOf,
      stateOf,
      at: (value) => ({ arena: arenaSlotOf(value).offset }),
      slotOf(weight) {
        const found = slots.of(weight)
        return { ...found, bytes: slots.all[found.slot]?.bytes ?? 0 }
      },
      // The table of slabs comes after the tables of blocks.
      slab: () => ({ group: graph.stateGroups.length, state_offset: offsets.get(node) ?? 0 }),
      room: () => ({ arena: memory.rooms.get(node) ?? 0 }),
    }
  }
  function stateOf(attention: AttentionShape) {
    const index = graph.stateGroups.findIndex(({ layers }) => layers.includes(attention.layer))
    const group = graph.stateGroups[index]
    if (group === undefined) throw new HalfbyteError('internal', `layer ${attention.layer} has no state`)
    const { k, v } = layerOffsets(group, attention.layer)
    const formats = { k_format: KV_FORMAT[group.format.k], v_format: KV_FORMAT[group.format.v] }
    return { group: index, k_offset: k, v_offset: v, ...formats }
  }
  function exchange(node: NodeOf<'exchange' | 'collect'>): PlanExchange {
    const rows = node.input.shape[0] === 'logitRows' ? 'logitRows' : 'tokens'
    const common = { op: ops.length, rows, own: planRows(node.input) } as const
    if (node.op === 'collect') return { ...common, kind: 'columns', widths: node.widths }
    // Parts of a product lie at whole groups, so whole rows are sent.
    const own = { ...common.own, width: common.own.stride / 4 }
    return { ...common, own, kind: 'sum', offsets: offsetsOf(node) }
  }
  /** Byte offsets of each shard's rows. Those of the other shards lie in the node's room, in shard order. */
  function offsetsOf(node: NodeOf<'exchange'>): number[] {
    const { offset, stride } = arenaSlotOf(node.input)
    const bytes = (node.input.shape[0] === 'logitRows' ? capacity.logitRows : capacity.tokens) * stride
    const room = memory.rooms.get(node) ?? 0
    return Array.from({ length: node.shards }, (_, shard) => {
      if (shard === node.shard) return offset
      return room + (shard < node.shard ? shard : shard - 1) * bytes
    })
  }
  /** Additions in shard order. Rows from the shards before this one are summed where they arrived. */
  function sums(node: NodeOf<'exchange'>): OpRecord[] {
    const { stride } = arenaSlotOf(node.input)
    const offsets = offsetsOf(node)
    const add = (x: number, y: PlanPointer, y_stride: number, n: number) =>
      opRecord('add', { x: { arena: x }, x_stride: stride, y, y_stride, n, scale: 1 })
    const [first = 0, ...others] = offsets
    if (node.residual !== undefined) {
      const y = arenaSlotOf(node.output)
      return offsets.map((x) => add(x, { arena: y.offset }, y.stride, node.output.shape[1]))
    }
    return others.map((offset, index) => {
      const shard = index + 1
      const y = shard < node.shard ? first : (offsets[node.shard] ?? 0)
      return add(shard === node.shard ? first : offset, { arena: y }, stride, stride / 4)
    })
  }
  /** 0 for a weight that the node does not have. */
  function slotsOf<Name extends string>(
    weights: Readonly<Record<Name, WeightRef | undefined>>,
  ): Fields<Name> {
    const fields = Object.entries<WeightRef | undefined>(weights).map(([field, weight]) => [
      field,
      weight ? { slot: slots.of(weight).slot } : 0,
    ])
    return Object.fromEntries(fields)
  }
}

function rowsCode(rows: Dim): number {
  if (typeof rows === 'number' || rows === 'tokens') return ROWS.tokens
  return rows === 'logitRows' ? ROWS.logits : ROWS.routed + routedTimes(rows)
}

/** Only a norm gathers rows, and a norm of wanted rows always gathers. */
function checkGather(node: Node, gathered: ReadonlySet<number>): void {
  const reads = inputsOf(node).some(({ id }) => gathered.has(id))
  const gathers = (node.op === 'rmsnorm' || node.op === 'layernorm') && node.input.shape[0] === 'logitRows'
  if (reads === gathers) return
  throw new HalfbyteError(
    'internal',
    `${node.op} reads the rows whose logits are wanted; a norm gathers them once`,
  )
}
