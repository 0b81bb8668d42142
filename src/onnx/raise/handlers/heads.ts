// Heads. In: reshapes, transposes and repetitions of rows. Out: rows as heads, with the order of their axes,
// and back.
import { intsOf } from '../../ir/attributes.ts'
import { axisOf } from '../../ir/broadcast.ts'
import type { Dim } from '../../ir/dims.ts'
import type { Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Heads } from '../meaning.ts'
import type { Handler, Translator } from '../translator.ts'

export const reshape: Handler = (t, node) => {
  const dims = t.dimsOf(node) ?? t.types.get(node.inputs[1] ?? '')?.elements
  const input = t.read(node, 0)
  if (dims === undefined || input === undefined) return false
  if (input.is === 'heads') return reshapeHeads(t, node, input, dims)
  if (input.is === 'ids' && dims.length <= 2) {
    if (dims.length === 2) checkTokens(t, node, dims)
    t.set(node, 0, input)
    return true
  }
  if (!t.isRows(node, 0)) return false
  const value = t.rows(node, 0)
  const width = value.shape[1]
  const [last, before] = [dims.at(-1), dims.at(-2)]
  if (last === width && dims.length <= 3) {
    if (dims.length === 3) checkTokens(t, node, dims)
    t.setRows(node, 0, value)
    return true
  }
  if (typeof last !== 'number' || last < 1 || width % last !== 0) return false
  const count = width / last
  const isJoined = dims.length === 3 && (typeof before !== 'number' || before < 0)
  if (!isJoined && (dims.length !== 4 || before !== count)) return false
  if (!isJoined) checkTokens(t, node, dims)
  const axes = isJoined ? 'bjd' : 'bthd'
  t.set(node, 0, { is: 'heads', value, count, dim: last, axes, copies: 1, scale: 1, past: '' })
  return true
}

/** Throws `unsupported` where each token becomes a text of its own: [tokens, 1, ..]. */
function checkTokens(t: Translator, node: Node, dims: readonly Dim[]): void {
  const [batch, tokens = 1] = t.idsDims
  const [, found] = dims
  if (tokens === 1 || found === tokens || (found !== 1 && found !== batch)) return
  throw unclaimed(node, `it makes [${dims}] of [${batch}, ${tokens}, ..], where tokens stay on their axis`)
}

/**
 * [b, t, h, d] to rows, or copies of heads to heads: [b, h, r, t, d] to [b, h * r, t, d]. Heads that were
 * normed, rotated or scaled stay heads, because the plan does that where they attend.
 */
function reshapeHeads(t: Translator, node: Node, heads: Heads, dims: readonly Dim[]): boolean {
  const { axes, count, dim, value } = heads
  if (/^b(thd|jd|tf)$/.test(axes) && dims.length <= 3 && dims.at(-1) === count * dim) {
    const isPlain = heads.norm === undefined && heads.rope === undefined && heads.scale === 1
    if (isPlain) t.setRows(node, 0, value)
    else t.set(node, 0, { ...heads, axes: 'btf' })
    return true
  }
  if (/^b(jd|tf)$/.test(axes) && dims.length === 4 && dims[2] === count && dims[3] === dim) {
    t.set(node, 0, { ...heads, axes: 'bthd' })
    return true
  }
  const [from] = [t.types.get(node.inputs[0] ?? '')?.dims]
  if (axes === 'bhrtd' && dims.length === 4 && from !== undefined) {
    const copies = from[2]
    if (typeof copies !== 'number' || dims[1] !== count * copies || dims[3] !== dim) return false
    t.set(node, 0, { ...heads, axes: 'bhtd', copies: heads.copies * copies, count: count * copies })
    return true
  }
  const isSame = from !== undefined && `${from}` === `${dims}`
  if (isSame) t.set(node, 0, heads)
  return isSame
}

export const transpose: Handler = (t, node) => {
  const input = t.read(node, 0)
  const perm = intsOf(node, 'perm', undefined)
  if (input?.is !== 'heads' || perm?.length !== input.axes.length) return false
  t.set(node, 0, { ...input, axes: perm.map((axis) => input.axes[axis]).join('') })
  return true
}

/** An axis of size one, before heads are copied along it. */
export const unsqueeze: Handler = (t, node) => {
  const input = t.read(node, 0)
  const axes = intsOf(node, 'axes', undefined) ?? t.known(node, 1)
  if (input?.is !== 'heads' || axes?.length !== 1) return false
  const at = axisOf(node, axes[0]!, input.axes.length + 1)
  t.set(node, 0, { ...input, axes: `${input.axes.slice(0, at)}1${input.axes.slice(at)}` })
  return true
}

/** Copies along the axis of size one that stands after that of the heads. */
export const expand: Handler = (t, node) => {
  const input = t.read(node, 0)
  const [from, to] = [t.types.get(node.inputs[0] ?? '')?.dims, t.dimsOf(node)]
  if (input?.is !== 'heads' || from === undefined || to === undefined || from.length !== to.length)
    return false
  const changed = to.flatMap((size, axis) => (size === from[axis] ? [] : [axis]))
  if (changed.length === 0) {
    t.set(node, 0, input)
    return true
  }
  const [axis = -1] = changed
  if (changed.length > 1 || input.axes !== 'bh1td' || axis !== 2) return false
  t.set(node, 0, { ...input, axes: 'bhrtd' })
  return true
}
