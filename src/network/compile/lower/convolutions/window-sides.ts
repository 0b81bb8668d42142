// The operands of a product whose rows are windows. In: overlapping windows, and filters. Out: A and B, and
// the tables for reading A's rows in place.
import { walk } from '../../../onnx/ir/broadcast.ts'
import type { Node } from '../../../onnx/ir/graph.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import { dimsOf, type ProductLoop, type Ref, type Windows } from '../../loops/loops.ts'
import { collapsed, orderOf, reshaped, spread, transposed, type View } from '../../loops/view.ts'
import { reshape } from '../lowering/layouts.ts'
import type { Lowering } from '../lowering/lowering.ts'

/**
 * [batch, group, ...places, channels of a group, ...taps] and [count, channels of a group, ...taps]. The last
 * `rowAxes` places are rows.
 */
export function productSides(
  lowering: Lowering,
  node: Node,
  windows: Ref,
  filters: Ref,
  rowAxes: number,
): Pick<ProductLoop, 'args' | 'windows'> {
  const { dims } = windows.view
  const [count, ...taps] = dimsOf(filters) as [number, ...number[]]
  const front = dims.length - taps.length
  const [batch, group, ...outer] = dims.slice(0, front - rowAxes) as [number, number, ...number[]]
  const { order: sums, turned, plain } = inMemoryOrder(windows.view, front, rowAxes)
  const each = count / group
  const k = countOf(taps)
  const split = reshape(lowering, node, filters, [group, each, ...taps])
  const perm = [0, 1, ...sums.map((axis) => axis + 2)]
  const ones = outer.map(() => 1)
  const rows = reshape(lowering, node, { ...split, view: transposed(split.view, perm) }, [
    group,
    ...ones,
    each,
    k,
  ])
  const swapped = [...Array(ones.length + 1).keys(), ones.length + 2, ones.length + 1]
  const b = { ...rows, view: spread(transposed(rows.view, swapped), [batch, group, ...outer, k, each]) }
  if (plain !== undefined) return { args: [{ ...windows, view: plain }, b] }
  return { args: [{ ...windows, view: turned }, b], windows: windowsOf(lowering, turned, front, rowAxes) }
}

/**
 * The same for codes, whose channels are adjacent: A, its tables, and the summed axes in A's order. B is
 * described elsewhere. `taps`: the sizes of the summed axes.
 */
export function codedRows(
  lowering: Lowering,
  windows: Ref,
  taps: readonly number[],
  rowAxes: number,
): Pick<ProductLoop, 'windows'> & { readonly a: Ref; readonly order: readonly number[] } {
  const front = windows.view.dims.length - taps.length
  const { order, turned, plain } = inMemoryOrder(windows.view, front, rowAxes)
  if (plain !== undefined) return { a: { ...windows, view: plain }, order }
  return {
    a: { ...windows, view: turned },
    order,
    windows: windowsOf(lowering, turned, front, rowAxes, false, 1),
  }
}

/**
 * Windows whose summed axes, those from `front` on, are in memory order, which makes the runs long. `plain`:
 * rows that need no tables, [...outer, rows, summed numbers]; undefined if strides cannot describe them.
 */
function inMemoryOrder(view: View, front: number, rowAxes: number) {
  const { dims } = view
  const order = orderOf(axesOf(view, front))
  const turned = transposed(view, [...Array(front).keys(), ...order.map((axis) => front + axis)])
  const rows = countOf(dims.slice(front - rowAxes, front))
  const plain = reshaped(turned, [...dims.slice(0, front - rowAxes), rows, countOf(dims.slice(front))])
  return { order, turned, plain }
}

/** [batch, 1, ...places, ...taps], whose channels are adjacent, and [channels, 1, ...taps]. */
export function columnSides(
  lowering: Lowering,
  node: Node,
  windows: Ref,
  filters: Ref,
  rowAxes: number,
): Pick<ProductLoop, 'args' | 'windows'> {
  const [channels, , ...taps] = dimsOf(filters) as [number, number, ...number[]]
  const { dims } = windows.view
  const front = dims.length - taps.length
  const k = countOf(taps)
  const flat = reshape(lowering, node, filters, [channels, k])
  const outer = dims.slice(0, front - rowAxes)
  const b = { ...flat, view: spread(transposed(flat.view, [1, 0]), [...outer, k, channels]) }
  return { args: [windows, b], windows: windowsOf(lowering, windows.view, front, rowAxes, true) }
}

function windowsOf(
  lowering: Lowering,
  view: View,
  front: number,
  rowAxes: number,
  isByColumn = false,
  size = 4,
): Windows {
  const sums = collapsed(axesOf(view, front))
  const isRun = !isByColumn && sums.strides.at(-1) === 1
  const run = isRun ? sums.dims.at(-1)! : 1
  const rows = collapsed(axesOf(view, front - rowAxes, front))
  const end = isRun ? -1 : undefined
  const runs = sums.dims.slice(0, end)
  lowering.spend(ROW_UNITS * (countOf(rows.dims) + countOf(runs)))
  const steps = sums.strides.slice(0, end)
  // A product by column stays at the number that it has read; others advance past the run.
  const passed = isByColumn ? 0 : run * (view.strides.at(-1) ?? 1)
  return {
    rowAxes,
    sumAxes: view.dims.length - front,
    isByColumn,
    run,
    rows: table(lowering, 'rows', [rows.dims, rows.strides, size], () =>
      walk(
        rows.dims,
        rows.strides.map((step) => size * step),
      ),
    ),
    gaps: table(lowering, 'gaps', [runs, steps, passed, size], () => {
      const starts = walk(runs, steps)
      return starts.map((start, at) =>
        at + 1 < starts.length ? size * (starts[at + 1]! - start - passed) : 0,
      )
    }),
  }
}

/** Planning units for finding the position of a row, and for its part of a table's key. */
const ROW_UNITS = 4

/** A table of bytes. Layers with the same shape, which `of` describes, share it. */
function table(lowering: Lowering, what: string, of: readonly unknown[], bytesOf: () => Int32Array): Ref {
  return lowering.once(`${what} ${JSON.stringify(of)}`, () => {
    const bytes = bytesOf()
    return lowering.values.table('i32', [bytes.length], bytes)
  })
}

const axesOf = ({ offset, dims, strides }: View, first: number, end = dims.length): View => ({
  offset,
  dims: dims.slice(first, end),
  strides: strides.slice(first, end),
})
