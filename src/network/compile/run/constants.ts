// The constants of a graph in linear memory: unchanged or, for products, in panels of eight columns.
import { readInto } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { memo } from '../../../core/base/values.ts'
import { walk } from '../../onnx/ir/broadcast.ts'
import { type Constant, type Graph, isStored } from '../../onnx/ir/graph.ts'
import { arrayOf, countOf, type DType, type Tensor } from '../../onnx/ir/tensor.ts'
import { tensorFromBytes } from '../../onnx/proto/tensor-proto.ts'
import { type Dot, PANEL, type ProductCall } from '../emit/kernel.ts'
import { unheldOf, WHY_UNHELD, wordsOf } from '../loops/held.ts'
import type {
  BlockCodes,
  CodeMatrix,
  Codes,
  GivenConstant,
  MatrixEncoding,
  Ref,
  Value,
} from '../loops/loops.ts'
import type { Kind } from '../loops/tree.ts'
import { type View, whole } from '../loops/view.ts'
import { codePanels, dotFor, summedCodes } from './code-panels.ts'
import { type Coded, codedBy, codedInBlocks, packed } from './coded.ts'
import { laidMatrix } from './matrices.ts'
import { tiledFilters } from './tiled-filters.ts'

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

type WithConstants = Pick<Graph, 'constants'>

/** The memory that holds constants. */
interface Memory {
  buffer(): ArrayBufferLike
  take(bytes: number): number
  give(address: number): void
  /** How codes are multiplied, which their layout depends on. */
  readonly dot: Dot
}

/** Loads each constant once, however many programs use it. */
export class Constants {
  readonly #memory: Memory
  /** Keyed by the constant itself, because two graphs may use one name for different constants. */
  readonly #laid = new Map<Constant, Map<string, LaidConstant>>()

  constructor(memory: Memory) {
    this.#memory = memory
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
    return this.#load(graph, value, '', signal, (tensor) => {
      const { data, dtype } = tensor()
      checkHeld(`the constant ${givenOf(value, '').constant}`, dtype, data)
      const address = this.#memory.take(4 * data.length)
      fill(this.#memory.buffer(), address, value.kind, data)
      return address
    })
  }

  async loadPacked(
    graph: WithConstants,
    product: Pick<ProductCall, 'matrix' | 'codes'>,
    signal?: AbortSignal,
  ): Promise<LaidConstant> {
    const { value, view } = product.matrix
    if (product.codes !== undefined) return await this.#loadCodes(graph, value, product.codes, signal)
    return await this.#load(graph, value, formOf(product), signal, (tensor) => {
      const { data } = tensor()
      const batch = view.dims.slice(0, -2)
      const [k, n] = view.dims.slice(-2) as [number, number]
      const panels = Math.ceil(n / PANEL)
      // A matrix repeated along an axis is stored once.
      const sizes = batch.map((size, axis) => (view.strides[axis] === 0 ? 1 : size))
      const address = this.#memory.take(4 * countOf(sizes) * panels * k * PANEL)
      const to = new Float32Array(this.#memory.buffer(), address, countOf(sizes) * panels * k * PANEL)
      const source = data as Float32Array
      const [kStep, nStep] = view.strides.slice(-2) as [number, number]
      for (let item = 0; item < countOf(sizes); item++) {
        let from = view.offset
        let rest = item
        for (let axis = sizes.length - 1; axis >= 0; axis--) {
          from += (rest % sizes[axis]!) * view.strides[axis]!
          rest = Math.floor(rest / sizes[axis]!)
        }
        const part = to.subarray(item * panels * k * PANEL, (item + 1) * panels * k * PANEL)
        packPanels(part, source, { from, k, n, kStep, nStep })
      }
      return address
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
    return await this.#load(graph, value, form, signal, (tensor) => {
      const filters = tensor()
      const dot = dotFor(filters, this.#memory.dot)
      const laid = codePanels(filters, bias, codes, dot)
      const address = this.#memory.take(laid.byteLength)
      new Uint8Array(this.#memory.buffer(), address).set(laid)
      return { address, dot }
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
    return this.#load(graph, value, form, signal, (tensor, coded) => {
      const laid = laidMatrix(coded ?? tensor().data, view, encoding)
      const address = this.#memory.take(laid.byteLength)
      new Uint8Array(this.#memory.buffer(), address).set(laid)
      return address
    })
  }

  #known(graph: WithConstants, value: Value, form: string): number {
    return this.#laidAs(graph, value, form).address
  }

  #laidAs(graph: WithConstants, value: Value, form: string): LaidConstant {
    const { constant, key } = givenOf(value, form)
    const laid = this.#laid.get(graph.constants.get(constant)!)?.get(key)
    if (laid !== undefined) return laid
    throw new HalfbyteError('internal', `the constant ${constant} is not loaded`, { constant })
  }

  async #load(
    graph: WithConstants,
    value: Value,
    form: string,
    signal: AbortSignal | undefined,
    place: (floats: () => Tensor, coded: Coded | undefined) => number | Pick<LaidConstant, 'address' | 'dot'>,
  ): Promise<LaidConstant> {
    const { constant: name, key, codes, view, packing, isTiled, summed } = givenOf(value, form)
    const constant = graph.constants.get(name)!
    const known = this.#laid.get(constant)?.get(key)
    if (known !== undefined) return known
    const tensor = await constantTensor(name, constant, signal)
    const coded = codes && (await this.#coded(graph, tensor, codes, signal))
    const whole = () => {
      if (packing !== undefined) return packed(tensor, packing)
      if (summed !== undefined) return summedCodes(tensor, summed)
      const isAsValue = view === undefined && !isTiled
      const floats = coded === undefined ? tensor : decoded(isAsValue ? value.dims : tensor.dims, coded)
      if (isTiled) return tiled(floats, value.dims)
      return view === undefined ? floats : viewed(floats, view)
    }
    const placed = place(whole, view === undefined ? coded : undefined)
    const at = typeof placed === 'number' ? { address: placed } : placed
    const laid = { constant, form: key, users: 0, ...at }
    memo(this.#laid, constant, () => new Map<string, LaidConstant>()).set(key, laid)
    return laid
  }

  async #coded(
    graph: WithConstants,
    tensor: Tensor,
    codes: Codes | BlockCodes,
    signal?: AbortSignal,
  ): Promise<Coded> {
    if (!('block' in codes)) return codedBy(tensor, codes)
    const read = (name: string) => constantTensor(name, graph.constants.get(name)!, signal)
    const zeros = codes.zeros === undefined ? undefined : await read(codes.zeros)
    return codedInBlocks(tensor, codes, await read(codes.scales), zeros)
  }
}

/** A key for the layout of a product's matrix. */
const formOf = ({ matrix, codes }: Pick<ProductCall, 'matrix' | 'codes'>): string =>
  codes === undefined ? JSON.stringify(matrix.view) : `codes ${JSON.stringify(codes)}`

interface Matrix {
  readonly from: number
  readonly k: number
  readonly n: number
  readonly kStep: number
  readonly nStep: number
}

/**
 * Panels of `PANEL` columns, each with its rows one after the other; columns beyond the last are 0. Most of a
 * network's load is spent here.
 */
function packPanels(to: Float32Array, source: Float32Array, { from, k, n, kStep, nStep }: Matrix): void {
  const whole = Math.floor(n / PANEL)
  const copy = (panel: number, columns: number): void => {
    const start = from + panel * PANEL * nStep
    const base = panel * k * PANEL
    if (nStep === 1) {
      for (let at = 0; at < k; at++) {
        const read = start + at * kStep
        const next = base + at * PANEL
        for (let column = 0; column < columns; column++) to[next + column] = source[read + column]!
      }
      return
    }
    // Column by column, because filters of convolutions store their columns contiguously.
    for (let column = 0; column < columns; column++) {
      let read = start + column * nStep
      let next = base + column
      for (let at = 0; at < k; at++) {
        to[next] = source[read]!
        next += PANEL
        read += kStep
      }
    }
  }
  for (let panel = 0; panel < whole; panel++) copy(panel, PANEL)
  if (n === whole * PANEL) return
  // The memory may have been used before.
  to.fill(0, whole * k * PANEL)
  copy(whole, n - whole * PANEL)
}

function givenOf({ given }: Value, form: string) {
  const parts = given as GivenConstant
  const { codes, view, packing } = parts
  const options = [form, codes, view, packing, parts.isTiled, parts.summed]
  const key = options.map((part) => JSON.stringify(part)).join(' ')
  return { ...parts, key }
}

function tiled({ data }: Tensor, dims: readonly number[]): Tensor {
  const [, channels, count] = dims as [number, number, number]
  return { dtype: 'f32', dims, data: tiledFilters(data as Float32Array, channels, count) }
}

/** The elements of a view in row-major order. */
function viewed(tensor: Tensor, { offset, dims, strides }: View): Tensor {
  const made = { ...tensor, dims, data: arrayOf(tensor.dtype, countOf(dims)) }
  const size = dims.at(-1) ?? 1
  const step = strides.at(-1) ?? 0
  const rows = walk(dims.slice(0, -1), strides.slice(0, -1), offset)
  // Elements of one class, so that the loop is compiled for it.
  copyRows(made.data as Float32Array, tensor.data as Float32Array, rows, size, step)
  return made
}

function copyRows(to: Float32Array, from: Float32Array, rows: Int32Array, size: number, step: number): void {
  let next = 0
  for (let row = 0; row < rows.length; row++) {
    let read = rows[row]!
    for (let at = 0; at < size; at++) {
      to[next++] = from[read]!
      read += step
    }
  }
}

const decoded = (dims: readonly number[], coded: Coded): Tensor => ({
  dtype: 'f32',
  dims,
  data: coded.floats(),
})

/** The elements of a constant, which are read from its file. */
export async function constantTensor(
  name: string,
  constant: Constant,
  signal?: AbortSignal,
): Promise<Tensor> {
  if (!isStored(constant)) return constant
  const { source, offset, byteLength, dtype, dims } = constant
  const bytes = new Uint8Array(byteLength)
  await readInto(source, bytes, offset, signal)
  return tensorFromBytes(source.name, name, dtype, dims, bytes, true)
}

/**
 * Throws `unsupported` for a number that cannot be represented in memory. `what`: the value that contains it.
 */
export function checkHeld(what: string, dtype: DType, data: Tensor['data']): void {
  const value = unheldOf(dtype, data)
  if (value === undefined) return
  throw new HalfbyteError(
    'unsupported',
    `${what} contains the number ${value}, ${WHY_UNHELD}; use smaller numbers, or a model without it`,
    { value: `${value}` },
  )
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
