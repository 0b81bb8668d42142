// Lower. In: an optimised graph, its memory plan, each weight's encoding. Out: the Plan, field by field.

import { ABI, ACTIVATION, KV_FORMAT, PAIRING, ROWS } from '../../abi/constants.ts'
import { ENCODINGS, groupEncoding, isSparse, PANEL_ROWS, ROW_PADDING, roundUp } from '../../abi/encodings.ts'
import type { OpFields, OpName } from '../../abi/ops.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { AttentionShape, Dim, Graph, Node, NodeOf, Value, WeightRef } from '../ir.ts'
import { inputsOf } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'
import { rowsOf, show } from '../shapes.ts'
import { type Capacity, type MemoryPlan, routedTimes } from './memory.ts'
import type { Plan, PlanExchange, PlanOp, PlanPointer, PlanRows } from './plan.ts'
import { slabLayout } from './slab-layout.ts'
import { Slots, type StripBytesOf } from './slots.ts'
import { blockLayout, layerOffsets } from './state-layout.ts'

type Word = number | PlanPointer
/** The words of some fields. */
type Fields<Names extends string> = Readonly<Record<Names, Word>>
/** An op and its fields, except `rows`. */
type Lowered = readonly [OpName, PlanOp['fields']]

/** Does not compile when a field of the op is missing. */
const lowered = <N extends OpName>(name: N, fields: OpFields<N, Word>): Lowered => [name, fields]

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
    const records = node.op === 'exchange' ? sums(node) : node.op === 'collect' ? [] : [record(node)]
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
  function routeAt(route: Value): PlanPointer {
    return { arena: arenaSlotOf(route).offset }
  }
  function linearExperts({ input, output, weight, route }: NodeOf<'linearExperts'>): Lowered {
    const { slot, encoding } = slots.of(weight)
    const experts = weight.parts.length
    if (isSparse(encoding)) {
      throw new HalfbyteError('unsupported', `no experts are read from ${encoding}; convert them densely`)
    }
    const rows = { ...rowsAt({ x: input, y: output }), route: routeAt(route), experts }
    const expert_bytes = (slots.all[slot]?.bytes ?? 0) / experts
    const size = { n: output.shape[1], k: weight.k, encoding: ENCODINGS[encoding].code, expert_bytes }
    return lowered('linear_experts', { w: { slot }, ...size, ...rows })
  }
  function state(attention: AttentionShape) {
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
  function sums(node: NodeOf<'exchange'>): Lowered[] {
    const { stride } = arenaSlotOf(node.input)
    const offsets = offsetsOf(node)
    const add = (x: number, y: PlanPointer, y_stride: number, n: number) =>
      lowered('add', { x: { arena: x }, x_stride: stride, y, y_stride, n, scale: 1 })
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
  /** The table of slabs comes after the tables of blocks. */
  function slabFields(node: Node) {
    return { group: graph.stateGroups.length, state_offset: offsets.get(node) ?? 0 }
  }
  function record(node: Exclude<Node, NodeOf<'slice' | 'takeRows' | 'exchange' | 'collect'>>): Lowered {
    switch (node.op) {
      case 'embed': {
        const { slot, encoding } = slots.of(node.table)
        if (encoding !== groupEncoding(encoding)) {
          const name = node.table.parts[0]?.name
          throw new HalfbyteError(
            'unsupported',
            `no embedding is read from ${encoding}; convert ${name} densely`,
          )
        }
        const vocab = rowsOf(node.table)
        const { runs: [run] = [], whole = vocab } = node.table.parts[0]?.rows ?? {}
        const table = {
          table: { slot },
          encoding: ENCODINGS[encoding].code,
          vocab,
          first: run?.first ?? 0,
          whole,
        }
        const by_position = node.by === 'position' ? 1 : 0
        const size = { n: node.table.k, scale: node.scale, by_position }
        return lowered('embed', { ...table, ...size, ...rowsAt({ y: node.output }) })
      }
      case 'rmsnorm':
      case 'layernorm': {
        const { input, weight, output, quantized, epsilon } = node
        const rows = { ...rowsAt({ x: input, y: output, q: quantized }), n: input.shape[1], eps: epsilon }
        return node.op === 'rmsnorm'
          ? lowered('rmsnorm', { ...rows, ...slotsOf({ weight }), parts: node.parts ?? 1 })
          : lowered('layernorm', { ...rows, ...slotsOf({ weight, bias: node.bias }) })
      }
      case 'quantize':
        return lowered('quantize', {
          ...rowsAt({ x: node.input, q: node.output }),
          ...slotsOf({ order: node.order }),
          n: node.input.shape[1],
          whole: node.whole ? 1 : 0,
        })
      case 'linear': {
        const { input, output, weight, bias, residual } = node
        const { encoding } = slots.of(weight)
        const fields = {
          ...{ ...slotsOf({ w: weight, bias }), ...rowsAt({ x: input, y: output }) },
          ...{ n: columnsOf(weight), k: weight.k, accumulate: residual === undefined ? 0 : 1 },
        }
        return isSparse(encoding)
          ? lowered('linear_sparse', { ...fields, encoding: ENCODINGS[encoding].code })
          : lowered(ENCODINGS[encoding].linear, fields)
      }
      case 'linearSwiglu': {
        const { input, quantized, weight, bias } = node
        const { encoding } = slots.of(weight)
        const fields = {
          ...{ ...slotsOf({ w: weight, bias }), ...rowsAt({ x: input, q: quantized }) },
          ...{ n: quantized.shape[1], k: weight.k, activation: ACTIVATION[node.activation] },
        }
        if (isSparse(encoding)) {
          return lowered('linear_swiglu_sparse', { ...fields, encoding: ENCODINGS[encoding].code })
        }
        const entry = ENCODINGS[encoding]
        if ('gated' in entry) return lowered(entry.gated, fields)
        throw new HalfbyteError('internal', `no gated linear reads ${encoding}`)
      }
      case 'ropeKv': {
        const { q, k, v, norms, rope, attention } = node
        const { heads, kvHeads, headDim } = attention
        return lowered('rope_kv', {
          ...{ ...rowsAt({ q, k, v }), ...state(attention) },
          ...{ heads, kv_heads: kvHeads, head_dim: headDim },
          ...{ rope: rope.table, rope_dims: rope.dims, pairing: PAIRING[rope.pairing] },
          ...{ ...slotsOf({ q_norm: norms?.q, k_norm: norms?.k }), eps: norms?.epsilon ?? 0 },
          norm_rows: norms?.over === 'row' ? 1 : 0,
        })
      }
      case 'attention': {
        const { input, output, quantized, scale, cap } = node
        const { heads, kvHeads, headDim, window, ratio = heads / kvHeads, absent = 0 } = node.attention
        const size = { heads, kv_heads: kvHeads, head_dim: headDim, ratio, absent }
        const scores = { window, scale, cap, parts: { arena: memory.rooms.get(node) ?? 0 } }
        const rows = rowsAt({ q: input, y: output, a8: quantized })
        return lowered('attention', { ...rows, ...size, ...scores, ...state(node.attention) })
      }
      case 'swiglu': {
        const { gate, up, output, quantized } = node
        const rows = rowsAt({ gate, up, y: output, q: quantized })
        return lowered('swiglu', { ...rows, n: gate.shape[1], activation: ACTIVATION[node.activation] })
      }
      case 'conv1d': {
        const { input, output, quantized, weight, bias } = node
        const rows = { ...rowsAt({ x: input, y: output, q: quantized }), ...slabFields(node) }
        const size = {
          channels: whole(input, PANEL_ROWS),
          taps: weight.k,
          activation: ACTIVATION[node.activation],
        }
        return lowered('conv1d', { ...rows, ...slotsOf({ w: weight, bias }), ...size })
      }
      case 'scan': {
        const { x, dt, z, b, c, decay, skip, output, quantized } = node
        const rows = { ...rowsAt({ u: x, dt, z, b, c, y: output, q: quantized }), ...slabFields(node) }
        const size = { channels: whole(x, ROW_PADDING), states: decay.k }
        return lowered('scan', { ...rows, ...slotsOf({ decay, skip }), ...size })
      }
      case 'ssd': {
        const { x, dt, z, b, c, decay, skip, dtBias, heads, groups, output } = node
        const [least, most] = node.stepLimit ?? [0, Number.POSITIVE_INFINITY]
        const rows = { ...rowsAt({ x, dt, z, b, c, y: output }), ...slabFields(node) }
        const size = { heads, head_dim: x.shape[1] / heads, groups, states: b.shape[1] / groups }
        return lowered('ssd', { ...rows, ...slotsOf({ decay, skip, dt_bias: dtBias }), ...size, least, most })
      }
      case 'add': {
        const { left, right, output, scale } = node
        const other = arenaSlotOf(output).offset === arenaSlotOf(left).offset ? right : left
        return lowered('add', { ...rowsAt({ x: other, y: output }), n: output.shape[1], scale })
      }
      case 'rescale': {
        const { scale, cap, output } = node
        return lowered('rescale', { ...rowsAt({ y: output }), n: output.shape[1], scale, cap })
      }
      case 'renorm': {
        const { x, width, size, epsilon, output } = node
        return lowered('renorm', { ...rowsAt({ x, y: output }), n: width, size, eps: epsilon })
      }
      case 'route': {
        const { experts, used, normalize, input, output } = node
        const choice = { experts, used, normalize: normalize ? 1 : 0 }
        return lowered('route', { ...rowsAt({ x: input }), ...choice, route: routeAt(output) })
      }
      case 'gather':
      case 'combine': {
        const { experts, used, input, output, route } = node
        const rows = { ...rowsAt({ x: input, y: output }), n: input.shape[1] }
        const fields = { ...rows, route: routeAt(route), experts }
        return node.op === 'gather' ? lowered('gather', fields) : ['combine', { ...fields, used }]
      }
      case 'linearExperts':
        return linearExperts(node)
      default:
        throw new HalfbyteError('internal', `no kernel for ${JSON.stringify(node satisfies never)}`)
    }
  }
}

/** Channels of a recurrent op, which works on so many at once. */
function whole({ label, shape: [, width] }: Value, multiple: number): number {
  if (width % multiple === 0) return width
  throw new HalfbyteError('internal', `${label} has ${width} channels where a multiple of ${multiple} is due`)
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

/** Outputs of a weight up to its last row: parts before the last are padded. */
function columnsOf({ parts }: WeightRef): number {
  return parts.reduce((end, { n }) => roundUp(end, ROW_PADDING) + n, 0)
}
