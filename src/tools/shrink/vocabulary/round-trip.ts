// Compares a vocabulary with its trimmed version on texts. In: the ids of both. Out: counts, or an error if a
// text is lost.
import { HalfbyteError } from '../../../core/base/errors.ts'

export interface RoundTrip {
  /** Old and new ids. Throws `internal` if the new tokenizer loses or changes a text. */
  check(ids: readonly number[], newer: readonly number[]): void
  /** Number of texts that both vocabularies spell the same, and how many of those have the same pieces. */
  readonly texts: number
  readonly samePieces: number
  /** Number of texts that were not compared, because some of their characters were dropped. */
  readonly foreign: number
}

/**
 * Checks that a text is spelled as before, and that a text of kept tokens has the same pieces. `kept`: the
 * old id of each new one. `spell`: the text of ids. `isGivenUp`: whether a text with this token may change.
 */
export function compareSpelling(
  kept: readonly number[],
  spell: (ids: readonly number[]) => string,
  spellNewer: (ids: readonly number[]) => string,
  isGivenUp: (id: number) => boolean = () => false,
): RoundTrip {
  const newIds = new Map(kept.map((id, at) => [id, at]))
  const found = { texts: 0, samePieces: 0, foreign: 0 }
  return {
    check(ids, newer) {
      if (ids.some((id) => !newIds.has(id) && isGivenUp(id))) {
        found.foreign++
        return
      }
      if (spell(ids) !== spellNewer(newer))
        throw wrong('the trimmed tokenizer changes a text by encoding and decoding it')
      found.texts++
      const own = ids.map((id) => newIds.get(id))
      if (own.includes(undefined)) return
      if (own.length !== newer.length || own.some((id, at) => id !== newer[at]))
        throw wrong('text made of kept tokens is tokenized differently by the trimmed tokenizer')
      found.samePieces++
    },
    get texts() {
      return found.texts
    },
    get samePieces() {
      return found.samePieces
    },
    get foreign() {
      return found.foreign
    },
  }
}

const wrong = (what: string): HalfbyteError =>
  new HalfbyteError(
    'internal',
    `${what}; nothing was written, and this is a bug: please report the model and the text`,
  )
