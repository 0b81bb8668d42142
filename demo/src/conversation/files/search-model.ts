// The search model: a sentence encoder that compares passages with a question. It loads with the first
// question about a long file.
import { Embedder } from '../../../../src/api/embedder/embedder.ts'

/** The encoder in use, by its address. */
let used: { readonly address: string; readonly embedder: Promise<Embedder> } | undefined
/** Vectors of passages, for later questions about the same files. */
let vectors = new Map<string, Float32Array>()
/** Passages for one call: a page that stops waits for at most so many. */
const BATCH = 32
/** Vectors that are kept, of 1.5 kB each for MiniLM. */
const MOST_VECTORS = 20_000

/** Loads the encoder at `address`, in the place of another one. Rejects as `Embedder.load` does. */
function encoderAt(address: string): Promise<Embedder> {
  if (used?.address === address) return used.embedder
  void used?.embedder.then((embedder) => embedder.dispose()).catch(() => undefined)
  const embedder = Embedder.load(address)
  const taken = { address, embedder }
  used = taken
  vectors = new Map()
  embedder.catch(() => {
    if (used === taken) used = undefined
  })
  return embedder
}

/**
 * How near each passage is to the question: the cosine of their vectors. `onProgress` counts the passages
 * that have one. Rejects as `Embedder.load` and `embed` do.
 */
export async function nearness(
  address: string,
  question: string,
  passages: readonly string[],
  signal: AbortSignal,
  onProgress: (done: number) => void,
): Promise<readonly number[]> {
  const embedder = await encoderAt(address)
  if (vectors.size > MOST_VECTORS) vectors.clear()
  const fresh = passages.filter((passage) => !vectors.has(passage))
  for (let at = 0; at < fresh.length; at += BATCH) {
    onProgress(passages.length - fresh.length + at)
    const some = fresh.slice(at, at + BATCH)
    const made = await embedder.embed(some, { kind: 'document', signal })
    for (const [index, passage] of some.entries()) vectors.set(passage, made.vectors[index]!)
  }
  const asked = (await embedder.embed([question], { kind: 'query', signal })).vectors[0]!
  return passages.map((passage) => cosine(asked, vectors.get(passage)!))
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  let aa = 0
  let bb = 0
  for (let at = 0; at < a.length; at++) {
    dot += a[at]! * b[at]!
    aa += a[at]! ** 2
    bb += b[at]! ** 2
  }
  return dot / (Math.sqrt(aa * bb) || 1)
}
