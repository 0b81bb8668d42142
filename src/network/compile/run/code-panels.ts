// Lays filters and matrices of 8-bit codes out for products. In: filters [count, channels of a group,
// ...taps], or a matrix [k, n], whose columns are filters. Out: for each group, panels of eight filters.
//
// A panel begins with the initial values of its eight i32 sums. Then come, for every four codes of a row of
// A, the codes of the eight filters: four of each filter, or, if codes are multiplied in pairs, first two of
// each, then the other two.
import { countOf, type Tensor, tensorOf } from '../../onnx/ir/tensor.ts'
import { type Dot, PANEL, PANEL_BYTES, STEP_CODES } from '../emit/kernel.ts'
import type { CodedForm, CodeMatrix } from '../loops/loops.ts'

/**
 * How to multiply these filters on a machine that multiplies by `dot`. With signed codes, the sum of two
 * products of -128 and -128 may overflow.
 */
export const dotFor = ({ dtype, data }: Tensor, dot: Dot): Dot =>
  dot === 'signed' && data.some((code: number | bigint) => Number(code) === (dtype === 'u8' ? 0 : -128))
    ? 'pairs'
    : dot

/** `addend`: the constant of the bias. */
export function codePanels(
  filters: Tensor,
  addend: Tensor | undefined,
  { form, zero, bias, group, order, channels }: CodeMatrix,
  dot: Dot,
): Uint8Array {
  const { data } = filters
  const { count, summed, next, step: stride, middle } = filtersOf(filters, form)
  const each = count / group
  const places = placesOf(summed, order, channels)
  const steps = places.length / STEP_CODES
  const panels = Math.ceil(each / PANEL)
  const bytes = new Uint8Array(group * panels * (steps + 1) * PANEL_BYTES)
  const begin = new DataView(bytes.buffer)
  // Codes of A are read as they are stored, or 128 lower.
  const offset = dot === 'signed' ? zero - 128 : zero
  const biasOf = (filter: number): number => {
    if (bias === undefined || addend === undefined) return 0
    return Math.round(Number(addend.data[filter]) / bias.scale[bias.scale.length === 1 ? 0 : filter]!)
  }
  for (let filter = 0; filter < count; filter++) {
    const inGroup = filter % each
    const panel = Math.floor(filter / each) * panels + Math.floor(inGroup / PANEL)
    const column = inGroup % PANEL
    const start = panel * (steps + 1) * PANEL_BYTES
    const from = filter * next
    let sum = 0
    for (let at = 0; at < places.length; at++) {
      const place = places[at]!
      if (place < 0) continue
      const code = Number(data[from + place * stride]) - middle
      sum += code
      const lane = at % STEP_CODES
      const within =
        dot === 'pairs'
          ? (PANEL_BYTES / 2) * (lane >> 1) + 2 * column + (lane & 1)
          : STEP_CODES * column + lane
      bytes[start + ((at - lane) / STEP_CODES + 1) * PANEL_BYTES + within] = code
    }
    begin.setInt32(start + 4 * column, biasOf(filter) - offset * sum, true)
  }
  return bytes
}

/**
 * The filters in a constant: how many there are, the sizes of their axes, the elements from one to the next,
 * and from one number of a filter to the next. `middle`: the code that counts as 0.
 */
function filtersOf({ dtype, dims }: Tensor, form: CodedForm) {
  const middle = dtype === 'u8' ? 128 : 0
  const [first, second, ...taps] = dims as [number, number, ...number[]]
  if (form === 'matrix') return { count: second, summed: [first], next: 1, step: second, middle }
  const summed = [second, ...taps]
  return { count: first, summed, next: countOf(summed), step: 1, middle }
}

/** The sum of the codes of each filter. */
export function summedCodes(filters: Tensor, form: CodedForm): Tensor {
  const { count, summed, next, step, middle } = filtersOf(filters, form)
  const sums = new Int32Array(count)
  const size = countOf(summed)
  for (let filter = 0; filter < count; filter++) {
    let sum = 0
    for (let at = 0; at < size; at++) sum += Number(filters.data[filter * next + at * step]) - middle
    sums[filter] = sum
  }
  return tensorOf('i32', [count], sums)
}

/**
 * The places of a filter's numbers in the order in which A has them; -1 for channels that the filter does not
 * have.
 */
function placesOf(dims: readonly number[], order: readonly number[], channels: number): readonly number[] {
  const strides = dims.map((_, axis) => countOf(dims.slice(axis + 1)))
  let places = [0]
  for (const axis of order) {
    const size = axis === 0 ? channels : dims[axis]!
    places = places.flatMap((place) =>
      Array.from({ length: size }, (_, at) =>
        place < 0 || at >= dims[axis]! ? -1 : place + at * strides[axis]!,
      ),
    )
  }
  return places
}
