// The operands of a product whose rows are windows. In: overlapping windows, and filters. Out: A and B, and
// the tables for reading A's rows in place.
import { walk } from '../../onnx/ir/broadcast.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import { dimsOf, type ProductLoop, type Ref, type Windows } from '../loops/loops.ts'
import { collapsed, orderOf, reshaped, spread, transposed, type View } from '../loops/view.ts'
import { reshape } from './lowering/layouts.ts'
import type { Lowering } from './lowering/lowering.ts'

/** Minimum length of a run that is read in place. Shorter ones are copied first. */
const MIN_RUN = 4

/** [batch, group, ...places, channels of a group, ...taps] and [count, channels of a group, ...taps]. */
export function productSides(
  lowering: Lowering,
  node: Node,
  windows: Ref,
  filters: Ref,
): Pick<ProductLoop, 'args' | 'windows'> {
  const { dims } = windows.view
  const [batch, group] = dims as [number, number]
  const [count, ...taps] = dimsOf(filters) as [number, ...number[]]
  const front = dims.length - taps.length
  // The summed axes are taken in memory order, which makes the runs long.
  const sums = orderOf(axesOf(windows.view, front))
  const order = [...Array(front).keys(), ...sums.map((axis) => front + axis)]
  const a = { ...windows, view: transposed(windows.view, order) }
  const each = count / group
  const k = countOf(taps)
  const split = reshape(lowering, node, filters, [group, each, ...taps])
  const perm = [0, 1, ...sums.map((axis) => axis + 2)]
  const rows = reshape(lowering, node, { ...split, view: transposed(split.view, perm) }, [group, each, k])
  const b = { ...rows, view: spread(transposed(rows.view, [0, 2, 1]), [batch, group, k, each]) }
  const plain = [batch, group, countOf(dims.slice(2, front)), k]
  const tables = reshaped(a.view, plain) === undefined ? windowsOf(lowering, a.view, front) : undefined
  if (tables !== undefined) return { args: [a, b], windows: tables }
  return { args: [reshape(lowering, node, a, plain), b] }
}

/** Undefined if the runs are too short. */
function windowsOf(lowering: Lowering, view: View, front: number): Windows | undefined {
  const sums = collapsed(axesOf(view, front))
  const run = sums.dims.at(-1) ?? 0
  if (sums.strides.at(-1) !== 1 || run < MIN_RUN) return undefined
  const rows = axesOf(view, 2, front)
  const runs = sums.dims.slice(0, -1)
  lowering.spend(ROW_UNITS * (countOf(rows.dims) + countOf(runs)))
  const starts = walk(runs, sums.strides.slice(0, -1))
  return {
    rowAxes: front - 2,
    sumAxes: view.dims.length - front,
    run,
    rows: table(lowering, walk(rows.dims, rows.strides)),
    gaps: table(
      lowering,
      starts.map((start, at) => (at + 1 < starts.length ? starts[at + 1]! - start - run : 0)),
    ),
  }
}

/** Planning units for finding the position of a row, and for its part of a table's key. */
const ROW_UNITS = 4

/** Converts elements to bytes. Layers with the same shape share a table. */
function table(lowering: Lowering, elements: Int32Array): Ref {
  const bytes = elements.map((each) => 4 * each)
  return lowering.once(`table ${bytes}`, () =>
    lowering.values.table('i32', [bytes.length], (at) => bytes[at]!),
  )
}

const axesOf = ({ offset, dims, strides }: View, first: number, end = dims.length): View => ({
  offset,
  dims: dims.slice(first, end),
  strides: strides.slice(first, end),
})
