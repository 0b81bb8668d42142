// Winograd's algorithm F(2 x 2, 3 x 3): 3 x 3 convolutions in tiles of 2 x 2 outputs. A tile takes 16
// multiplications per channel and filter instead of 36.
//
//   out = A^T ((B^T d B) * (G g G^T)) A
//
// d is a 4 x 4 patch of the input, g a filter; G g G^T is computed as constants are loaded
// (run/layout-code.ts). The patches of all tiles become 16 matrices, [tiles, channels], and the filters 16
// matrices, [channels, count], so that the sums over channels are 16 products.
import type { Node } from '../../../onnx/ir/graph.ts'
import { dimsOf, isConstant, type Ref, refTo, spreadRef, type Value } from '../../loops/loops.ts'
import { add, arg, sub, type Tree } from '../../loops/tree.ts'
import { reshaped, sliced, transposed, type View, whole } from '../../loops/view.ts'
import { placed } from '../lowering/layouts.ts'
import { mapAlike } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { bordered, type Convolution, channelsSecond } from './convolution.ts'

/** Outputs of a tile along an axis, and the inputs that they read. */
const SIZE = 2
const PATCH = 4

/** Which of the numbers along an axis a row of B^T or A^T reads, and their sum, without and with a bias. */
interface Row {
  readonly all: readonly number[]
  readonly tree: Tree
  readonly biased: Tree
}

/** The numbers that a row adds, and those that it subtracts. */
function rowOf(plus: readonly number[], minus: readonly number[]): Row {
  const all = [...plus, ...minus]
  let tree: Tree = arg(0)
  for (let at = 1; at < all.length; at++) tree = (at < plus.length ? add : sub)(tree, arg(at))
  return { all, tree, biased: add(tree, arg(all.length)) }
}

const INPUT_ROWS: readonly Row[] = [rowOf([0], [2]), rowOf([1, 2], []), rowOf([2], [1]), rowOf([1], [3])]
const OUTPUT_ROWS: readonly Row[] = [rowOf([0, 1, 2], []), rowOf([1], [2, 3])]

/**
 * With fewer channels or filters, transforming tiles costs more than the multiplications that it saves. With
 * few tiles, reading 16 numbers per filter instead of 9 does.
 */
const MIN_CHANNELS = 24
const MIN_TILES = 25
/** Maximum size of the matrices of tiles and of sums, four times that of the input and the output. */
const MAX_BYTES = 64 * 1024 * 1024

/**
 * The convolution in tiles, [batch, count, ...places]; undefined if its windows are not 3 x 3 with constant
 * filters, or if it is too small.
 */
export function inTiles(lowering: Lowering, node: Node, convolution: Convolution): Ref | undefined {
  const { x, filters, bias, axes, places, group, isByRow } = convolution
  const [batch, channels] = dimsOf(x) as [number, number]
  const [count] = dimsOf(filters) as [number]
  const isThree = axes.every(({ kernel, stride, dilation }) => kernel === 3 && stride * dilation === 1)
  if (!isThree || axes.length !== 2 || group !== 1 || isByRow === true) return undefined
  const [high, wide] = places.map((size) => Math.ceil(size / SIZE)) as [number, number]
  const tiles = batch * high * wide
  const bytes = 4 * PATCH * PATCH * tiles * (channels + count)
  if (Math.min(channels, count) < MIN_CHANNELS || tiles < MIN_TILES || bytes > MAX_BYTES) return undefined
  if (lowering.leftOut.has('tiles')) return undefined
  const constant = tiledFilters(lowering, filters)
  if (constant === undefined) return undefined
  const more = [high, wide].map((size, axis) => SIZE * size - places[axis]!)
  const around = axes.map((axis, at) => ({ ...axis, after: axis.after + more[at]! }))
  const input = bordered(lowering, node, x, around, true)
  const last = transposed(input.view, [0, 2, 3, 1])
  const patches = grid(PATCH, (i, j) => ({ ...input, view: everyOther(last, i, j, high, wide) }))
  const rows = lowering.values.make(node.name, 'f32', [PATCH * PATCH, batch, high, wide, channels])
  for (const [at, part] of combined(lowering, node, patches, INPUT_ROWS).flat().entries())
    placed(lowering, node, rows, part, itemOf(rows, at))
  const sums = lowering.values.make(node.name, 'f32', [PATCH * PATCH, batch, high, wide, count])
  const matrices = (value: Value) => reshaped(whole(value.dims), [PATCH * PATCH, tiles, value.dims.at(-1)!])!
  const a = { value: rows, view: matrices(rows) }
  const at = matrices(sums)
  lowering.add({
    loop: 'product',
    node: node.name,
    mapping: 'many-to-many',
    out: sums,
    args: [a, constant],
    at,
  })
  const products = grid(PATCH, (i, j) => ({ value: sums, view: itemOf(sums, PATCH * i + j) }))
  const out = lowering.values.make(node.outputs[0]!, 'f32', [batch, SIZE * high, SIZE * wide, count])
  for (const [i, line] of combined(lowering, node, products, OUTPUT_ROWS, bias).entries())
    for (const [j, part] of line.entries())
      placed(lowering, node, out, part, everyOther(whole(out.dims), i, j, high, wide))
  const made = sliced(sliced(whole(out.dims), 1, 0, places[0]!), 2, 0, places[1]!)
  return channelsSecond({ value: out, view: made })
}

/** [16, channels, count]; undefined if the filters are computed, or not as in the file. */
function tiledFilters(lowering: Lowering, { value, view }: Ref): Ref | undefined {
  if (!isConstant(value)) return undefined
  const { given, dims } = value
  const isPlain = given.view === undefined && given.packing === undefined
  if (!isPlain || (given.codes !== undefined && 'block' in given.codes)) return undefined
  if (`${view.strides}` !== `${whole(dims).strides}` || `${view.dims}` !== `${dims}`) return undefined
  const [count, channels] = dims as [number, number]
  const tiled = [PATCH * PATCH, channels, count]
  return refTo({ ...value, id: lowering.values.nextId(), dims: tiled, given: { ...given, isTiled: true } })
}

const grid = (size: number, ref: (i: number, j: number) => Ref): readonly (readonly Ref[])[] =>
  Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => ref(i, j)))

/** One number of each tile: every second one along both axes, from this one. */
const everyOther = (view: View, i: number, j: number, high: number, wide: number): View =>
  sliced(sliced(view, 1, i, high, SIZE), 2, j, wide, SIZE)

/** One of the matrices that a value consists of. */
const itemOf = ({ dims }: Value, at: number): View => {
  const { offset, dims: sizes, strides } = sliced(whole(dims), 0, at, 1)
  return { offset, dims: sizes.slice(1), strides: strides.slice(1) }
}

/** The rows applied along both axes. `bias` is added to each result. */
function combined(
  lowering: Lowering,
  node: Node,
  from: readonly (readonly Ref[])[],
  rows: readonly Row[],
  bias?: Ref,
): readonly (readonly Ref[])[] {
  const spread = bias && spreadRef(bias, dimsOf(from[0]![0]!))
  const half = rows.map(({ all, tree }) =>
    from[0]!.map((_, at) => {
      const args = all.map((line) => from[line]![at]!)
      return mapAlike(lowering, node, args, tree)
    }),
  )
  return half.map((line) =>
    rows.map(({ all, tree, biased }) => {
      const args = all.map((at) => line[at]!)
      if (spread === undefined) return mapAlike(lowering, node, args, tree)
      return mapAlike(lowering, node, [...args, spread], biased, 'one-to-many')
    }),
  )
}
