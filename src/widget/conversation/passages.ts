// Passages. In: documents, a question, an engine. Out: the passages that are nearest to the question.
//
// Hidden states of a language model share a large common part, so passages are compared after their mean has
// been taken away. Small models place texts by their manner as much as by their matter; words that question
// and passage have in common, the rare ones above all, are therefore half of the score.
import type { Engine } from '../../api/engine.ts'
import type { Passage, WidgetDocument } from './entries.ts'

/** Characters of a passage, about 150 tokens. */
const PASSAGE_LENGTH = 600
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
    const order = [...passages.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    return order.slice(0, MOST_PASSAGES).map((index) => passages[index] as Passage)
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

/** Passages at the ends of paragraphs, or of sentences where a paragraph is long. */
export function cut(document: string | WidgetDocument): Passage[] {
  const { text, title, url } = typeof document === 'string' ? { text: document } : document
  const pieces = text
    .split(/\n\s*\n/)
    .flatMap((paragraph) => (paragraph.length <= PASSAGE_LENGTH ? [paragraph] : sentences(paragraph)))
  const texts: string[] = []
  for (const piece of pieces.map((each) => each.trim()).filter((each) => each !== '')) {
    const last = texts.at(-1)
    if (last === undefined || last.length + piece.length > PASSAGE_LENGTH) texts.push(piece)
    else texts[texts.length - 1] = `${last}\n\n${piece}`
  }
  return texts.map((part) => ({ text: part, title, url }))
}

/** A sentence that is too long is cut anywhere. */
const sentences = (paragraph: string): string[] =>
  paragraph
    .split(/(?<=[.!?。！？])\s*/u)
    .flatMap((sentence) => sentence.match(new RegExp(`[^]{1,${PASSAGE_LENGTH}}`, 'gu')) ?? [])

export const wordsOf = (text: string): ReadonlySet<string> =>
  new Set(text.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) ?? [])

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

/** For each passage, the weights of the question's words in it: log of how rare they are. */
function commonWords(asked: ReadonlySet<string>, passages: readonly ReadonlySet<string>[]): number[] {
  const weights = new Map(
    [...asked].map((word) => {
      const count = passages.filter((words) => words.has(word)).length
      return [word, Math.log(1 + passages.length / Math.max(1, count))]
    }),
  )
  return passages.map((words) =>
    [...weights].reduce((sum, [word, weight]) => sum + (words.has(word) ? weight : 0), 0),
  )
}

/** The same values between 0 and 1. */
function spread(values: readonly number[]): number[] {
  const least = Math.min(...values)
  const most = Math.max(...values)
  return values.map((value) => (most > least ? (value - least) / (most - least) : 0))
}
