// What a kernel needs to know about a product: its form, its scratch memory, and how it steps through both
// operands.
import { roundUp } from '../../../core/abi/encodings.ts'
import { countOf } from '../../onnx/ir/tensor.ts'
import {
  BLOCK_STEP,
  PANEL,
  type ProductCall,
  type ProductForm,
  TILE_ROWS,
  type Walk,
} from '../emit/kernel.ts'
import { elementBytes, isConstant, type ProductLoop, type Ref } from '../loops/loops.ts'

export function productForm({ args: [a, b], windows, codes }: ProductLoop, packs: boolean): ProductForm {
  const isPacked = (packs || codes !== undefined) && isConstant(b.value)
  return {
    isUnit: a.view.strides.at(-1) === 1,
    isWindowed: windows !== undefined,
    isByColumn: windows?.isByColumn === true,
    isCoded: codes !== undefined,
    b: isPacked ? 'packed' : b.view.strides.at(-1) === 1 ? 'rows' : 'any',
  }
}

/** The tile, plus a panel of B if B is packed while it is read. */
export function tileBytes({ args: [, b] }: ProductLoop): number {
  const k = b.view.dims.at(-2)!
  return 4 * PANEL * TILE_ROWS + 4 * PANEL * k + 64
}

/** Bytes of A that a unit reads: about what the second level of a small cache holds besides a panel of B. */
const UNIT_BYTES = 128 * 1024
/** Shorter units would spend much of their time on finding their addresses. */
const MIN_UNIT_ROWS = 48

/**
 * Units of one product have about equally many rows. If a panel of B is packed while it is read, all rows use
 * it at once.
 */
function unitRows(m: number, rowBytes: number, isPacked: boolean): number {
  if (!isPacked) return Math.max(1, m)
  const blocks = Math.ceil(m / Math.max(MIN_UNIT_ROWS, UNIT_BYTES / rowBytes))
  return roundUp(Math.max(1, Math.ceil(m / Math.max(1, blocks))), BLOCK_STEP)
}

export function productCall(loop: ProductLoop, { b: form }: ProductForm): ProductCall {
  const {
    args: [a, b],
    windows,
    codes,
  } = loop
  const { rowAxes, sumAxes } = windows ?? { rowAxes: 1, sumAxes: 1 }
  const { dims, strides } = a.view
  const walks = dims.map((size, axis): Walk => [size, strides[axis]!]).slice(-rowAxes - sumAxes)
  const at = ({ value, view }: Ref) => ({ at: { value, offset: view.offset }, inner: 0 })
  const m = countOf(dims.slice(-rowAxes - sumAxes, -sumAxes))
  const [k, n] = b.view.dims.slice(-2) as [number, number]
  return {
    m,
    n,
    k,
    rows: unitRows(m, elementBytes(a.value) * (windows?.isByColumn ? n : k), form === 'packed'),
    a: {
      ...at(a),
      steps: strides.slice(0, -rowAxes - sumAxes),
      row: strides.at(-2)!,
      k: strides.at(-1)!,
      walks,
    },
    b: {
      ...at(b),
      steps: b.view.strides.slice(0, -2),
      k: b.view.strides.at(-2)!,
      column: b.view.strides.at(-1)!,
    },
    matrix: b,
    codes,
    windows: windows && { rows: at(windows.rows), gaps: at(windows.gaps), run: windows.run },
  }
}
