// Sessions of onnxruntime-web, one for each foreign part of a graph. The package is loaded when the first
// session is opened.
import type { InferenceSession } from 'onnxruntime-web'
import { HalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { type Dim, dimFrom } from '../../onnx/ir/dims.ts'
import { type Constant, isStored, type Node, readsOf, type Type } from '../../onnx/ir/graph.ts'
import type { Tensor } from '../../onnx/ir/tensor.ts'
import { tensorBytes, type WrittenModel, writeModel } from '../../onnx/proto/write-model.ts'
import { constantTensor } from '../run/constant-tensor.ts'
import { checkPassed, dtypeFrom, fromOrt, toOrtFeeds } from './ort-tensors.ts'
import type { Part } from './split.ts'

export { withFloatProducts } from './float-products.ts'

type Runtime = typeof import('onnxruntime-web/wasm')

/** Maximum number of open sessions; the oldest is released first. */
const MAX_SESSIONS = 32
/** The runtime's value for an unknown size: -1 as an unsigned number. */
const UNKNOWN = 2 ** 32 - 1
/** A protobuf message is at most 2 GiB. */
const MAX_BYTES = 2 ** 31 - 1
/** Errors already contain everything that the runtime would log. */
const QUIET = { logSeverityLevel: 4 } as const
/** Constants with at most this many elements are compared by their bytes. */
const MAX_COMPARED = 1024

/** Throws `unsupported` if the package is missing; the error has the command that installs it. */
async function loadRuntime(): Promise<Runtime> {
  try {
    const runtime = await import('onnxruntime-web/wasm')
    // Its workers would need scripts and a policy of their own. A number that the page has set is kept.
    runtime.env.wasm.numThreads ??= 1
    return runtime
  } catch (cause) {
    throw new HalfbyteError(
      'unsupported',
      `fallback: 'ort' needs the package onnxruntime-web, which did not load: ${reasonOf(cause)}; install it with npm install onnxruntime-web, or load the network without fallback`,
      { package: 'onnxruntime-web' },
      { cause },
    )
  }
}

/** Large constants are compared by identity, others by contents. */
class Marks {
  readonly #marks = new WeakMap<Constant, number>()
  #count = 0

  of(constant: Constant): Uint8Array {
    if (!isStored(constant) && constant.data.length <= MAX_COMPARED) return tensorBytes(constant)
    const mark = this.#marks.get(constant) ?? this.#count++
    this.#marks.set(constant, mark)
    return Uint8Array.of(0, ...new TextEncoder().encode(`large ${mark}`))
  }
}

export class Sessions {
  readonly #marks = new Marks()
  /** The part as text, for comparison. */
  readonly #keys = new WeakMap<Part, string>()
  readonly #open = new Map<string, Promise<InferenceSession>>()
  #runtime: Promise<Runtime> | undefined

  /**
   * The types and sizes of a part's outputs, as far as they are known before it runs. Throws `unsupported`
   * if the package is missing or doesn't support a node, `network` if it does not start, and
   * `out-of-memory`. `types`: the types of the inputs, with or without sizes.
   */
  async outputTypes(
    part: Part,
    types: ReadonlyMap<string, Type>,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, Type>> {
    const session = await this.#session(part, types, signal)
    const symbols = new Set([...types.values()].flatMap(({ dims }) => dims ?? []))
    return new Map(
      session.outputMetadata.map((made): [string, Type] => {
        const maker = makerOf(part, made.name)
        if (!made.isTensor) throw unknownTo([maker], `${made.name} is not a tensor`)
        const dims = made.shape.map((size, axis): Dim => {
          const given = typeof size === 'string' ? dimFrom(size) : size
          const isKnown = typeof given === 'string' ? symbols.has(given) : given !== UNKNOWN
          // The names of symbols that the runtime invents are local to a session.
          return isKnown ? given : dimFrom(`[${made.name} ${axis}]`)
        })
        // An empty list may also mean that the rank is unknown.
        return [
          made.name,
          { dtype: dtypeFrom(made.type, made.name, maker), dims: dims.length === 0 ? undefined : dims },
        ]
      }),
    )
  }

  /** Throws what `outputTypes` throws, and `format` where a node fails on these values. */
  async run(
    part: Part,
    types: ReadonlyMap<string, Type>,
    values: ReadonlyMap<string, Tensor>,
    signal?: AbortSignal,
  ): Promise<Map<string, Tensor>> {
    const session = await this.#session(part, types, signal)
    const { Tensor } = await this.#loaded()
    signal?.throwIfAborted()
    const feeds = toOrtFeeds(
      Tensor,
      part.inputs.map((name) => [name, values.get(name)!]),
    )
    try {
      const made = await session.run(feeds, QUIET)
      return new Map(part.outputs.map((name) => [name, fromOrt(made[name]!, name, makerOf(part, name))]))
    } catch (cause) {
      throw failed(part.nodes, cause)
    }
  }

  async close(): Promise<void> {
    const open = [...this.#open.values()]
    this.#open.clear()
    await Promise.all(open.map(release))
  }

  #loaded(): Promise<Runtime> {
    this.#runtime ??= loadRuntime()
    // The next run tries again.
    this.#runtime.catch(() => {
      this.#runtime = undefined
    })
    return this.#runtime
  }

  #keyOf(model: WrittenModel): string {
    return new TextDecoder('latin1').decode(writeModel(model, (constant) => this.#marks.of(constant)))
  }

  /** Equal parts share one session for all shapes. A part always has the same types. */
  async #session(
    part: Part,
    types: ReadonlyMap<string, Type>,
    signal?: AbortSignal,
  ): Promise<InferenceSession> {
    const { nodes, constants, outputs } = part
    const model: WrittenModel = { nodes, constants, outputs, inputs: typedInputs(part, types) }
    const key = this.#keys.get(part) ?? this.#keyOf(model)
    this.#keys.set(part, key)
    const known = this.#open.get(key)
    if (known !== undefined) return known
    const runtime = await this.#loaded()
    const opened = modelBytes(model, signal).then((bytes) => create(runtime, bytes, nodes))
    this.#open.set(key, opened)
    opened.catch(() => this.#open.delete(key))
    for (const [oldest, session] of this.#open)
      if (this.#open.size > MAX_SESSIONS && oldest !== key) {
        this.#open.delete(oldest)
        await release(session)
      }
    return opened
  }
}

/** A session that failed to open has nothing to release. */
const release = (session: Promise<InferenceSession>): Promise<void> =>
  session.then(
    (open) => open.release(),
    () => undefined,
  )

const makerOf = ({ nodes }: Part, name: string): Node =>
  nodes.find(({ outputs }) => outputs.includes(name)) ?? nodes[0]!

function typedInputs({ nodes, inputs }: Part, types: ReadonlyMap<string, Type>): ReadonlyMap<string, Type> {
  return new Map(
    inputs.map((name) => {
      const reader = nodes.find((node) => readsOf(node).includes(name))!
      const type = types.get(name)
      if (type === undefined) throw unknownTo([reader], `the type of its input ${name} is not known`)
      checkPassed(type.dtype, name, reader)
      return [name, type]
    }),
  )
}

async function modelBytes(model: WrittenModel, signal?: AbortSignal): Promise<Uint8Array> {
  const bytes = new Map<Constant, Uint8Array>()
  let total = 0
  for (const [name, constant] of model.constants) {
    const tensor = await constantTensor(name, constant, signal)
    bytes.set(constant, tensorBytes(tensor))
    total += bytes.get(constant)!.byteLength
    if (total > MAX_BYTES)
      throw new HalfbyteError(
        'out-of-memory',
        `the constants of nodes for onnxruntime-web take ${total} bytes, but its limit is ${MAX_BYTES}; export the model with these nodes replaced`,
        { bytes: total, most: MAX_BYTES },
      )
  }
  return writeModel(model, (constant) => bytes.get(constant)!)
}

async function create(
  { InferenceSession }: Runtime,
  bytes: Uint8Array,
  nodes: readonly Node[],
): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(bytes, { executionProviders: ['wasm'], ...QUIET })
  } catch (cause) {
    if (isMemory(cause)) throw failed(nodes, cause)
    if (/no available backend/i.test(reasonOf(cause))) throw notStarted(cause)
    throw unknownTo(nodes, reasonOf(cause), cause)
  }
}

const MAX_NAMED = 4

const named = (nodes: readonly Node[]): string => {
  const names = nodes.slice(0, MAX_NAMED).map(({ name, op }) => `${name} (${op})`)
  return `${names.join(', ')}${nodes.length > MAX_NAMED ? ` and ${nodes.length - MAX_NAMED} more` : ''}`
}

const unknownTo = (nodes: readonly Node[], why: string, cause?: unknown): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `neither Halfbyte nor onnxruntime-web runs ${named(nodes)}: ${why}; export the model without it`,
    { nodes: nodes.map(({ name }) => name) },
    { cause },
  )

/** onnxruntime-web does not retry: later loads all report the first failure. */
const notStarted = (cause: unknown): HalfbyteError =>
  new HalfbyteError(
    'network',
    `onnxruntime-web did not start: ${reasonOf(cause)}; check that its .wasm file is in the build and that the page's security policy allows fetching it, then reload the page`,
    { package: 'onnxruntime-web' },
    { cause },
  )

const isMemory = (cause: unknown): boolean => /bad_alloc|out of memory|allocat/i.test(reasonOf(cause))

const failed = (nodes: readonly Node[], cause: unknown): HalfbyteError => {
  const isFull = isMemory(cause)
  return new HalfbyteError(
    isFull ? 'out-of-memory' : 'format',
    `onnxruntime-web failed in ${named(nodes)}: ${reasonOf(cause)}; ${isFull ? 'give smaller inputs or close other tabs' : 'check the values of the inputs'}`,
    { nodes: nodes.map(({ name }) => name) },
    { cause },
  )
}
