// Makes the feeds of ONNX Runtime Web. In: a session, ids. Out: logits of the last token. Passes each run's
// state to the next.

export type TensorData = Float32Array | Int32Array | BigInt64Array | readonly number[]
export interface OrtTensor {
  readonly data: ArrayLike<number>
  readonly dims: readonly number[]
}
interface InputMetadata {
  readonly name: string
  readonly type: string
}
export interface OrtSession {
  readonly inputMetadata: readonly InputMetadata[]
  run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>
}
/** The part of the package used here. */
export interface Ort {
  readonly env: { readonly wasm: { numThreads: number; wasmPaths?: string } }
  readonly Tensor: new (type: string, data: TensorData, shape: readonly number[]) => OrtTensor
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<OrtSession> }
}

/** One text in a session. */
export class OrtText {
  readonly #ort: Ort
  readonly #session: OrtSession
  #states: Readonly<Record<string, OrtTensor>>
  #total = 0

  constructor(ort: Ort, session: OrtSession, { kvHeads, headDim }: { kvHeads: number; headDim: number }) {
    this.#ort = ort
    this.#session = session
    const empty = session.inputMetadata
      .filter(({ name }) => name.startsWith('past_'))
      .map(({ name, type }) => [name, new ort.Tensor(type, [], [1, kvHeads, 0, headDim])] as const)
    this.#states = Object.fromEntries(empty)
  }

  /** Processes the ids after those of earlier calls. */
  async read(ids: readonly number[]): Promise<Float32Array> {
    this.#total += ids.length
    const { Tensor } = this.#ort
    const total = this.#total
    const first = total - ids.length
    const longs = (values: readonly number[]) =>
      new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length])
    const feeds: Readonly<Record<string, () => OrtTensor>> = {
      ids: () => longs(ids),
      input_ids: () => longs(ids),
      position_ids: () => longs(ids.map((_, index) => first + index)),
      attention_mask: () => longs(Array<number>(total).fill(1)),
      last: () => new Tensor('int32', Int32Array.of(total - 1), [1]),
      total: () => new Tensor('int32', Int32Array.of(total), []),
    }
    const fed = this.#session.inputMetadata.flatMap(({ name }) => {
      const made = feeds[name]?.()
      return made === undefined ? [] : [[name, made] as const]
    })
    const { logits, ...present } = await this.#session.run({ ...Object.fromEntries(fed), ...this.#states })
    this.#states = Object.fromEntries(Object.entries(present).map(([name, tensor]) => [pastOf(name), tensor]))
    if (logits === undefined) throw new Error('the graph has no logits')
    const rows = Float32Array.from(logits.data)
    return rows.subarray(rows.length - logits.dims.at(-1)!)
  }
}

/** The input to which an output is fed back. */
const pastOf = (present: string): string =>
  present.startsWith('present.') ? present.replace('present', 'past_key_values') : `past_${present}`
