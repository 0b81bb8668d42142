// Lays filters of 8-bit codes out for products. In: filters [count, channels of a group, ...taps]. Out: for
// each group, panels of eight filters.
//
// A panel begins with the initial values of its eight i32 sums. Then come, for every four codes of a row of
// A, the codes of the eight filters: four of each filter, or, if codes are multiplied in pairs, first two of
// each, then the other two.
import { countOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { type Dot, PANEL, PANEL_BYTES, STEP_CODES } from '../emit/kernel.ts'
import type { CodeMatrix } from '../loops/loops.ts'

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
  { dtype, dims, data }: Tensor,
  addend: Tensor | undefined,
  { zero, bias, group, order, channels }: CodeMatrix,
  dot: Dot,
): Uint8Array {
  const [count, perGroup, ...taps] = dims as [number, number, ...number[]]
  const each = count / group
  const places = placesOf([perGroup, ...taps], order, channels)
  const steps = places.length / STEP_CODES
  const panels = Math.ceil(each / PANEL)
  const bytes = new Uint8Array(group * panels * (steps + 1) * PANEL_BYTES)
  const begin = new DataView(bytes.buffer)
  const size = perGroup * countOf(taps)
  // Codes of A are read as they are stored, or 128 lower.
  const offset = dot === 'signed' ? zero - 128 : zero
  const middle = dtype === 'u8' ? 128 : 0
  const biasOf = (filter: number): number => {
    if (bias === undefined || addend === undefined) return 0
    return Math.round(Number(addend.data[filter]) / bias.scale[bias.scale.length === 1 ? 0 : filter]!)
  }
  for (let filter = 0; filter < count; filter++) {
    const inGroup = filter % each
    const panel = Math.floor(filter / each) * panels + Math.floor(inGroup / PANEL)
    const column = inGroup % PANEL
    const start = panel * (steps + 1) * PANEL_BYTES
    const from = filter * size
    let sum = 0
    for (const [at, place] of places.entries()) {
      if (place < 0) continue
      const code = Number(data[from + place]) - middle
      sum += code
      const [step, lane] = [Math.floor(at / STEP_CODES), at % STEP_CODES]
      const within =
        dot === 'pairs'
          ? (PANEL_BYTES / 2) * (lane >> 1) + 2 * column + (lane & 1)
          : STEP_CODES * column + lane
      bytes[start + (step + 1) * PANEL_BYTES + within] = code
    }
    begin.setInt32(start + 4 * column, biasOf(filter) - offset * sum, true)
  }
  return bytes
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
