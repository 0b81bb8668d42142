// Handlers of attention operators: two products with a softmax of the scores in between. Heads that share
// keys and values read them through a view, so nothing is copied.
import { hasInput, type Node } from '../../../onnx/ir/graph.ts'
import { flagOf, floatOf, intOf, unclaimed, unfit, wants } from '../../../onnx/ir/operator.ts'
import {
  ADDED,
  MULTI_BIAS,
  MULTI_PAST_KEY,
  MULTI_PAST_VALUE,
  PADDING,
} from '../../../onnx/operators/contrib/attention.ts'
import { dimsOf, type Ref, refTo, spreadRef } from '../../loops/loops.ts'
import { add, apply, arg, div, mul, number, select, sub, type Tree } from '../../loops/tree.ts'
import { sliced, transposed, type View, whole } from '../../loops/view.ts'
import { type Handler, optional, type SomeHandlers } from '../handler.ts'
import { add32, placesAlong } from '../indices.ts'
import { joined, reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { checkSpread, misfit } from '../lowering/misfit.ts'
import { multiply, reduce } from '../lowering/sums.ts'

/** Each is [batch, heads, rows, width]; keys and values may have fewer heads. */
interface Sides {
  readonly q: Ref
  readonly k: Ref
  readonly v: Ref
}

/**
 * How each number in `ref` affects the score at its position; `ref` broadcasts to [batch, heads, rows, keys].
 */
export interface Mask {
  readonly ref: Ref
  /**
   * `kept`: 0 hides the score. `added`: the number is added to the score. `filled`: below 1, `fill` is added
   * to the score.
   */
  readonly how: 'kept' | 'added' | { readonly fill: number }
}

interface Scoring {
  readonly scale: number
  /** Scores are cap * tanh(score / cap); 0: unchanged. */
  readonly cap: number
  readonly masks: readonly Mask[]
  /**
   * For causal attention: how many keys precede the first row's key, as one number or as i32 that broadcasts
   * to [batch, heads, rows, keys]. Undefined: rows attend to all keys.
   */
  readonly before: number | Ref | undefined
  /** How many keys a row of causal attention attends to, including its own. Default: all. */
  readonly window?: number | undefined
}

/** softmax(scale q k^T + masks) v, [batch, heads, rows, width]. In memory, a row's heads are contiguous. */
export function attended(lowering: Lowering, node: Node, { q, k, v }: Sides, scoring: Scoring): Ref {
  const [batch, heads, rows, width] = dimsOf(q) as [number, number, number, number]
  const [, shared, keys, keyWidth] = dimsOf(k) as [number, number, number, number]
  const [, , values, valueWidth] = dimsOf(v) as [number, number, number, number]
  if (shared < 1 || heads % shared !== 0 || `${dimsOf(v)}` !== `${[batch, shared, keys, valueWidth]}`)
    throw misfit(node, `keys [${dimsOf(k)}] and values [${dimsOf(v)}] do not fit ${heads} heads`)
  if (width !== keyWidth || dimsOf(k)[0] !== batch || values !== keys)
    throw misfit(node, `queries [${dimsOf(q)}] and keys [${dimsOf(k)}] do not match`)
  if (width * keys === 0) throw unclaimed(node, 'it sums over no elements')
  const each = heads / shared
  const queries = reshape(lowering, node, q, [batch, shared, each, rows, width])
  const columns = repeated(k, each)
  const scores = multiply(lowering, node, queries, {
    ...columns,
    view: transposed(columns.view, [0, 1, 2, 4, 3]),
  })
  const shares = softmaxOf(lowering, node, scores, scoring)
  const out = lowering.values.make(node.name, 'f32', [batch, rows, shared, each, valueWidth])
  const at = transposed(whole(out.dims), [0, 2, 3, 1, 4])
  const args = [shares, repeated(v, each)] as const
  lowering.add({ loop: 'product', node: node.name, mapping: 'many-to-many', out, args, at })
  return swapped(reshape(lowering, node, refTo(out), [batch, rows, heads, valueWidth]))
}

/** [batch, shared, rows, width] as [batch, shared, each, rows, width]. */
function repeated(ref: Ref, each: number): Ref {
  const { offset, dims, strides } = ref.view
  const view: View = { offset, dims: dims.toSpliced(2, 0, each), strides: strides.toSpliced(2, 0, 0) }
  return { ...ref, view }
}

/** Softmax of the scores [batch, shared, each, rows, keys]. A row that attends to no key has weights of 0. */
function softmaxOf(lowering: Lowering, node: Node, scores: Ref, scoring: Scoring): Ref {
  const { scale, cap, masks, before, window } = scoring
  const dims = dimsOf(scores)
  const [batch, shared, each, rows, keys] = dims as [number, number, number, number, number]
  const args: Ref[] = [scores]
  const read = (ref: Ref): Tree => {
    const to = [batch, shared * each, rows, keys]
    checkSpread(node, dimsOf(ref), to)
    return arg(args.push(reshape(lowering, node, spreadRef(ref, to), dims)) - 1, ref.value.kind)
  }
  let tree: Tree = mul(arg(0), number(scale))
  if (cap !== 0) tree = mul(apply('tanh', div(tree, number(cap))), number(cap))
  for (const { ref, how } of masks) {
    const given = read(ref)
    if (how === 'added') tree = add(tree, given)
    else if (how === 'kept') tree = select(given, tree, number(-Infinity))
    else tree = add(tree, select(apply('i.lt', number(0, 'i32'), given), number(0), number(how.fill)))
  }
  if (before !== undefined) {
    const earlier = typeof before === 'number' ? number(before, 'i32') : read(before)
    const last = add32(read(placesAlong(lowering, rows, 1)), earlier)
    const key = read(placesAlong(lowering, keys, 0))
    tree = select(apply('i.le', key, last), tree, number(-Infinity))
    if (window !== undefined)
      tree = select(apply('i.lt', last, add32(key, number(window, 'i32'))), tree, number(-Infinity))
  }
  const masked = map(lowering, node, args, tree)
  const keep = (row: Ref): Ref => reshape(lowering, node, row, dims.with(-1, 1))
  const most = keep(reduce(lowering, node, masked, [4], 'max'))
  const isHiding = masks.length > 0 || before !== undefined
  const exp = apply('exp', sub(arg(0), arg(1)))
  const isSeen = apply('lt', number(-Infinity), arg(0))
  const shares = map(lowering, node, [masked, most], isHiding ? select(isSeen, exp, number(0)) : exp)
  const total = keep(reduce(lowering, node, shares, [4], 'sum'))
  const by = isHiding ? select(apply('lt', number(0), arg(1)), arg(1), number(1)) : arg(1)
  return map(lowering, node, [shares, total], div(arg(0), by))
}

/** An input as [batch, heads, rows, width]. It has these axes, or rows that hold all heads. */
export function headsOf(lowering: Lowering, node: Node, ref: Ref, count: number): Ref {
  const dims = dimsOf(ref)
  if (ref.value.kind !== 'f32') throw unclaimed(node, 'its input does not hold floats')
  if (dims.length === 4) return ref
  const [batch, rows, width] = dims as [number, number, number]
  if (dims.length !== 3 || !Number.isInteger(count) || count < 1 || width % count !== 0)
    throw unfit(node, `its input [${dims}] does not have ${count} heads`)
  return swapped(reshape(lowering, node, ref, [batch, rows, count, width / count]))
}

/** Swaps the head and row axes. */
export const swapped = (ref: Ref): Ref => ({ ...ref, view: transposed(ref.view, [0, 2, 1, 3]) })

/** Appends heads to those from earlier steps. */
function grown(lowering: Lowering, node: Node, ref: Ref, past: number): Ref {
  if (!hasInput(node, past)) return ref
  const before = lowering.values.ref(node, node.inputs[past]!)
  const [own, older] = [dimsOf(ref), dimsOf(before)]
  if (older.length !== 4 || `${older.with(2, 0)}` !== `${own.with(2, 0)}`)
    throw misfit(node, `its state [${older}] does not fit [${own}]`)
  return older[2] === 0 ? ref : joined(lowering, node, node.name, [before, ref], 2)
}

/** Names the result, in the form of the queries, and also the keys and values if they are outputs. */
export function leave(lowering: Lowering, node: Node, rows: Ref, { k, v }: Pick<Sides, 'k' | 'v'>): void {
  const [name = '', keys = '', values = ''] = node.outputs
  const dims = lowering.values.dims(node, name)
  lowering.values.name(name, dims.length === 4 ? rows : reshape(lowering, node, swapped(rows), dims))
  if (keys !== '') lowering.values.name(keys, k)
  if (values !== '') lowering.values.name(values, v)
}

/** The standard ONNX operator. */
const attention: Handler = (lowering, node) => {
  if (wants(node, 3)) throw unclaimed(node, 'its scores are used as an output')
  if (hasInput(node, 6)) throw unclaimed(node, 'its keys end at computed lengths')
  for (const side of ['left', 'right'])
    if (intOf(node, `${side}_window_size`, -1) !== -1) throw unclaimed(node, 'it attends to a window of keys')
  const shared = intOf(node, 'kv_num_heads', 0)
  const [q, key, value] = [intOf(node, 'q_num_heads', 0), shared, shared].map((count, index) =>
    headsOf(lowering, node, lowering.values.ref(node, node.inputs[index]!), count),
  ) as [Ref, Ref, Ref]
  const k = grown(lowering, node, key, 4)
  const v = grown(lowering, node, value, 5)
  const mask = optional(lowering, node, 3)
  const isKept = mask !== undefined && lowering.values.dtype(node, node.inputs[3]!) === 'bool'
  if (mask?.value.kind === 'i32' && !isKept) throw unclaimed(node, 'its mask holds integers')
  const rows = attended(
    lowering,
    node,
    { q, k, v },
    {
      scale: floatOf(node, 'scale', 1 / Math.sqrt(dimsOf(q)[3]!)),
      cap: floatOf(node, 'softcap', 0),
      masks: mask === undefined ? [] : [{ ref: mask, how: isKept ? 'kept' : 'added' }],
      before: flagOf(node, 'is_causal') ? dimsOf(k)[2]! - dimsOf(key)[2]! : undefined,
    },
  )
  leave(lowering, node, rows, { k, v })
}

/** ONNX Runtime's operator, whose bias concatenates the biases of queries, keys and values. */
const multiHeadAttention: Handler = (lowering, node) => {
  const count = intOf(node, 'num_heads', 0)
  const bias = optional(lowering, node, MULTI_BIAS)
  let from = 0
  const [q, key, value] = [0, 1, 2].map((index) => {
    const ref = lowering.values.ref(node, node.inputs[index]!)
    if (bias === undefined || dimsOf(ref).length !== 3) return headsOf(lowering, node, ref, count)
    const size = dimsOf(ref)[2]!
    const own = { ...bias, view: sliced(bias.view, 0, from, size) }
    from += size
    return headsOf(lowering, node, map(lowering, node, [ref, own], add(arg(0), arg(1))), count)
  }) as [Ref, Ref, Ref]
  const k = grown(lowering, node, key, MULTI_PAST_KEY)
  const v = grown(lowering, node, value, MULTI_PAST_VALUE)
  const added = optional(lowering, node, ADDED)
  const padding = optional(lowering, node, PADDING)
  const masks: Mask[] = added === undefined ? [] : [{ ref: added, how: 'added' }]
  if (padding !== undefined) masks.push(paddingOf(lowering, node, padding))
  const rows = attended(
    lowering,
    node,
    { q, k, v },
    {
      scale: floatOf(node, 'scale', 0) || 1 / Math.sqrt(dimsOf(q)[3]!),
      cap: 0,
      masks,
      before: flagOf(node, 'unidirectional') ? dimsOf(k)[2]! - dimsOf(key)[2]! : undefined,
    },
  )
  leave(lowering, node, rows, { k, v })
}

/** [batch, keys], or [batch, rows, keys], where 0 is padding. */
function paddingOf(lowering: Lowering, node: Node, ref: Ref): Mask {
  const dims = dimsOf(ref)
  if (dims.length !== 2 && dims.length !== 3)
    throw unclaimed(node, `its padding mask has the shape [${dims}], which stands for lengths`)
  const [batch, ...rest] = dims as [number, ...number[]]
  const to = dims.length === 2 ? [batch, 1, 1, ...rest] : [batch, 1, ...rest]
  return {
    ref: reshape(lowering, node, ref, to),
    how: { fill: floatOf(node, 'mask_filter_value', -10000) },
  }
}

export const ATTENTION_HANDLERS = {
  Attention: attention,
  'com.microsoft:MultiHeadAttention': multiHeadAttention,
} satisfies SomeHandlers
