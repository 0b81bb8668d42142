// Runs plans: the functions of their kernels, the constants, and one arena for the values of a run.
import { HalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Graph } from '../../onnx/ir/graph.ts'
import { arrayOf, countOf, rounder, type Tensor } from '../../onnx/ir/tensor.ts'
import { emitKernel, PARAMETERS } from '../emit/emit.ts'
import {
  type KernelCall,
  PANEL,
  PRODUCT_WORDS,
  productWord,
  RECORD,
  recordWords,
  STREAM_WORDS,
  type StreamPlace,
  sizesWord,
  streamWord,
  TILE_ROWS,
} from '../emit/kernel.ts'
import type { Value } from '../loops/program.ts'
import { aligned } from '../plan/memory.ts'
import type { Plan, Step } from '../plan/plan.ts'
import { moduleBytes } from '../wasm/assembler.ts'
import { Constants, fill } from './constants.ts'

type KernelFunction = (record: number, first: number, last: number) => void

const PAGE = 65_536
/** The first bytes stay empty, so that no address is 0. */
const START = 64
const MOST_BYTES = 2 ** 32 - PAGE

export interface MachineOptions {
  /** Whether functions may use fused multiply-add, an instruction of relaxed SIMD. */
  readonly fuse: boolean
}

/** A plan whose functions and constants are there. */
export interface LoadedPlan {
  readonly plan: Plan
  readonly graph: Graph
}

export class Machine {
  readonly #memory = new WebAssembly.Memory({ initial: 1 })
  readonly #fuse: boolean
  readonly #functions = new Map<string, KernelFunction>()
  readonly #constants: Constants
  #top = START
  /** The plan whose records are in the arena, and the addresses of these. */
  #current: { readonly plan: Plan; readonly base: number; readonly records: readonly number[] } | undefined
  #codeBytes = 0

  constructor({ fuse }: MachineOptions) {
    this.#fuse = fuse
    this.#constants = new Constants(
      () => this.#memory.buffer,
      (bytes) => this.#allocate(bytes),
    )
  }

  /** Bytes of linear memory, and of the functions that were made. */
  get sizes(): { readonly memoryBytes: number; readonly codeBytes: number; readonly functions: number } {
    const { byteLength } = this.#memory.buffer
    return { memoryBytes: byteLength, codeBytes: this.#codeBytes, functions: this.#functions.size }
  }

  /** Makes the functions that the plan lacks, and loads its constants. */
  async load(plan: Plan, graph: Graph, signal?: AbortSignal): Promise<LoadedPlan> {
    for (const { call } of plan.steps) {
      for (const { at } of call.streams) {
        if ('value' in at && isConstant(at.value)) await this.#constants.loadPlain(graph, at.value, signal)
      }
      await this.#loadSides(call, graph, signal)
    }
    await this.#emit(plan)
    return { plan, graph }
  }

  async #loadSides({ kernel, product }: KernelCall, graph: Graph, signal?: AbortSignal): Promise<void> {
    if (product === undefined) return
    for (const [side, { at }] of [
      ['a', product.a],
      ['b', product.b],
    ] as const) {
      if (!('value' in at) || !isConstant(at.value)) continue
      if (side === 'b' && kernel.product?.b === 'packed')
        await this.#constants.loadPacked(graph, product.matrix, signal)
      else await this.#constants.loadPlain(graph, at.value, signal)
    }
  }

  async #emit({ steps }: Plan): Promise<void> {
    const missing = new Map(
      steps.filter(({ key }) => !this.#functions.has(key)).map(({ key, call }) => [key, call.kernel]),
    )
    if (missing.size === 0) return
    const bodies = [...missing.values()].map((kernel) => emitKernel(kernel, this.#fuse))
    const bytes = moduleBytes(bodies, { parameters: PARAMETERS })
    this.#codeBytes += bytes.byteLength
    const { instance } = await WebAssembly.instantiate(bytes, { env: { memory: this.#memory } })
    for (const [index, key] of [...missing.keys()].entries())
      this.#functions.set(key, instance.exports[`f${index}`] as KernelFunction)
  }

  /** Throws `format` for an index outside of its table, `out-of-memory`. */
  run({ plan, graph }: LoadedPlan, feeds: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    const { base, records } = this.#place(plan, graph)
    const { buffer } = this.#memory
    const addressOf = (value: Value): number => base + plan.places.get(value)!
    for (const [name, value] of plan.program.inputs) {
      // Inputs that nothing reads have no place.
      if (plan.places.has(value)) fill(buffer, addressOf(value), value.kind, feeds.get(name)!.data)
    }
    const words = new Int32Array(buffer)
    for (const [index, { key, units, call, nodes }] of plan.steps.entries()) {
      const record = records[index]!
      this.#functions.get(key)!(record, 0, units)
      if (call.kernel.streams.some((stream) => stream.index !== undefined) && words[record / 4] !== 0) {
        words[record / 4] = 0
        throw new HalfbyteError(
          'format',
          `an index of ${nodes.join(', ')} is outside of its table; check the ids that the inputs have`,
          { nodes: nodes.join() },
        )
      }
    }
    return new Map(
      plan.program.outputs.map(({ name, ref, dtype }) => [
        name,
        readTensor(buffer, addressOf(ref.value), ref.value.kind, dtype, ref.view.dims),
      ]),
    )
  }

  /** Writes the plan's records, unless they are there. */
  #place(plan: Plan, graph: Graph) {
    const base = aligned(this.#top)
    if (this.#current?.plan === plan && this.#current.base === base) return this.#current
    const recordBytes = plan.steps.map(({ call }) => aligned(4 * recordWords(call.kernel)))
    const total = recordBytes.reduce((sum, bytes) => sum + bytes, plan.arenaBytes + plan.scratchBytes)
    this.#grow(base + total)
    const scratch = base + plan.arenaBytes
    let next = scratch + plan.scratchBytes
    const records = recordBytes.map((bytes) => {
      next += bytes
      return next - bytes
    })
    for (const [index, step] of plan.steps.entries()) {
      const addressOf = ({ at }: Pick<StreamPlace, 'at'>): number => {
        if (!('value' in at)) return scratch + at.scratch
        const { value, offset } = at
        const start = isConstant(value) ? this.#constants.plain(graph, value) : base + plan.places.get(value)!
        return start + 4 * offset
      }
      this.#write(step, records[index]!, { scratch, addressOf, graph })
    }
    this.#current = { plan, base, records }
    return this.#current
  }

  #write(
    { call }: Step,
    record: number,
    room: {
      readonly scratch: number
      readonly addressOf: (place: Pick<StreamPlace, 'at'>) => number
      readonly graph: Graph
    },
  ): void {
    const { kernel, outer, inner, streams, sizes, product } = call
    const words = new Int32Array(this.#memory.buffer, record, recordWords(kernel)).fill(0)
    words[RECORD.inner] = inner
    words.set(outer, RECORD.outer)
    for (const [index, stream] of streams.entries()) {
      const word = streamWord(kernel, index)
      words[word + STREAM_WORDS.base] = room.addressOf(stream)
      words[word + STREAM_WORDS.inner] = 4 * stream.inner
      words[word + STREAM_WORDS.index] = 4 * (stream.index?.step ?? 0)
      words[word + STREAM_WORDS.size] = stream.index?.size ?? 0
      words.set(
        stream.steps.map((step) => 4 * step),
        word + STREAM_WORDS.steps,
      )
    }
    new Float32Array(this.#memory.buffer, record).set(sizes, sizesWord(kernel))
    if (product === undefined) return
    const word = productWord(kernel)
    const isPacked = kernel.product?.b === 'packed'
    const at = (name: keyof typeof PRODUCT_WORDS): number => word + PRODUCT_WORDS[name]
    words[at('m')] = product.m
    words[at('k')] = product.k
    words[at('a')] = room.addressOf(product.a)
    words[at('aRow')] = 4 * product.a.row
    words[at('aK')] = 4 * product.a.k
    words[at('b')] = isPacked ? this.#constants.packed(room.graph, product.matrix) : room.addressOf(product.b)
    words[at('bK')] = 4 * product.b.k
    words[at('bColumn')] = 4 * product.b.column
    words[at('tile')] = room.scratch
    words[at('panel')] = room.scratch + 4 * PANEL * TILE_ROWS
    words.set(
      product.a.steps.map((step) => 4 * step),
      word + PRODUCT_WORDS.aSteps,
    )
    words.set(
      (isPacked ? packedSteps(product) : product.b.steps).map((step) => 4 * step),
      word + PRODUCT_WORDS.aSteps + kernel.outer,
    )
  }

  #allocate(bytes: number): number {
    const address = aligned(this.#top)
    // Vectors that end a row may be read beyond it.
    this.#top = address + bytes + START
    this.#grow(this.#top)
    return address
  }

  #grow(bytes: number): void {
    const pages = Math.ceil((bytes - this.#memory.buffer.byteLength) / PAGE)
    if (pages <= 0) return
    try {
      if (bytes > MOST_BYTES) throw new RangeError('32-bit addresses end at 4 GiB')
      this.#memory.grow(pages)
    } catch (cause) {
      throw new HalfbyteError(
        'out-of-memory',
        `the network needs ${bytes} bytes of memory, which were refused (${reasonOf(cause)}); give smaller inputs or close other tabs`,
        { bytes },
        { cause },
      )
    }
  }
}

const isConstant = ({ given }: Value): boolean => given !== undefined && 'constant' in given

/** Steps from one packed matrix of a batch to the next. */
function packedSteps({ k, n, b, matrix }: NonNullable<KernelCall['product']>): number[] {
  let step = Math.ceil(n / PANEL) * PANEL * k
  const steps: number[] = []
  for (let axis = b.steps.length - 1; axis >= 0; axis--) {
    steps[axis] = b.steps[axis] === 0 ? 0 : step
    if (b.steps[axis] !== 0) step *= matrix.view.dims[axis]!
  }
  return steps
}

function readTensor(
  memory: ArrayBuffer,
  address: number,
  kind: Value['kind'],
  dtype: Tensor['dtype'],
  dims: readonly number[],
): Tensor {
  const count = countOf(dims)
  const made = { dtype, dims, data: arrayOf(dtype, count) }
  const from =
    kind === 'f32' ? new Float32Array(memory, address, count) : new Int32Array(memory, address, count)
  const { data } = made
  if (data instanceof BigInt64Array || data instanceof BigUint64Array)
    for (let at = 0; at < count; at++) data[at] = BigInt(from[at]!)
  else if (dtype === 'f16' || dtype === 'bf16') data.set(from.map(rounder(dtype)))
  else data.set(from)
  return made
}
