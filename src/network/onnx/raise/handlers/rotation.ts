// Handlers of heads and rotations: rows become heads, are rotated by cosines and sines, or are appended to a
// state.

import { axisOf } from '../../ir/broadcast.ts'
import type { Dim } from '../../ir/dims.ts'
import type { Node } from '../../ir/graph.ts'
import { EITHER_ORDER, intOf, intsOf, unclaimed } from '../../ir/operator.ts'
import { numbersOf } from '../../ir/tensor.ts'
import type { HeadPart, Heads, Meaning, RotatedPart, Rotation, Turned } from '../meaning.ts'
import { prove } from '../prove.ts'
import type { Handler, Translator } from '../translator.ts'
import { axisCut, checkFactor } from './elementwise.ts'

export const reshape: Handler = (t, node) => {
  const dims = t.types.dims(node) ?? t.types.get(node.inputs[1] ?? '')?.elements
  const input = t.meanings.read(node, 0)
  if (dims === undefined || input === undefined) return false
  if (input.is === 'heads') return reshapeHeads(t, node, input, dims)
  if (input.is === 'ids' && dims.length <= 2) {
    if (dims.length === 2) checkTokens(t, node, dims)
    t.meanings.set(node, 0, input)
    return true
  }
  if (!t.meanings.isRows(node, 0)) return false
  const value = t.meanings.rows(node, 0)
  const width = value.shape[1]
  const last = dims.at(-1)
  const before = dims.at(-2)
  if (last === width && dims.length <= 3) {
    if (dims.length === 3) checkTokens(t, node, dims)
    t.meanings.setRows(node, 0, value)
    return true
  }
  if (typeof last !== 'number' || last < 1 || width % last !== 0) return false
  const count = width / last
  const isJoined = dims.length === 3 && (typeof before !== 'number' || before < 0)
  if (!isJoined && (dims.length !== 4 || before !== count)) return false
  if (!isJoined) checkTokens(t, node, dims)
  const axes = isJoined ? 'bjd' : 'bthd'
  t.meanings.set(node, 0, { is: 'heads', value, count, dim: last, axes, copies: 1, scale: 1, past: '' })
  return true
}

/** Throws `unsupported` if each token would become a text of its own: [tokens, 1, ..]. */
function checkTokens(t: Translator, node: Node, dims: readonly Dim[]): void {
  const [batch, tokens = 1] = t.idsDims
  const [, found] = dims
  if (tokens === 1 || found === tokens || (found !== 1 && found !== batch)) return
  throw unclaimed(
    node,
    `it turns [${batch}, ${tokens}, ..] into [${dims}], but tokens must stay on their axis`,
  )
}

/**
 * [b, t, h, d] to rows, or copies of heads to heads: [b, h, r, t, d] to [b, h * r, t, d]. Heads that were
 * normalised, rotated or scaled stay heads, because the plan does this as part of attention.
 */
function reshapeHeads(t: Translator, node: Node, heads: Heads, dims: readonly Dim[]): boolean {
  const { axes, count, dim, value } = heads
  if (/^b(thd|jd|tf)$/.test(axes) && dims.length <= 3 && dims.at(-1) === count * dim) {
    const isPlain =
      heads.norm === undefined && heads.rope === undefined && heads.limits === undefined && heads.scale === 1
    if (isPlain) t.meanings.setRows(node, 0, value)
    else t.meanings.set(node, 0, { ...heads, axes: 'btf' })
    return true
  }
  if (/^b(jd|tf)$/.test(axes) && dims.length === 4 && dims[2] === count && dims[3] === dim) {
    t.meanings.set(node, 0, { ...heads, axes: 'bthd' })
    return true
  }
  const from = t.types.get(node.inputs[0] ?? '')?.dims
  // torch's exporter transposes keys with the batch and heads on one axis.
  const isJoined = axes === 'bhtd' && dims.length === 3 && dims[2] === dim
  if (isJoined && from !== undefined && `${dims[1]}` === `${from[2]}`) {
    t.meanings.set(node, 0, { ...heads, axes: 'gtd' })
    return true
  }
  if (axes === 'gdt' && dims.length === 4 && dims[1] === count && dims[2] === dim) {
    t.meanings.set(node, 0, { ...heads, axes: 'bhdt' })
    return true
  }
  if (axes === 'bhrtd' && dims.length === 4 && from !== undefined) {
    const copies = from[2]
    if (typeof copies !== 'number' || dims[1] !== count * copies || dims[3] !== dim) return false
    t.meanings.set(node, 0, { ...heads, axes: 'bhtd', copies: heads.copies * copies, count: count * copies })
    return true
  }
  const isSame = from !== undefined && `${from}` === `${dims}`
  if (isSame) t.meanings.set(node, 0, heads)
  return isSame
}

export const transpose: Handler = (t, node) => {
  const input = wholeHeads(t, node, 0)
  const perm = intsOf(node, 'perm', undefined)
  if (input === undefined || perm?.length !== input.axes.length) return false
  t.meanings.set(node, 0, { ...input, axes: perm.map((axis) => input.axes[axis]).join('') })
  return true
}

/** Inserts the axis of size one along which the heads are then repeated. */
export const unsqueeze: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  const axes = intsOf(node, 'axes', undefined) ?? t.types.numbers(node, 1)
  if (input?.is !== 'heads' || axes?.length !== 1) return false
  const at = axisOf(node, axes[0]!, input.axes.length + 1)
  t.meanings.set(node, 0, { ...input, axes: `${input.axes.slice(0, at)}1${input.axes.slice(at)}` })
  return true
}

/** Repeats the heads along the axis of size one that follows theirs. */
export const expand: Handler = async (t, node) => {
  const input = t.meanings.read(node, 0)
  const from = t.types.get(node.inputs[0] ?? '')?.dims
  const to = t.types.dims(node)
  if (input?.is !== 'heads' || from === undefined || to === undefined || from.length !== to.length)
    return false
  const changed = to.flatMap((size, axis) => (size === from[axis] ? [] : [axis]))
  if (changed.length === 0) {
    t.meanings.set(node, 0, input)
    return true
  }
  const [axis = 0] = changed
  const copies = to[axis]
  if (changed.length === 1 && typeof copies === 'number') return repeat(t, node, input, axis, copies)
  if (input.axes !== 'bh1td' || !changed.includes(COPIES)) return false
  if (changed.length > 1) await proveCopies(t, node, input)
  t.meanings.set(node, 0, { ...input, axes: 'bhrtd' })
  return true
}

/**
 * Each head repeated along an axis of size one after the heads' axis, or a single head repeated along that
 * axis.
 */
function repeat(t: Translator, node: Node, heads: Heads, axis: number, copies: number): boolean {
  const { axes, count } = heads
  if (axes === 'bh1td' && axis === COPIES) t.meanings.set(node, 0, { ...heads, axes: 'bhrtd' })
  else if (axes[axis] === 'h' && count === 1)
    t.meanings.set(node, 0, { ...heads, count: copies, copies: heads.copies * copies })
  else return false
  return true
}

export const tile: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  const repeats = t.types.numbers(node, 1)
  if (input?.is !== 'heads' || repeats?.length !== input.axes.length) return false
  const [axis, ...others] = repeats.flatMap((times, at) => (times === 1 ? [] : [at]))
  if (axis === undefined) t.meanings.set(node, 0, input)
  return axis === undefined || (others.length === 0 && repeat(t, node, input, axis, repeats[axis]!))
}

/** Gathers heads by index, each equally often and in order. */
export const gatherHeads: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  const chosen = t.types.numbers(node, 1)
  const isList = t.types.get(node.inputs[1] ?? '')?.dims?.length === 1
  if (input?.is !== 'heads' || chosen === undefined || !isList) return false
  const copies = chosen.length / input.count
  const isAll = Number.isInteger(copies) && chosen.every((head, at) => head === Math.floor(at / copies))
  if (input.axes[axisOf(node, intOf(node, 'axis', 0), input.axes.length)] !== 'h' || !isAll) return false
  t.meanings.set(node, 0, { ...input, count: chosen.length, copies: input.copies * copies })
  return true
}

/** Axis of the copies in [batch, heads, copies, positions, numbers]. */
const COPIES = 2

/**
 * Exporters may take the number of positions from the mask, whose axis has its own name. Throws `unsupported`
 * if the shape is not that of the copied heads.
 */
function proveCopies(t: Translator, node: Node, { count, dim, past }: Heads): Promise<void> {
  const shape = node.inputs[1] ?? ''
  return prove(t, node, [shape], {
    shape: { width: 1 },
    check([value], sizes) {
      const found = numbersOf(value!)
      const positions = sizes.tokens + (past === '' ? 0 : sizes.past)
      const due = [1, count, found[COPIES], positions, dim]
      if (found.length === due.length && found.every((size, axis) => size === due[axis] || size === 1)) return
      throw unclaimed(
        node,
        `its shape ${shape} is [${found}] for ${sizes.tokens} tokens after ${sizes.past}, but heads of ` +
          `shape [1, ${count}, 1, ${positions}, ${dim}] are copied`,
      )
    },
  })
}

/** Numbers of each head: Slice over the last axis with step 1. */
export const slice: Handler = (t, node) => {
  const part = partOf(t.meanings.read(node, 0))
  if (part === undefined) return false
  const rank = part.of.axes.length
  const cut = axisCut(t, node, rank, (axis) => (axis === rank - 1 ? part.to - part.from : undefined))
  if (cut === undefined) return false
  t.meanings.set(node, 0, { ...part, from: part.from + cut.from, to: part.from + cut.to })
  return true
}

/** The heads that an input holds; undefined if it holds something else. */
export function wholeHeads(t: Translator, node: Node, index: number): Heads | undefined {
  const input = t.meanings.read(node, index)
  if (input?.is === 'heads') return input
  if (input?.is === 'rotated') {
    const heads = narrowed(t, node, input.of, input.from, input.from + input.rope.dims)
    return heads && { ...heads, rope: input.rope }
  }
  return input?.is === 'part' && input.sign === 1
    ? narrowed(t, node, input.of, input.from, input.to)
    : undefined
}

/**
 * Heads made of the numbers [from, to) of each head, computed by a product of their own, for layouts in which
 * a head's queries, keys and values are adjacent. Undefined if they do not come directly from a product.
 */
function narrowed(t: Translator, node: Node, of: Heads, from: number, to: number): Heads | undefined {
  if (from === 0 && to === of.dim) return of
  const { norm, rope, limits, copies, scale, past } = of
  const isPlain = [norm, rope, limits].every((each) => each === undefined)
  const isWhole = isPlain && copies === 1 && scale === 1 && past === '' && from < to
  const runs = Array.from({ length: of.count }, (_, head) => [head * of.dim + from, to - from] as const)
  const value = isWhole ? t.products.columns(node.outputs[0] ?? '', of.value, runs) : undefined
  return value && { ...of, value, dim: to - from }
}

/** Heads with all their numbers, or a part of them. */
export function partOf(input: Meaning | undefined): HeadPart | undefined {
  if (input?.is === 'heads' && input.axes.endsWith('d'))
    return { is: 'part', of: input, from: 0, to: input.dim, sign: 1 }
  return input?.is === 'part' && input.sign === 1 ? input : undefined
}

/** Consecutive parts. */
export const split: Handler = (t, node) => {
  const part = partOf(t.meanings.read(node, 0))
  const axis = intOf(node, 'axis', 0)
  if (part === undefined || (axis !== -1 && axis !== part.of.axes.length - 1)) return false
  let { from } = part
  for (const output of node.outputs.keys()) {
    const width = t.types.dims(node, output)?.at(-1)
    if (typeof width !== 'number' || !(width > 0 && from + width <= part.to)) return false
    t.meanings.set(node, output, { ...part, from, to: from + width })
    from += width
  }
  return true
}

export const negate: Handler = (t, node) => {
  const input = t.meanings.read(node, 0)
  if (input?.is !== 'part' && input?.is !== 'every other') return false
  t.meanings.set(node, 0, { ...input, sign: input.sign === 1 ? -1 : 1 })
  return true
}

/**
 * Concatenates a negated second half and a first half, rotated and unrotated numbers of a head, or a state
 * and the step's tokens.
 */
export const concat: Handler = (t, node) => {
  const first = t.meanings.read(node, 0)
  const second = t.meanings.read(node, 1)
  if (node.inputs.length !== 2) return false
  if (first?.is === 'part' && second?.is === 'part') return turn(t, node, first, second)
  if (first?.is === 'rotated' && second?.is === 'part') return complete(t, node, first, second)
  if (first?.is === 'heads' && second?.is === 'part' && second.from === second.to) {
    // Exports of models that rotate whole heads still append the empty remainder.
    if (!joinsNumbers(node, first)) return false
    t.meanings.set(node, 0, first)
    return true
  }
  const own = first?.is === 'state' ? wholeHeads(t, node, 1) : undefined
  if (first?.is !== 'state' || own === undefined || own.past !== '') return false
  if (own.axes[axisOf(node, intOf(node, 'axis', 0), own.axes.length)] !== 't')
    throw unclaimed(node, 'it concatenates a state and new tokens along an axis other than theirs')
  const joined: Heads = { ...own, past: first.name }
  t.states.append(node, first.name, joined)
  t.meanings.set(node, 0, joined)
  return true
}

function turn(t: Translator, node: Node, first: HeadPart, second: HeadPart): boolean {
  const { from } = second
  const dims = first.to - from
  const isTurn =
    first.of === second.of &&
    first.sign === -1 &&
    second.sign === 1 &&
    first.from === second.to &&
    second.to === from + dims / 2 &&
    joinsNumbers(node, first.of)
  if (isTurn)
    t.meanings.set(node, 0, { is: 'turned', of: first.of, form: 'half', from, dims, pairing: 'halves' })
  return isTurn
}

/** Rotated numbers, followed by the rest of the head. */
function complete(t: Translator, node: Node, { of, from, rope }: RotatedPart, rest: HeadPart): boolean {
  const isRest = rest.of === of && rest.sign === 1 && rest.from === from + rope.dims
  const heads = isRest && joinsNumbers(node, of) ? narrowed(t, node, of, from, rest.to) : undefined
  if (heads !== undefined) t.meanings.set(node, 0, { ...heads, rope })
  return heads !== undefined
}

const joinsNumbers = (node: Node, { axes }: Heads): boolean =>
  axes[axisOf(node, intOf(node, 'axis', 0), axes.length)] === 'd'

/** Axis orders in which per-token cosines, [tokens, 1, numbers] or [tokens, numbers], broadcast to heads. */
const TURNING = /^b(ht|th)d$/

/** x * cos, rotated x * sin, or x * a number. */
export const multiplyHeads: Handler = (t, node) => {
  for (const [one, other] of EITHER_ORDER) {
    const left = t.meanings.read(node, one)
    const right = t.meanings.read(node, other)
    const number = t.types.scalar(node, other)
    const heads = number === undefined ? undefined : wholeHeads(t, node, one)
    if (heads !== undefined && number !== undefined) {
      checkFactor(node, number)
      t.meanings.set(node, 0, { ...heads, scale: heads.scale * number })
      return true
    }
    if (right?.is !== 'control' && right?.is !== 'constant') continue
    const by = node.inputs[other] ?? ''
    const part = partOf(left)
    if (part !== undefined && TURNING.test(part.of.axes)) {
      const { of, from, to } = part
      t.meanings.set(node, 0, {
        is: 'turned',
        of,
        form: 'plain',
        from,
        dims: to - from,
        pairing: 'halves',
        by,
      })
      return true
    }
    const isFree = left?.is === 'turned' && left.form === 'half' && left.by === undefined
    if (isFree && TURNING.test(left.of.axes)) {
      t.meanings.set(node, 0, { ...left, by })
      return true
    }
  }
  return false
}

export const divideHeads: Handler = (t, node) => {
  const number = t.types.scalar(node, 1)
  const left = number === undefined ? undefined : wholeHeads(t, node, 0)
  if (left === undefined || number === undefined) return false
  checkFactor(node, 1 / number)
  t.meanings.set(node, 0, { ...left, scale: left.scale / number })
  return true
}

/** x * cos + rotated x * sin */
export const addTurned: Handler = (t, node) => {
  const parts = [t.meanings.read(node, 0), t.meanings.read(node, 1)]
  const plain = parts.find((each) => isTurned(each, 'plain'))
  const half = parts.find((each) => isTurned(each, 'half'))
  if (plain?.by === undefined || half?.by === undefined || plain.of !== half.of) return false
  const { of, from, dims } = plain
  if (half.from !== from || half.dims !== dims) return false
  checkUnrotated(node, of)
  const isBetween = of.axes === 'bthd'
  const { pairing } = half
  const rope: Rotation = { cos: plain.by, sin: half.by, dims, isHalf: false, isBetween, pairing }
  t.meanings.set(node, 0, dims === of.dim ? { ...of, rope } : { is: 'rotated', of, from, rope })
  return true
}

/** Throws `unsupported` for heads that the plan would rotate too early. */
export function checkUnrotated(node: Node, { rope, past, limits }: Heads): void {
  if (rope !== undefined || past !== '') throw unclaimed(node, 'it rotates heads a second time')
  if (limits !== undefined)
    throw unclaimed(node, `it rotates normalised heads that are clamped to ${limits.least} to ${limits.most}`)
}

const isTurned = (meaning: Meaning | undefined, form: Turned['form']): meaning is Turned =>
  meaning?.is === 'turned' && meaning.form === form
