// Writes constants to a machine's memory: as floats, which may be decoded, in another order, or filters of
// tiles, and codes as a matrix for the engine's kernels. What functions of `layouts.ts` cannot do, scripts
// do.
import { matrixBytes, PANEL_ROWS } from '../../../core/abi/encodings.ts'
import { shiftedFloat } from '../../../core/weights/quantize-weights.ts'
import type { Constant } from '../../onnx/ir/graph.ts'
import { countOf, type DType, stridesOf } from '../../onnx/ir/tensor.ts'
import type { Codes, GivenConstant, MatrixEncoding, Value } from '../loops/loops.ts'
import type { View } from '../loops/view.ts'
import { codedBy } from './coded.ts'
import { checkHeld, codedOf, constantTensor, readConstant, type WithConstants } from './constant-tensor.ts'
import { codePanelBytes, type LayoutMemory, type Layouts } from './layouts.ts'
import { laidMatrix } from './matrices.ts'

/** Reading bytes one by one is faster than a call for fewer. */
const LEAST_RUN = 16

type ConstantValue = Value & { readonly given: GivenConstant }

export class FloatWriter {
  readonly #memory: LayoutMemory
  readonly #layouts: Layouts

  constructor(memory: LayoutMemory, layouts: Layouts) {
    this.#memory = memory
    this.#layouts = layouts
  }

  /** Writes the elements of a value in row-major order. */
  async write(to: number, graph: WithConstants, value: ConstantValue, signal?: AbortSignal): Promise<void> {
    const { constant, view, isTiled } = value.given
    if (isTiled) return await this.writeTiles(to, graph, value, false, signal)
    if (view === undefined) return await this.#decode(to, graph, value.given, signal)
    await this.#layouts.scratch(4 * countOf(graph.constants.get(constant)!.dims), async (from) => {
      await this.#decode(from, graph, value.given, signal)
      this.#layouts.gather(to, from, view)
    })
  }

  /** Writes filters, [16, channels, count], in panels of columns or in row-major order. */
  async writeTiles(
    to: number,
    graph: WithConstants,
    { given, dims }: ConstantValue,
    isInPanels: boolean,
    signal?: AbortSignal,
  ): Promise<void> {
    const [, channels, count] = dims as [number, number, number]
    await this.#layouts.scratch(4 * countOf(graph.constants.get(given.constant)!.dims), async (from) => {
      await this.#decode(from, graph, given, signal)
      this.#layouts.tiles(to, from, channels, count, isInPanels)
    })
  }

  /** Writes all elements of a constant. */
  async #decode(to: number, graph: WithConstants, given: GivenConstant, signal?: AbortSignal): Promise<void> {
    const { constant: name, codes } = given
    const constant = graph.constants.get(name)!
    const bytes = (at: number, size: number) =>
      new Uint8Array(this.#memory.buffer(), at, size * countOf(constant.dims))
    if (codes === undefined && constant.dtype === 'f32')
      return await readConstant(constant, bytes(to, 4), signal)
    if (codes !== undefined && !('block' in codes) && mayDecode(constant, codes))
      return await this.#layouts.scratch(countOf(constant.dims), async (from) => {
        await readConstant(constant, bytes(from, 1), signal)
        this.#decodeBytes(to, from, constant, codes)
      })
    const tensor = await constantTensor(name, constant, signal)
    if (codes === undefined) checkHeld(`the constant ${name}`, tensor.dtype, tensor.data)
    const floats = codes && (await codedOf(graph, tensor, codes, signal)).floats()
    const data = floats ?? tensor.data
    new Float32Array(this.#memory.buffer(), to, data.length).set(data as Float32Array)
  }

  #decodeBytes(to: number, from: number, { dims, dtype }: Constant, codes: Codes): void {
    const { run, list } = runsOf(dims, codes)
    const count = countOf(dims)
    for (let start = 0; start < count; start += run) {
      const at = Math.floor(start / run)
      const [zero, scale] = [list(codes.zero, at), list(codes.scale, at)]
      const size = Math.min(run, count - start)
      this.#layouts.floats(to + 4 * start, from + start, size, { isSigned: dtype === 'i8', zero, scale })
    }
  }

  /** Writes a matrix for the engine's kernels, `matrixBytes` bytes. `view`: [k, n] over the elements. */
  async writeMatrix(
    to: number,
    graph: WithConstants,
    { given }: ConstantValue,
    { view, encoding }: { readonly view: View; readonly encoding: MatrixEncoding },
    signal?: AbortSignal,
  ): Promise<void> {
    const { constant: name, codes } = given
    const constant = graph.constants.get(name)!
    if (codes !== undefined && !('block' in codes) && mayKeep(constant, given, view, encoding))
      return await this.#layouts.scratch(countOf(constant.dims), async (from) => {
        const bytes = new Uint8Array(this.#memory.buffer(), from, countOf(constant.dims))
        await readConstant(constant, bytes, signal)
        this.#keep(to, from, { constant, codes, view })
      })
    const tensor = await constantTensor(name, constant, signal)
    const coded = codes && (await codedOf(graph, tensor, codes, signal))
    const elements = given.view === undefined ? (coded ?? tensor.data) : undefined
    if (elements !== undefined) {
      this.#set(to, laidMatrix(elements, view, encoding))
      return
    }
    const own = countOf(given.view!.dims)
    await this.#layouts.scratch(4 * own, async (from) => {
      await this.write(from, graph, { given, dims: given.view!.dims } as ConstantValue, signal)
      this.#set(to, laidMatrix(new Float32Array(this.#memory.buffer(), from, own), view, encoding))
    })
  }

  /** Copies codes of one scale in each group. Panels that the kernels cannot represent are rounded. */
  #keep(
    to: number,
    from: number,
    { constant, codes, view }: { readonly constant: Constant; readonly codes: Codes; readonly view: View },
  ): void {
    const { dims, dtype } = constant
    const [k, n] = view.dims as [number, number]
    const [kStep, nStep] = view.strides as [number, number]
    const { run, list } = runsOf(dims, codes)
    const isSigned = dtype === 'i8'
    const panelBytes = codePanelBytes(k)
    const panels = matrixBytes('w8_g32', n, k) / panelBytes
    const buffer = this.#memory.buffer()
    const data = new (isSigned ? Int8Array : Uint8Array)(buffer as ArrayBuffer, from, countOf(dims))
    const coded = codedBy({ dtype, dims, data }, codes)
    for (let panel = 0; panel < panels; panel++) {
      const at = (row: number) => view.offset + (PANEL_ROWS * panel + row) * nStep
      const rows = Array.from({ length: PANEL_ROWS }, (_, row) => Math.floor(at(row) / run))
      const isKept =
        PANEL_ROWS * (panel + 1) <= n &&
        this.#layouts.codes(to + panel * panelBytes, from + at(0), {
          groups: k / 32,
          inputStep: kStep,
          outputStep: nStep,
          isSigned,
          zeros: rows.map((row) => list(codes.zero, row)),
          scales: rows.map((row) => shiftedFloat(list(codes.scale, row))),
        })
      if (isKept) continue
      this.#set(to + panel * panelBytes, laidMatrix(coded, view, 'w8_g32', panel, panel + 1))
    }
  }

  #set(to: number, bytes: Uint8Array): void {
    new Uint8Array(this.#memory.buffer(), to, bytes.byteLength).set(bytes)
  }
}

const BYTES: readonly DType[] = ['u8', 'i8']

const isByteCodes = ({ dtype }: Constant, { zero }: Codes): boolean =>
  BYTES.includes(dtype) && zero.every(Number.isInteger)

/** Whether the product of a code and its scale is the same in f32. */
const mayDecode = (constant: Constant, codes: Codes): boolean =>
  isByteCodes(constant, codes) &&
  runsOf(constant.dims, codes).run >= LEAST_RUN &&
  codes.scale.every((scale) => Math.fround(scale) === scale)

/** Whether the kernels can read the codes, all of which have one scale along the summed axis. */
function mayKeep(constant: Constant, { codes, view }: GivenConstant, own: View, encoding: MatrixEncoding) {
  if (codes === undefined || 'block' in codes || view !== undefined || encoding !== 'w8_g32') return false
  const { dims } = constant
  const isOne = codes.scale.length === 1 && codes.zero.length === 1
  const round = (stridesOf(dims)[codes.axis] ?? 1) * (dims[codes.axis] ?? 1)
  return isByteCodes(constant, codes) && (isOne || own.strides[0]! % round === 0)
}

/**
 * How many adjacent elements have one scale and one zero point, and what those of a run are in a list of one
 * number for all or one for each index of the axis.
 */
function runsOf(dims: readonly number[], { axis, scale, zero }: Codes) {
  const isOne = scale.length === 1 && zero.length === 1
  const size = dims[axis] ?? 1
  return {
    run: isOne ? Math.max(1, countOf(dims)) : (stridesOf(dims)[axis] ?? 1),
    list: (list: readonly number[], run: number): number =>
      list.length === 1 ? list[0]! : list[run % size]!,
  }
}
