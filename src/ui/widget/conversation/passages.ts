// Passages. In: documents, a question, an engine. Out: the passages nearest to the question.
//
// An encoder embeds texts by content, so its cosines are the score. Hidden states of a language model share a
// large common part, so passages are compared after subtracting their mean. Small models embed texts by style
// as much as by content; so half of the score comes from words that question and passage share, especially
// rare ones.
import { cosine } from '../../../core/base/cosine.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import type { Encoder } from '../../chat/encoder-slot.ts'
import { bestOf, commonWords, cutText, spread, wordsOf } from '../../chat/passages.ts'
import type { Passage, WidgetDocument } from './entries.ts'

/** Passages for one question. */
const MOST_PASSAGES = 3
/** Passages per call of `embed`: on a stop, the page waits for at most this many. */
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
        ? sums(
            spread(cosines(asked, vectors, meanOf(vectors))),
            spread(commonWords(wordsOf(question), words)),
          )
        : cosines(asked, vectors)
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

/** A document's passages, each with its source. */
export function cut(document: string | WidgetDocument): Passage[] {
  const { text, title, url } = typeof document === 'string' ? { text: document } : document
  const texts = cutText(text)
  const parts = texts.length
  return texts.map((part, index) => ({
    ...{ text: part, title, url },
    ...(parts > 1 && { part: index + 1, parts }),
  }))
}

function meanOf(vectors: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array()] = vectors
  return first.map((_, at) => vectors.reduce((sum, vector) => sum + vector[at]!, 0) / vectors.length)
}

/** Cosines with each vector, after subtracting `mean` from both. */
function cosines(asked: Float32Array, vectors: readonly Float32Array[], mean?: Float32Array): number[] {
  const moved = (vector: Float32Array) => (mean ? vector.map((value, at) => value - mean[at]!) : vector)
  const from = moved(asked)
  return vectors.map((vector) => cosine(from, moved(vector)))
}

const sums = (one: readonly number[], other: readonly number[]): number[] =>
  one.map((value, index) => value + other[index]!)
