// The page of the embeddings bench: loads an encoder with Halfbyte and with transformers.js, and times both
// in turn.
import { Embedder } from '../../../src/encoders/embedder/embedder.ts'

export type Kind = 'halfbyte f32' | 'halfbyte w8' | 'transformers.js fp32' | 'transformers.js q8'

/** The part of transformers.js that the page uses. */
interface Peer {
  readonly env: {
    allowRemoteModels: boolean
    allowLocalModels: boolean
    localModelPath: string
    readonly backends: { readonly onnx: { readonly wasm: { numThreads?: number; wasmPaths?: string } } }
  }
  readonly pipeline: (
    task: 'feature-extraction',
    model: string,
    options: { dtype: 'fp32' | 'q8'; device: 'wasm' },
  ) => Promise<Extractor>
}
interface Extractor {
  (
    texts: readonly string[],
    options: { pooling: 'mean'; normalize: true },
  ): Promise<{ readonly data: Float32Array; readonly dims: readonly number[] }>
  readonly tokenizer: { encode(text: string): readonly number[] }
}

export interface Loading {
  readonly threads: number
  /** Addresses of the parent of the model's folder, of transformers.js, and of ONNX Runtime's modules. */
  readonly models: string
  readonly peer: string
  readonly runtime: string
}
export interface Loaded {
  /** Number of threads on which Halfbyte runs. */
  readonly threads: number
  readonly build: string
}

const NAME = 'minilm'
/** Embeds texts and returns their vectors, concatenated. */
const embed = new Map<Kind, (texts: readonly string[]) => Promise<Float32Array>>()
const countTokens = new Map<Kind, (text: string) => Promise<number>>()

async function loadAll({ threads, models, peer, runtime }: Loading): Promise<Loaded> {
  let about: Loaded | undefined
  for (const weights of ['f32', 'w8'] as const) {
    const embedder = await Embedder.load(`${models}${NAME}/`, { weights, threads, cache: 'none' })
    about = { threads: embedder.threads, build: embedder.build }
    embed.set(`halfbyte ${weights}`, async (texts) => joined((await embedder.embed(texts)).vectors))
    countTokens.set(`halfbyte ${weights}`, async (text) => (await embedder.embed([text])).tokens[0] ?? 0)
  }
  const { env, pipeline } = (await import(/* @vite-ignore */ peer)) as Peer
  // transformers.js interprets an absolute address as a remote model.
  const localModelPath = new URL(models).pathname
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath })
  Object.assign(env.backends.onnx.wasm, { numThreads: threads, wasmPaths: runtime })
  for (const dtype of ['fp32', 'q8'] as const) {
    const extractor = await pipeline('feature-extraction', NAME, { dtype, device: 'wasm' })
    const options = { pooling: 'mean', normalize: true } as const
    embed.set(`transformers.js ${dtype}`, async (texts) => (await extractor(texts, options)).data)
    countTokens.set(`transformers.js ${dtype}`, async (text) => extractor.tokenizer.encode(text).length)
  }
  return about!
}

function joined(vectors: readonly Float32Array[]): Float32Array {
  const width = vectors[0]?.length ?? 0
  const all = new Float32Array(vectors.length * width)
  for (const [index, vector] of vectors.entries()) all.set(vector, index * width)
  return all
}

const tokensOf = (kind: Kind, text: string): Promise<number> => countTokens.get(kind)!(text)

/** The largest difference between values of the same vectors. */
async function differenceOf(one: Kind, other: Kind, texts: readonly string[]): Promise<number> {
  const a = await embed.get(one)!(texts)
  const b = await embed.get(other)!(texts)
  if (a.length !== b.length) throw new Error(`${one} has ${a.length} values and ${other} ${b.length}`)
  return a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at]!)), 0)
}

/** Wall-clock milliseconds per call, averaged over `calls` calls. */
async function timeOf(kind: Kind, texts: readonly string[], calls: number): Promise<number> {
  const start = performance.now()
  for (let call = 0; call < calls; call++) await embed.get(kind)!(texts)
  return (performance.now() - start) / calls
}

const bench = { loadAll, tokensOf, differenceOf, timeOf }

declare global {
  interface Window {
    embeddings?: typeof bench
  }
}
window.embeddings = bench
