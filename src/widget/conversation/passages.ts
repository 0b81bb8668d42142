// Passages. In: documents, a question, an engine. Out: the passages that are nearest to the question.
//
// Hidden states of a language model share a large common part, so passages are compared after their mean has
// been taken away. Small models place texts by their manner as much as by their matter; words that question
// and passage have in common, the rare ones above all, are therefore half of the score.
import type { Engine } from '../../api/engine.ts'
import { bestOf, commonWords, cutText, spread, wordsOf } from '../../chat-ui/passages.ts'
import type { Passage, WidgetDocument } from './entries.ts'

/** Passages for one question. */
const MOST_PASSAGES = 3
/** Passages for one call of `embed`: a page that stops waits for at most so many. */
const BATCH = 8

interface Indexed {
  readonly passages: readonly Passage[]
  readonly vectors: readonly Float32Array[]
  readonly words: readonly ReadonlySet<string>[]
}

export class PassageIndex {
  readonly #engine: Engine
  readonly #documents: readonly (string | WidgetDocument)[]
  #indexed: Promise<Indexed> | undefined

  constructor(engine: Engine, documents: readonly (string | WidgetDocument)[]) {
    this.#engine = engine
    this.#documents = documents
  }

  isOf(engine: Engine, documents: readonly (string | WidgetDocument)[]): boolean {
    return engine === this.#engine && documents === this.#documents
  }

  /** The nearest passages, best first. The first call reads all documents; `onProgress` counts passages. */
  async find(
    question: string,
    signal: AbortSignal,
    onProgress: (done: number, total: number) => void,
  ): Promise<readonly Passage[]> {
    this.#indexed ??= this.#read(signal, onProgress)
    const reading = this.#indexed
    reading.catch(() => {
      if (this.#indexed === reading) this.#indexed = undefined
    })
    const { passages, vectors, words } = await reading
    const [asked] = await this.#engine.embed([question], { signal })
    if (asked === undefined) return []
    const nearness = spread(cosines(asked, vectors))
    const shared = spread(commonWords(wordsOf(question), words))
    const scores = passages.map((_, index) => (nearness[index] ?? 0) + (shared[index] ?? 0))
    return bestOf(scores, MOST_PASSAGES).map((index) => passages[index] as Passage)
  }

  async #read(signal: AbortSignal, onProgress: (done: number, total: number) => void): Promise<Indexed> {
    const passages = this.#documents.flatMap(cut)
    const texts = passages.map(({ title, text }) => (title === undefined ? text : `${title}\n${text}`))
    const vectors: Float32Array[] = []
    for (let done = 0; done < texts.length; done += BATCH) {
      onProgress(done, texts.length)
      vectors.push(...(await this.#engine.embed(texts.slice(done, done + BATCH), { signal })))
    }
    return { passages, vectors, words: texts.map(wordsOf) }
  }
}

/** A document's passages, each with where it comes from. */
export function cut(document: string | WidgetDocument): Passage[] {
  const { text, title, url } = typeof document === 'string' ? { text: document } : document
  return cutText(text).map((part) => ({ text: part, title, url }))
}

/** Cosines with each vector, after the vectors' mean was taken away. */
function cosines(asked: Float32Array, vectors: readonly Float32Array[]): number[] {
  const mean = asked.map(
    (_, at) => vectors.reduce((sum, vector) => sum + (vector[at] ?? 0), 0) / vectors.length,
  )
  const centred = (vector: Float32Array) => vector.map((value, at) => value - (mean[at] ?? 0))
  const dot = (a: Float32Array, b: Float32Array) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
  const from = centred(asked)
  const length = (vector: Float32Array) => Math.sqrt(dot(vector, vector)) || 1
  return vectors.map((vector) => {
    const to = centred(vector)
    return dot(from, to) / (length(from) * length(to))
  })
}
