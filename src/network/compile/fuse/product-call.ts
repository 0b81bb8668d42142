// What a kernel needs to know about a product: its form, its scratch memory, and how it steps through both
// operands.
import { countOf } from '../../onnx/ir/tensor.ts'
import { type Kernel, PANEL, type ProductCall, TILE_ROWS, type Walk } from '../emit/kernel.ts'
import { isConstant, type ProductLoop, type Ref } from '../loops/loops.ts'

export function productForm(
  { args: [a, b], windows }: ProductLoop,
  packs: boolean,
): NonNullable<Kernel['product']> {
  const isPacked = packs && isConstant(b.value)
  return {
    isUnit: a.view.strides.at(-1) === 1,
    isWindowed: windows !== undefined,
    b: isPacked ? 'packed' : b.view.strides.at(-1) === 1 ? 'rows' : 'any',
  }
}

/** The tile, plus a panel of B if B is packed while it is read. */
export function tileBytes({ args: [, b] }: ProductLoop): number {
  const k = b.view.dims.at(-2)!
  return 4 * PANEL * TILE_ROWS + 4 * PANEL * k + 64
}

export function productCall({ args: [a, b], windows }: ProductLoop): ProductCall {
  const { rowAxes, sumAxes } = windows ?? { rowAxes: 1, sumAxes: 1 }
  const { dims, strides } = a.view
  const walks = dims.map((size, axis): Walk => [size, strides[axis]!]).slice(-rowAxes - sumAxes)
  const at = ({ value, view }: Ref) => ({ at: { value, offset: view.offset }, inner: 0 })
  return {
    m: countOf(dims.slice(-rowAxes - sumAxes, -sumAxes)),
    n: b.view.dims.at(-1)!,
    k: b.view.dims.at(-2)!,
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
    windows: windows && { rows: at(windows.rows), gaps: at(windows.gaps), run: windows.run },
  }
}
