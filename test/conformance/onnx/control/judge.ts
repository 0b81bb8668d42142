// Checks of a decoder. In: its form, and lengths. Out: whether it is rejected or matches ONNX Runtime, with
// prompts at once, in chunks with the cache, and token by token.
import { InferenceSession, Tensor } from 'onnxruntime-web'
import { bufferSource } from '../../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../../src/core/base/errors.ts'
import { largestDifference, logitsOf, withModel } from '../../testing/node-engine.ts'
import { byteTokenizer } from '../byte-tokenizer.ts'
import { openGraph } from '../open-graph.ts'
import { columnsOf, convName } from './convolutions.ts'
import { decoderBytes, HEAD_DIM, HIDDEN, kvHeadsOf, layersOf, pastName, VOCAB, vocabOf } from './decoder.ts'
import type { DecoderForm } from './form.ts'

export type Verdict =
  | { readonly is: 'refused'; readonly why: string }
  /** `positions`: the context length, if shorter than the default. */
  | { readonly is: 'equal'; readonly positions: number | undefined }
  | { readonly is: 'different'; readonly why: string }

/** Logits are a few units large; other positions or masks change them by tenths. */
const TOLERANCE = 5e-3
/** For graphs that round to f16 where the plan does not. */
const ROUNDED_TOLERANCE = 5e-2

export const idsOf = (count: number): number[] =>
  Array.from({ length: count }, (_, at) => (at * 37 + ((at * at) % 11) * 5 + 3) % VOCAB)

/**
 * Chunks are given as numbers of tokens. Lengths beyond the loaded model's context are skipped. `twin`: the
 * form for ONNX Runtime, if it does not support the original on a CPU. Default: the same.
 */
export async function judgeDecoder(
  form: DecoderForm,
  lengths: readonly number[],
  isRounded = false,
  twin = form,
): Promise<Verdict> {
  const bytes = decoderBytes(form)
  const opened = await open(bytes, vocabOf(form))
  if (typeof opened === 'string') return { is: 'refused', why: opened }
  const positions = opened.mostPositions
  const most = Math.min(positions ?? Infinity, contextOf(opened))
  const wanted = [...new Set(lengths.map((each) => Math.min(each, most)))].sort((a, b) => a - b)
  const longest = wanted.at(-1)!
  const ids = idsOf(longest)
  const found = await withModel(opened, { weights: 'f32', contextLength: longest + 1 }, (built) =>
    logitsOf(built, ids),
  )
  const runtime = await Runtime.open(twin === form ? bytes : decoderBytes(twin), twin)
  try {
    for (const chunks of runsOf(wanted, form.hasState ?? true)) {
      const why = await runtime.difference(ids, chunks, found, isRounded ? ROUNDED_TOLERANCE : TOLERANCE)
      if (why !== undefined) return { is: 'different', why: `${why} in chunks of [${chunks}]` }
    }
  } finally {
    await runtime.close()
  }
  return { is: 'equal', positions }
}

const contextOf = (file: Awaited<ReturnType<typeof openGraph>>): number =>
  (file.metadata.get('config') as unknown as { contextLength: number }).contextLength

async function open(bytes: Uint8Array, vocab: number) {
  try {
    return await openGraph([bufferSource('model.onnx', bytes), byteTokenizer(vocab)])
  } catch (error) {
    // A proof may exceed the limit of work for a file.
    if (isHalfbyteError(error) && /^(unsupported|out-of-memory)$/.test(error.code)) return error.message
    throw error
  }
}

/**
 * Runs each length at once, and the longest also in chunks that end at the other lengths, with single tokens
 * around these.
 */
function runsOf(lengths: readonly number[], hasState: boolean): number[][] {
  const whole = lengths.map((each) => [each])
  if (!hasState) return whole
  const chunks = lengths.map((each, at) => each - (lengths[at - 1] ?? 0)).filter((each) => each > 0)
  const singles = chunks.flatMap((size) => {
    const alone = Math.min(size, 3)
    return [...(size > alone ? [size - alone] : []), ...new Array<number>(alone).fill(1)]
  })
  return [...whole, chunks, singles]
}

class Runtime {
  readonly #session: InferenceSession
  readonly #form: DecoderForm

  private constructor(session: InferenceSession, form: DecoderForm) {
    this.#session = session
    this.#form = form
  }

  static async open(bytes: Uint8Array, form: DecoderForm): Promise<Runtime> {
    return new Runtime(await InferenceSession.create(bytes, { logSeverityLevel: 4 }), form)
  }

  close(): Promise<void> {
    return this.#session.release()
  }

  /** Undefined if all rows match. */
  async difference(
    ids: readonly number[],
    chunks: readonly number[],
    found: readonly Float32Array[],
    tolerance: number,
  ): Promise<string | undefined> {
    const vocab = vocabOf(this.#form)
    let past = 0
    let states = this.#empty()
    for (const tokens of chunks) {
      let made: Awaited<ReturnType<InferenceSession['run']>>
      try {
        made = await this.#session.run(this.#feeds(ids.slice(past, past + tokens), past, states))
      } catch (error) {
        return `ONNX Runtime fails on ${tokens} tokens after ${past}: ${String(error).slice(0, 120)}`
      }
      const logits = made['logits']!.data as Float32Array
      const rows = Array.from({ length: tokens }, (_, row) => logits.subarray(row * vocab, (row + 1) * vocab))
      const difference = largestDifference(found.slice(past, past + tokens), rows)
      if (!(difference <= tolerance))
        return `logits differ by ${difference} in ${tokens} tokens after ${past}`
      states = new Map(
        [...states.keys()].map((name) => [name, made[name.replace(/^past(_key_values)?/, 'present')]!]),
      )
      past += tokens
    }
    return undefined
  }

  #empty(): Map<string, Tensor> {
    if (this.#form.hasState === false) return new Map()
    const layers = Array.from({ length: layersOf(this.#form) }, (_, layer) => layer)
    const names = layers.flatMap((layer) => [
      pastName({ layer, kind: 'key' }),
      pastName({ layer, kind: 'value' }),
    ])
    const dims = [1, kvHeadsOf(this.#form), 0, HEAD_DIM]
    const pairs = names.map((name) => [name, new Tensor('float32', new Float32Array(), dims)] as const)
    const { convolution } = this.#form
    const columns = convolution === undefined ? 0 : columnsOf(convolution)
    const newest = new Tensor('float32', new Float32Array(HIDDEN * columns), [1, HIDDEN, columns])
    const convs = convolution === undefined ? [] : layers.map((layer) => [convName(layer), newest] as const)
    return new Map([...pairs, ...convs])
  }

  #feeds(ids: readonly number[], past: number, states: ReadonlyMap<string, Tensor>) {
    const tokens = ids.length
    const whole = (values: readonly number[]) =>
      new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length])
    const feeds: [string, Tensor][] = [
      ['input_ids', whole(ids)],
      ['attention_mask', whole(new Array<number>(past + tokens).fill(1))],
      ['position_ids', whole(ids.map((_, at) => past + at))],
      ...states,
    ]
    return Object.fromEntries(feeds.filter(([name]) => this.#session.inputNames.includes(name)))
  }
}
