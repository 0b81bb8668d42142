// Finds the passages of documents that are nearest to a question: by an encoder and by words if there is an
// encoder, by words alone otherwise.
import { cosine } from '../../core/base/cosine.ts'
import type { Encoder } from '../chat/encoder-slot.ts'
import { cutDocument, type Place } from './passages.ts'
import type { TextDocument } from './read-file.ts'
import { WordIndex } from './word-index.ts'

/** Passages per call of an encoder: on a stop, the page waits for at most this many. */
const BATCH = 16
/**
 * Weight of the words relative to the encoder: the encoder finds paraphrases, words find names and numbers.
 */
const WORDS_SHARE = 0.3

/** A passage of one of the documents. */
export interface FoundPassage {
  readonly text: string
  /** Index of its document. */
  readonly document: number
  readonly place: Place
}

export interface Question {
  readonly text: string
  /** The previous question, which a short one may refer to. Default: none. */
  readonly earlier?: string | undefined
}

export interface SearchOptions {
  /** Default: the passages are found by words. */
  readonly encoder?: Encoder | undefined
  readonly signal?: AbortSignal | undefined
  /** Counts passages while an encoder reads them. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

/**
 * The passages of documents, indexed by words. An encoder indexes them too, in the first search that is given
 * one.
 */
export class DocumentSearch {
  readonly passages: readonly FoundPassage[]
  /** Each passage with its document's name and its headings, which often name what it is about. */
  readonly #texts: readonly string[]
  readonly #words: WordIndex
  #vectors: { readonly encoder: Encoder; readonly of: (Float32Array | undefined)[] } | undefined

  constructor(documents: readonly TextDocument[]) {
    this.passages = documents.flatMap((document, index) =>
      cutDocument(document).map(({ text, place }) => ({ text, place, document: index })),
    )
    this.#texts = this.passages.map(({ text, document, place }) =>
      [documents[document]?.name ?? '', ...(place.headings ?? []), text].join('\n'),
    )
    this.#words = new WordIndex(this.#texts)
  }

  /**
   * The indices of passages, nearest first: all of them with an encoder, otherwise those that share words
   * with the question, or all in text order if none does. Rejects like `embed`, and with the signal's reason.
   */
  async nearest(question: Question, options: SearchOptions = {}): Promise<readonly number[]> {
    const byWords = this.#words.scores(question.text, question.earlier)
    const { encoder } = options
    if (encoder === undefined || question.text.trim() === '') return related(byWords)
    const vectors = await this.#read(encoder, options)
    const { signal } = options
    const asked = (await encoder.embed([question.text], { kind: 'query', signal })).vectors[0]
    signal?.throwIfAborted()
    if (asked === undefined) return related(byWords)
    const most = Math.max(...byWords, Number.MIN_VALUE)
    return best(
      byWords.map((score, index) => {
        const meaning = cosine(asked, vectors[index] ?? asked)
        return meaning * (1 - WORDS_SHARE) + (score / most) * WORDS_SHARE
      }),
    )
  }

  /** Passages that were read before a stop need not be read again. */
  async #read(
    encoder: Encoder,
    { signal, onProgress }: SearchOptions,
  ): Promise<readonly (Float32Array | undefined)[]> {
    if (this.#vectors?.encoder !== encoder) this.#vectors = { encoder, of: [] }
    const { of } = this.#vectors
    while (of.length < this.#texts.length) {
      onProgress?.(of.length, this.#texts.length)
      const some = this.#texts.slice(of.length, of.length + BATCH)
      const { vectors } = await encoder.embed(some, { kind: 'document', signal })
      signal?.throwIfAborted()
      of.push(...some.map((_, index) => vectors[index]))
    }
    return of
  }
}

const best = (scores: readonly number[]): readonly number[] =>
  [...scores.keys()].sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))

/** Without a common word, such as for "Summarize this", texts are best read from their beginning. */
function related(scores: readonly number[]): readonly number[] {
  const found = best(scores).filter((index) => (scores[index] ?? 0) > 0)
  return found.length > 0 ? found : best(scores)
}

let last: { readonly documents: readonly TextDocument[]; readonly search: DocumentSearch } | undefined

/** The search in these documents, which is kept for later questions about the same ones. */
export function searchIn(documents: readonly TextDocument[]): DocumentSearch {
  const isSame =
    last?.documents.length === documents.length &&
    last.documents.every(
      ({ name, text }, index) => name === documents[index]?.name && text === documents[index].text,
    )
  if (!isSame || last === undefined) last = { documents, search: new DocumentSearch(documents) }
  return last.search
}
