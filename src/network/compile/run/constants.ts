// The constants of a graph in linear memory: unchanged or, for products, in panels of eight columns.
import { matrixBytes } from '../../../core/abi/encodings.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { memo } from '../../../core/base/values.ts'
import { walk } from '../../onnx/ir/broadcast.ts'
import type { Constant } from '../../onnx/ir/graph.ts'
import { arrayOf, countOf, type Tensor } from '../../onnx/ir/tensor.ts'
import { type Dot, PANEL, type ProductCall } from '../emit/kernel.ts'
import { wordsOf } from '../loops/held.ts'
import type { CodeMatrix, GivenConstant, MatrixEncoding, Ref, Value } from '../loops/loops.ts'
import type { Kind } from '../loops/tree.ts'
import { isWhole, whole } from '../loops/view.ts'
import { CodeWriter, type ConstantMemory, panelBytes } from './code-panels.ts'
import { packed } from './coded.ts'
import { checkHeld, constantTensor, type WithConstants } from './constant-tensor.ts'
import { FloatWriter } from './float-writer.ts'
import { Layouts } from './layouts.ts'

/** A constant in one form, in memory. */
export interface LaidConstant {
  readonly constant: Constant
  readonly form: string
  readonly address: number
  /** The number of programs that use it. */
  users: number
  /** How a matrix of codes is multiplied. */
  readonly dot?: Dot | undefined
}

/** Loads each constant once, however many programs use it. */
export class Constants {
  readonly #memory: ConstantMemory
  /** Keyed by the constant itself, because two graphs may use one name for different constants. */
  readonly #laid = new Map<Constant, Map<string, LaidConstant>>()

  readonly #layouts: Layouts
  readonly #floats: FloatWriter
  readonly #codes: CodeWriter

  constructor(memory: ConstantMemory) {
    this.#memory = memory
    this.#layouts = new Layouts(memory)
    this.#floats = new FloatWriter(memory, this.#layouts)
    this.#codes = new CodeWriter(memory, this.#layouts)
  }

  /** Call this when a program stops using the constant, which is freed once nothing uses it. */
  release(laid: LaidConstant): void {
    if (--laid.users > 0) return
    const forms = this.#laid.get(laid.constant)
    forms?.delete(laid.form)
    if (forms?.size === 0) this.#laid.delete(laid.constant)
    this.#memory.give(laid.address)
  }

  /** The address of the elements in row-major order. */
  plain(graph: WithConstants, value: Value): number {
    return this.#known(graph, value, '')
  }

  /** The address of the panels of a matrix, or of all matrices of a batch. */
  packed(graph: WithConstants, product: Pick<ProductCall, 'matrix' | 'codes'>): number {
    return this.#known(graph, product.matrix.value, formOf(product))
  }

  loadPlain(graph: WithConstants, value: Value, signal?: AbortSignal): Promise<LaidConstant> {
    return this.#load(graph, value, '', async (given) => {
      const { constant, summed } = given
      if (value.kind === 'f32')
        return await this.#placed(4 * countOf(value.dims), (address) =>
          this.#floats.write(address, graph, { ...value, given }, signal),
        )
      if (summed !== undefined)
        return await this.#placed(4 * countOf(value.dims), (address) =>
          this.#codes.writeSums(address, graph.constants.get(constant)!, summed, signal),
        )
      const stored = await constantTensor(constant, graph.constants.get(constant)!, signal)
      const { data, dtype } = integersOf(stored, given)
      checkHeld(`the constant ${constant}`, dtype, data)
      return await this.#placed(4 * data.length, async (address) =>
        fill(this.#memory.buffer(), address, value.kind, data),
      )
    })
  }

  async loadPacked(
    graph: WithConstants,
    product: Pick<ProductCall, 'matrix' | 'codes'>,
    signal?: AbortSignal,
  ): Promise<LaidConstant> {
    const { value, view } = product.matrix
    if (product.codes !== undefined) return await this.#loadCodes(graph, value, product.codes, signal)
    return await this.#load(graph, value, formOf(product), async (given) => {
      const batch = view.dims.slice(0, -2)
      const [k, n] = view.dims.slice(-2) as [number, number]
      const own = { ...value, given }
      // A matrix repeated along an axis is stored once.
      const sizes = batch.map((size, axis) => (view.strides[axis] === 0 ? 1 : size))
      const each = Math.ceil(n / PANEL) * k * PANEL
      return await this.#placed(4 * countOf(sizes) * each, async (address) => {
        if (given.isTiled && isWhole(view, value.dims))
          return await this.#floats.writeTiles(address, graph, own, true, signal)
        await this.#layouts.scratch(4 * countOf(value.dims), async (scratch) => {
          await this.#floats.write(scratch, graph, own, signal)
          const [kStep, nStep] = view.strides.slice(-2) as [number, number]
          for (const [item, from] of walk(sizes, view.strides.slice(0, -2), view.offset).entries())
            this.#layouts.panels(address + 4 * item * each, scratch, { from, k, n, kStep, nStep })
        })
      })
    })
  }

  /** How the product's matrix of codes, which is loaded, is multiplied. */
  dotOf(graph: WithConstants, product: Pick<ProductCall, 'matrix' | 'codes'>): Dot {
    return this.#laidAs(graph, product.matrix.value, formOf(product)).dot!
  }

  async #loadCodes(
    graph: WithConstants,
    value: Value,
    codes: CodeMatrix,
    signal: AbortSignal | undefined,
  ): Promise<LaidConstant> {
    const name = codes.bias?.constant
    const bias =
      name === undefined ? undefined : await constantTensor(name, graph.constants.get(name)!, signal)
    const form = formOf({ matrix: { value, view: whole(value.dims) }, codes })
    return await this.#load(graph, value, form, async ({ constant }) => {
      const filters = graph.constants.get(constant)!
      let dot: Dot | undefined
      const placed = await this.#placed(panelBytes(filters, codes), async (address) => {
        dot = await this.#codes.writePanels(address, filters, bias, codes, signal)
      })
      return { ...placed, dot }
    })
  }

  /** The address of a matrix in the layout of the engine's kernels. */
  matrix(graph: WithConstants, { value, view }: Ref, encoding: string): number {
    return this.#known(graph, value, `${encoding} ${JSON.stringify(view)}`)
  }

  loadMatrix(
    graph: WithConstants,
    { value, view }: Ref,
    encoding: MatrixEncoding,
    signal?: AbortSignal,
  ): Promise<LaidConstant> {
    const form = `${encoding} ${JSON.stringify(view)}`
    return this.#load(graph, value, form, (given) => {
      const [k, n] = view.dims as [number, number]
      return this.#placed(matrixBytes(encoding, n, k), (address) =>
        this.#floats.writeMatrix(address, graph, { ...value, given }, { view, encoding }, signal),
      )
    })
  }

  #known(graph: WithConstants, value: Value, form: string): number {
    return this.#laidAs(graph, value, form).address
  }

  #laidAs(graph: WithConstants, value: Value, form: string): LaidConstant {
    const { given, key } = givenOf(value, form)
    const { constant } = given
    const laid = this.#laid.get(graph.constants.get(constant)!)?.get(key)
    if (laid !== undefined) return laid
    throw new HalfbyteError('internal', `the constant ${constant} is not loaded`, { constant })
  }

  /** `place`: lays the constant out, if no program uses it in this form yet. */
  async #load(
    graph: WithConstants,
    value: Value,
    form: string,
    place: (given: GivenConstant) => Promise<Pick<LaidConstant, 'address' | 'dot'>>,
  ): Promise<LaidConstant> {
    const { given, key } = givenOf(value, form)
    const constant = graph.constants.get(given.constant)!
    const known = this.#laid.get(constant)?.get(key)
    if (known !== undefined) return known
    const laid = { constant, form: key, users: 0, ...(await place(given)) }
    memo(this.#laid, constant, () => new Map<string, LaidConstant>()).set(key, laid)
    return laid
  }

  /** Memory that `write` fills. It is taken first, so that memory used meanwhile is free again after it. */
  async #placed(bytes: number, write: (address: number) => Promise<void>): Promise<{ address: number }> {
    const address = this.#memory.take(bytes)
    try {
      await write(address)
      return { address }
    } catch (error) {
      this.#memory.give(address)
      throw error
    }
  }
}

/** A key for the layout of a product's matrix. */
const formOf = ({ matrix, codes }: Pick<ProductCall, 'matrix' | 'codes'>): string =>
  codes === undefined ? JSON.stringify(matrix.view) : `codes ${JSON.stringify(codes)}`

function givenOf({ given }: Value, form: string) {
  const own = given as GivenConstant
  const { codes, view, packing, isTiled, summed } = own
  return {
    given: own,
    key: [form, codes, view, packing, isTiled, summed].map((part) => JSON.stringify(part)).join(' '),
  }
}

/** The integers that a value reads, in its order. */
function integersOf(tensor: Tensor, { view, packing }: GivenConstant): Tensor {
  if (packing !== undefined) return packed(tensor, packing)
  if (view === undefined) return tensor
  const { offset, dims, strides } = view
  const places = walk(dims, strides, offset)
  const data = arrayOf(tensor.dtype, places.length)
  for (const [at, place] of places.entries()) data[at] = tensor.data[place]!
  return { ...tensor, dims, data }
}

/** Writes elements as the four bytes that loops read, after `checkHeld` has passed. */
export function fill(memory: ArrayBufferLike, address: number, kind: Kind, data: Tensor['data']): void {
  if (kind === 'f32') {
    new Float32Array(memory, address, data.length).set(data as Float32Array)
    return
  }
  const to = new Int32Array(memory, address, data.length)
  if (!(data instanceof BigInt64Array || data instanceof BigUint64Array)) to.set(data as Int32Array)
  else {
    const words = wordsOf(data)
    for (let at = 0; at < to.length; at++) to[at] = words[2 * at]!
  }
}
