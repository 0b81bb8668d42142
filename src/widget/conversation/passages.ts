// Passages. In: documents, a question, an engine. Out: the passages that are nearest to the question.
//
// An encoder places texts by their matter, so its cosines are the score. Hidden states of a language model
// share a large common part, so passages are compared after their mean has been taken away. Small models
// place texts by their manner as much as by their matter; words that question and passage have in common,
// the rare ones above all, are therefore half of the score.
import type { Engine } from '../../api/engine.ts'
import { bestOf, commonWords, cutText, spread, wordsOf } from '../../chat-ui/passages.ts'
import type { Encoder } from './encoder-slot.ts'
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
  readonly #encoder: Encoder | undefined
  #indexed: Promise<Indexed> | undefined

  constructor(engine: Engine, documents: readonly (string | WidgetDocument)[], encoder: Encoder | undefined) {
    this.#engine = engine
    this.#documents = documents
    this.#encoder = encoder
  }

  isOf(
    engine: Engine,
    documents: readonly (string | WidgetDocument)[],
    encoder: Encoder | undefined,
  ): boolean {
    return engine === this.#engine && documents === this.#documents && encoder === this.#encoder
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
    const [asked] = await this.#embed([question], 'query', signal)
    if (asked === undefined) return []
    const scores =
      this.#encoder === undefined
        ? sums(spread(cosines(asked, centred(vectors))), spread(commonWords(wordsOf(question), words)))
        : cosines(asked, { vectors })
    return bestOf(scores, MOST_PASSAGES).map((index) => passages[index] as Passage)
  }

  async #read(signal: AbortSignal, onProgress: (done: number, total: number) => void): Promise<Indexed> {
    const passages = this.#documents.flatMap(cut)
    const texts = passages.map(({ title, text }) => (title === undefined ? text : `${title}\n${text}`))
    const vectors: Float32Array[] = []
    for (let done = 0; done < texts.length; done += BATCH) {
      onProgress(done, texts.length)
      vectors.push(...(await this.#embed(texts.slice(done, done + BATCH), 'document', signal)))
    }
    return { passages, vectors, words: texts.map(wordsOf) }
  }

  async #embed(
    texts: readonly string[],
    kind: 'query' | 'document',
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    if (this.#encoder === undefined) return this.#engine.embed(texts, { signal })
    return (await this.#encoder.embed(texts, { kind, signal })).vectors
  }
}

/** A document's passages, each with where it comes from. */
export function cut(document: string | WidgetDocument): Passage[] {
  const { text, title, url } = typeof document === 'string' ? { text: document } : document
  const texts = cutText(text)
  const parts = texts.length
  return texts.map((part, index) => ({
    ...{ text: part, title, url },
    ...(parts > 1 && { part: index + 1, parts }),
  }))
}

interface Centred {
  readonly vectors: readonly Float32Array[]
  /** What is taken away from each vector, and from what they are compared with. Default: nothing. */
  readonly mean?: Float32Array
}

function centred(vectors: readonly Float32Array[]): Centred {
  const [first = new Float32Array()] = vectors
  const mean = first.map((_, at) => vectors.reduce((sum, vector) => sum + vector[at]!, 0) / vectors.length)
  return { vectors, mean }
}

/** Cosines with each vector. */
function cosines(asked: Float32Array, { vectors, mean }: Centred): number[] {
  const moved = (vector: Float32Array) =>
    mean === undefined ? vector : vector.map((value, at) => value - mean[at]!)
  const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0)
  const from = moved(asked)
  const length = (vector: Float32Array) => Math.sqrt(dot(vector, vector)) || 1
  return vectors.map((vector) => {
    const to = moved(vector)
    return dot(from, to) / (length(from) * length(to))
  })
}

const sums = (one: readonly number[], other: readonly number[]): number[] =>
  one.map((value, index) => value + other[index]!)
