// The search model: a sentence encoder that compares passages with a question. It loads with the first
// question about a long file.
import { Embedder } from '../../../../src/encoders/embedder/embedder.ts'
import { type Encoder, EncoderSlot } from '../../../../src/ui/chat/encoder-slot.ts'
import { cosine } from '../../../../src/ui/chat/library.ts'

const slot = new EncoderSlot(() => (source, options) => Embedder.load(source, options))
/** Passage vectors of the current encoder, for later questions about the same files. */
let known = { encoder: undefined as Encoder | undefined, vectors: new Map<string, Float32Array>() }
/** Passages per call: on a stop, the page waits for at most this many. */
const BATCH = 32
/** Maximum number of cached vectors; 1.5 kB each for MiniLM. */
const MOST_VECTORS = 20_000

/**
 * How near each passage is to the question: the cosine of their vectors. `onProgress` gets the number of
 * passages with vectors. Rejects like `Embedder.load` and `embed`.
 */
export async function nearness(
  address: string,
  question: string,
  passages: readonly string[],
  signal: AbortSignal,
  onProgress: (done: number) => void,
): Promise<readonly number[]> {
  const encoder = await slot.of(address, {})
  if (known.encoder !== encoder) known = { encoder, vectors: new Map() }
  const { vectors } = known
  if (vectors.size > MOST_VECTORS) vectors.clear()
  const fresh = passages.filter((passage) => !vectors.has(passage))
  for (let at = 0; at < fresh.length; at += BATCH) {
    onProgress(passages.length - fresh.length + at)
    const some = fresh.slice(at, at + BATCH)
    const made = await encoder.embed(some, { kind: 'document', signal })
    for (const [index, passage] of some.entries()) vectors.set(passage, made.vectors[index]!)
  }
  const asked = (await encoder.embed([question], { kind: 'query', signal })).vectors[0]!
  return passages.map((passage) => cosine(asked, vectors.get(passage)!))
}
