// Lays out constant matrices for the engine's kernels: panels of eight outputs, groups of 32 inputs.
//
//   codes from the file   kept, with their scale rounded to f16, in groups where they fit
//   everything else       rounded like the engine's weights (src/core/weights/quantize-weights.ts)
import { GROUP_SIZE, PANEL_ROWS, panelBytes, ROW_PADDING, roundUp } from '../../../core/abi/encodings.ts'
import { quantize4, quantize8, shiftedFloat } from '../../../core/weights/quantize-weights.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import type { MatrixEncoding } from '../loops/loops.ts'
import type { View } from '../loops/view.ts'
import type { Coded } from './coded.ts'

/**
 * `view`: [k, n] over the elements; k is a multiple of 32. Returns `matrixBytes` bytes, or those of the
 * panels from `start` to `end`.
 */
export function laidMatrix(
  elements: Coded | Tensor['data'],
  view: View,
  encoding: MatrixEncoding,
  start = 0,
  end = roundUp(view.dims[1]!, ROW_PADDING) / PANEL_ROWS,
): Uint8Array<ArrayBuffer> {
  const [k, n] = view.dims as [number, number]
  const [kStep, nStep] = view.strides as [number, number]
  const laid = new Uint8Array((end - start) * panelBytes(encoding, k))
  const isByte = encoding === 'w8_g32'
  const group: Group = {
    isByte,
    floats: new Float32Array(GROUP_SIZE),
    codes: new Uint8Array(PANEL_ROWS * GROUP_SIZE),
  }
  const patterns = new Uint16Array(PANEL_ROWS)
  let block = 0
  for (let panel = start; panel < end; panel++)
    for (let first = 0; first < k; first += GROUP_SIZE) {
      for (let row = 0; row < PANEL_ROWS; row++) {
        const output = panel * PANEL_ROWS + row
        const to = row * GROUP_SIZE
        if (output < n) {
          const at = view.offset + first * kStep + output * nStep
          patterns[row] =
            'code' in elements
              ? keepGroup(group, elements, at, kStep, to)
              : roundGroup(group, elements, at, kStep, to)
        } else {
          patterns[row] = 0
          group.codes.fill(isByte ? 128 : 8, to, to + GROUP_SIZE)
        }
      }
      block = layBlock(laid, block, group, patterns)
    }
  return laid
}

/** A group of inputs for eight outputs, each output with its own scale. */
interface Group {
  readonly isByte: boolean
  readonly floats: Float32Array
  /** code + 128 for 8 bits, code + 8 for 4 bits. */
  readonly codes: Uint8Array
}

/** Returns the bit pattern of the scale, like every function that writes the codes of a group. */
function roundGroup(group: Group, elements: Tensor['data'], at: number, step: number, to: number): number {
  for (let i = 0; i < GROUP_SIZE; i++) group.floats[i] = elements[at + i * step] as number
  return rounded(group, to)
}

const rounded = ({ isByte, floats, codes }: Group, to: number): number =>
  isByte ? quantize8(floats, 0, codes, to) : quantize4(floats, 0, codes, to)

/** Keeps the codes if they share a scale and none is too large; otherwise rounds their values. */
function keepGroup(group: Group, { code, scale }: Coded, at: number, step: number, to: number): number {
  const [least, most, middle] = group.isByte ? [-127, 127, 128] : [-8, 7, 8]
  const first = scale(at)
  let fits = true
  for (let i = 0; i < GROUP_SIZE; i++) {
    const own = code(at + i * step)
    const size = scale(at + i * step)
    fits &&= size === first && own >= least! && own <= most!
    group.codes[to + i] = own + middle!
    group.floats[i] = own * size
  }
  return fits ? shiftedFloat(first) : rounded(group, to)
}

/** One block of 8 outputs and 32 inputs (wasm/core/abi.h). Returns the offset of the next one. */
function layBlock(laid: Uint8Array, at: number, { codes, isByte }: Group, patterns: Uint16Array): number {
  for (let row = 0; row < PANEL_ROWS; row++) {
    const scale = at + (row % 4) * 4 + (row < 4 ? 0 : 2)
    laid[scale] = patterns[row]! & 0xff
    laid[scale + 1] = patterns[row]! >> 8
  }
  const first = at + 16
  for (let j = 0; j < GROUP_SIZE / 4; j++)
    for (let row = 0; row < PANEL_ROWS; row++)
      for (let i = 0; i < 4; i++) {
        const code = codes[row * GROUP_SIZE + 4 * j + i]!
        if (isByte) laid[first + j * 32 + row * 4 + i] = code
        else if (row < 4) laid[first + j * 16 + row * 4 + i] = code
        else laid[first + j * 16 + (row - 4) * 4 + i]! |= code << 4
      }
  return first + (isByte ? 256 : 128)
}
