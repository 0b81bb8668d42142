// The handler of ONNX Runtime's GroupQueryAttention: rotation, appending keys and values to those of earlier
// steps, and attention over them. The number of earlier rows of each sequence is data.
import { hasInput, type Node } from '../../../onnx/ir/graph.ts'
import { flagOf, floatOf, intOf, unfit } from '../../../onnx/ir/operator.ts'
import { plainHeadCounts, QKV } from '../../../onnx/operators/contrib/attention.ts'
import { dimsOf, type Ref, spreadRef } from '../../loops/loops.ts'
import { apply, arg, number, select, type Tree } from '../../loops/tree.ts'
import { sliced } from '../../loops/view.ts'
import { type Handler, optional, type SomeHandlers } from '../handler.ts'
import { add32, elementsAlong, OUTSIDE, placesAlong } from '../indices.ts'
import { padded, reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { misfit } from '../lowering/misfit.ts'
import { attended, headsOf, leave, swapped } from './attention.ts'
import { positionsOf, rotatedHeads, tableRowsAt } from './rotary.ts'

/** The rows that a step adds to each sequence's state. */
interface Step {
  readonly batch: number
  /** New rows per sequence. */
  readonly rows: number
  /** Rows of the longest sequence after the step. */
  readonly total: number
  /** Earlier rows of each sequence, i32 [batch, 1]. Undefined: none. */
  readonly before: Ref | undefined
}

const groupQueryAttention: Handler = (lowering, node) => {
  const [heads, shared] = plainHeadCounts(node)
  const [asked, own, value] = partsOf(lowering, node, heads, shared)
  const step = stepOf(lowering, node, asked)
  const turn = rotation(lowering, node, step)
  const k = joinedState(lowering, node, turn(own), QKV.pastKey, step)
  const v = joinedState(lowering, node, value, QKV.pastValue, step)
  const mask = optional(lowering, node, QKV.bias)
  const window = intOf(node, 'local_window_size', -1)
  const { total, before, batch } = step
  const seen = (ref: Ref): Ref => ({ ...ref, view: sliced(ref.view, 2, 0, total) })
  const sides = { q: turn(asked), k: seen(k), v: seen(v) }
  const rows = attended(lowering, node, sides, {
    scale: floatOf(node, 'scale', 0) || 1 / Math.sqrt(dimsOf(asked)[3]!),
    cap: floatOf(node, 'softcap', 0),
    masks: mask === undefined ? [] : [{ ref: mask, how: 'added' }],
    before: before === undefined ? 0 : reshape(lowering, node, before, [batch, 1, 1, 1]),
    window: window < 0 ? undefined : window,
  })
  leave(lowering, node, rows, { k, v })
}

/** Queries, keys and values, [batch, heads, rows, width]. They share one row if keys are omitted. */
function partsOf(lowering: Lowering, node: Node, heads: number, shared: number): [Ref, Ref, Ref] {
  const query = lowering.values.ref(node, node.inputs[QKV.query]!)
  const dims = dimsOf(query)
  const each = dims[2]! / (heads + 2 * shared)
  const isOne = !hasInput(node, QKV.key) && !hasInput(node, QKV.value)
  if (dims.length !== 3 || (isOne && !Number.isInteger(each)))
    throw unfit(
      node,
      `rows [${dims}] do not hold ${heads} query heads and twice ${shared} key and value heads`,
    )
  let from = 0
  return [heads, shared, shared].map((count, index) => {
    const start = from * each
    from += count
    return headsOf(
      lowering,
      node,
      isOne
        ? { ...query, view: sliced(query.view, 2, start, count * each) }
        : lowering.values.ref(node, node.inputs[index]!),
      count,
    )
  }) as [Ref, Ref, Ref]
}

/** The lengths are those of the sequences after the step, minus one. A first step begins at 0. */
function stepOf(lowering: Lowering, node: Node, query: Ref): Step {
  const [batch, , rows] = dimsOf(query) as [number, number, number]
  const [total = 0] = lowering.values.list(node, QKV.total)
  if (rows === total) return { batch, rows, total, before: undefined }
  const lengths = lowering.values.ref(node, node.inputs[QKV.lengths]!)
  const given = reshape(lowering, node, lengths, [batch, 1])
  const before = map(lowering, node, [given], add32(arg(0, 'i32'), number(1 - rows, 'i32')))
  return { batch, rows, total, before }
}

/** Rotates heads [batch, heads, rows, width], if the node requests it. */
function rotation(lowering: Lowering, node: Node, { batch, rows, before }: Step): (heads: Ref) => Ref {
  if (!flagOf(node, 'do_rotary')) return (heads) => heads
  const places = (): Ref => {
    const own = placesAlong(lowering, rows, 0)
    const made =
      before === undefined ? own : map(lowering, node, [own, before], add32(arg(0, 'i32'), arg(1, 'i32')))
    return spreadRef(made, [batch, rows])
  }
  const positions = hasInput(node, QKV.positions)
    ? positionsOf(lowering, node, { batch, rows, positions: QKV.positions })
    : places()
  const tables = [QKV.cos, QKV.sin].map((table) =>
    tableRowsAt(lowering, node, lowering.values.ref(node, node.inputs[table] ?? ''), positions),
  ) as [Ref, Ref]
  const half = dimsOf(tables[0])[3]!
  const isInterleaved = flagOf(node, 'rotary_interleaved')
  return (heads) => {
    const width = dimsOf(heads)[3]!
    if (2 * half > width) throw unfit(node, `tables with ${half} pairs do not fit heads of ${width}`)
    return swapped(rotatedHeads(lowering, node, swapped(heads), { tables, half, isInterleaved }))
  }
}

/** The state: each sequence's earlier rows, followed by its new ones and then zeros. */
function joinedState(lowering: Lowering, node: Node, own: Ref, index: number, step: Step): Ref {
  const { batch, rows, total, before } = step
  const dims = dimsOf(own)
  const old = optional(lowering, node, index)
  const given = old === undefined ? dims.with(2, 0) : dimsOf(old)
  const capacity = given[2] ?? 0
  const isFit =
    `${dims}` === `${[batch, dims[1], rows, dims[3]]}` && `${given}` === `${dims.with(2, capacity)}`
  if (!isFit || total < rows || total > capacity + rows)
    throw misfit(node, `its state [${given}] does not fit [${dims}], ${rows} of ${total} rows`)
  const after = dims.with(2, Math.max(total, capacity))
  if (before !== undefined) return gatheredState(lowering, node, { own, old: old!, after, before, total })
  const more = after[2]! - rows
  const none = [0, 0] as const
  return more === 0 ? own : padded(lowering, node, own, [none, none, [0, more], none], 0)
}

interface Joined extends Pick<Step, 'total'> {
  readonly own: Ref
  readonly old: Ref
  readonly after: readonly number[]
  readonly before: Ref
}

/** The state if sequences have different numbers of earlier rows. */
function gatheredState(lowering: Lowering, node: Node, { own, old, after, before, total }: Joined): Ref {
  const rows = dimsOf(own)[2]!
  const first = reshape(lowering, node, before, [after[0]!, 1, 1, 1])
  const place = placesAlong(lowering, after[2]!, 1)
  const [at, start] = [arg(0, 'i32'), arg(1, 'i32')] as [Tree, Tree]
  const fresh = apply('i.sub', at, start)
  const within = (tree: Tree, last: number): Tree =>
    apply('i.max', number(0, 'i32'), apply('i.min', number(last, 'i32'), tree))
  const rowsAt = (data: Ref, tree: Tree): Ref => {
    const index = spreadRef(map(lowering, node, [place, first], tree), after)
    return elementsAlong(lowering, node, { data, index, axis: 2, name: node.name })
  }
  // An impossible number of rows results in an index out of range.
  const isRight = apply('i.eq', start, within(start, total - rows))
  const added = rowsAt(own, select(isRight, within(fresh, rows - 1), OUTSIDE))
  const kept = rowsAt(old, within(at, dimsOf(old)[2]! - 1))
  const tail = select(apply('i.lt', fresh, number(rows, 'i32')), arg(2), number(0))
  return map(lowering, node, [place, first, added, kept], select(apply('i.lt', at, start), arg(3), tail))
}

export const GROUP_HANDLERS = {
  'com.microsoft:GroupQueryAttention': groupQueryAttention,
} satisfies SomeHandlers
