// Handlers for rotary embeddings. Each half, or every second number, of the rotated part is written directly
// to its place.
import { hasInput, type Node } from '../../../onnx/ir/graph.ts'
import { flagOf, floatOf, intOf, unclaimed, unfit } from '../../../onnx/ir/operator.ts'
import { dimsOf, type Ref, refTo } from '../../loops/loops.ts'
import { add, arg, mul, sub, type Tree } from '../../loops/tree.ts'
import { sliced, spread, whole } from '../../loops/view.ts'
import type { Handler, SomeHandlers } from '../handler.ts'
import { add32, gatherAlong, placesAlong } from '../indices.ts'
import { reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { checkSpread } from '../lowering/misfit.ts'
import { headsOf, swapped } from './attention.ts'

interface Inputs {
  readonly cos: number
  readonly sin: number
  readonly positions: number
}

function rotated({ cos, sin, positions }: Inputs): Handler {
  return (lowering, node) => {
    if (floatOf(node, 'scale', 1) !== 1) throw unclaimed(node, 'it scales the angles')
    if (flagOf(node, 'is_packed_batching')) throw unclaimed(node, 'its texts are packed into one row')
    const [name = ''] = node.outputs
    const x = tokensOf(lowering, node, cos)
    const [batch, rows, , width] = dimsOf(x) as [number, number, number, number]
    const tables = [cos, sin].map((table) => turnsOf(lowering, node, table, { positions, batch, rows }))
    const half = dimsOf(tables[0]!)[3]!
    const stated = intOf(node, 'rotary_embedding_dim', 0) || 2 * half
    if (stated !== 2 * half || stated > width)
      throw unfit(node, `it rotates ${stated} of ${width} numbers with a table of ${half}`)
    const made = rotatedHeads(lowering, node, x, {
      tables: tables as [Ref, Ref],
      half,
      isInterleaved: flagOf(node, 'interleaved'),
    })
    const asGiven = dimsOf(lowering.values.ref(node, node.inputs[0]!)).length === 4
    lowering.values.name(
      name,
      reshape(lowering, node, asGiven ? swapped(made) : made, lowering.values.dims(node, name)),
    )
  }
}

/** [batch, rows, heads, width]. */
function tokensOf(lowering: Lowering, node: Node, table: number): Ref {
  const ref = lowering.values.ref(node, node.inputs[0]!)
  const half = dimsOf(lowering.values.ref(node, node.inputs[table]!)).at(-1) ?? 0
  const heads = intOf(node, 'num_heads', 0) || dimsOf(ref).at(-1)! / half / 2
  return swapped(headsOf(lowering, node, ref, heads))
}

/** The sines or cosines of each row's position, [batch, rows, 1, half]. */
function turnsOf(lowering: Lowering, node: Node, table: number, turns: Turns): Ref {
  const { batch, rows, positions } = turns
  const all = lowering.values.ref(node, node.inputs[table]!)
  if (!hasInput(node, positions)) {
    const dims = dimsOf(all)
    checkSpread(node, dims, [batch, rows, dims.at(-1)!])
    const each = { ...all, view: spread(all.view, [batch, rows, dims.at(-1)!]) }
    return reshape(lowering, node, each, [batch, rows, 1, dims.at(-1)!])
  }
  return tableRowsAt(lowering, node, all, positionsOf(lowering, node, turns))
}

interface Turns {
  readonly batch: number
  readonly rows: number
  /** The input to rotate. */
  readonly positions: number
}

/** Positions of all rows, [batch, rows]; the node may give only the first row's position. */
export function positionsOf(lowering: Lowering, node: Node, { batch, rows, positions }: Turns): Ref {
  const given = lowering.values.ref(node, node.inputs[positions]!)
  const isFirst = dimsOf(given).length === 1
  const own = isFirst
    ? map(lowering, node, [placesAlong(lowering, rows, 0), given], add32(arg(0, 'i32'), arg(1, 'i32')))
    : given
  checkSpread(node, dimsOf(own), [batch, rows])
  return { ...own, view: spread(own.view, [batch, rows]) }
}

/** The rows of a table at positions [batch, rows], as [batch, rows, 1, half]. */
export function tableRowsAt(lowering: Lowering, node: Node, table: Ref, positions: Ref): Ref {
  const made = gatherAlong(lowering, node, { data: table, axis: 0, indices: positions, name: node.name })
  return reshape(lowering, node, made, [...dimsOf(positions), 1, dimsOf(table).at(-1)!])
}

interface Rotation {
  readonly tables: readonly [Ref, Ref]
  readonly half: number
  /** Whether adjacent numbers form a pair. Otherwise pairs are half the rotated width apart. */
  readonly isInterleaved: boolean
}

/** Rotates x [batch, rows, heads, width]. */
export function rotatedHeads(lowering: Lowering, node: Node, x: Ref, rotation: Rotation): Ref {
  const { tables, half, isInterleaved } = rotation
  const dims = dimsOf(x)
  const part = (of: Ref['view'], second: boolean) =>
    isInterleaved ? sliced(of, 3, second ? 1 : 0, half, 2) : sliced(of, 3, second ? half : 0, half)
  const out = lowering.values.make(node.name, 'f32', dims)
  const place = (ref: Ref, at: Ref['view']): void =>
    lowering.add({ loop: 'place', node: node.name, mapping: 'shuffle', out, args: [ref], at })
  const pair = [false, true].map((second): Ref => ({ ...x, view: part(x.view, second) }))
  const turns: readonly Tree[] = [
    sub(mul(arg(0), arg(2)), mul(arg(1), arg(3))),
    add(mul(arg(1), arg(2)), mul(arg(0), arg(3))),
  ]
  for (const [at, tree] of turns.entries())
    place(map(lowering, node, [...pair, ...tables], tree), part(whole(dims), at === 1))
  const rest = dims[3]! - 2 * half
  if (rest > 0)
    place({ ...x, view: sliced(x.view, 3, 2 * half, rest) }, sliced(whole(dims), 3, 2 * half, rest))
  return refTo(out)
}

export const ROTARY_HANDLERS = {
  RotaryEmbedding: rotated({ cos: 1, sin: 2, positions: 3 }),
  'com.microsoft:RotaryEmbedding': rotated({ cos: 2, sin: 3, positions: 1 }),
} satisfies SomeHandlers
