// Transcripts. In: prompts as text, replies as ids. Out: prompts as ids, in which every reply keeps its
// original ids.

/** A position in the text where the known ids end. */
interface Cut {
  readonly chars: number
  readonly tokens: number
}

export interface SavedTranscript {
  readonly text: string
  readonly ids: readonly number[]
  readonly cuts: readonly Cut[]
}

/**
 * What one session has read and written. Encoding a reply again may give other ids than the model chose, and
 * its state would then be useless. So the known beginning of a prompt keeps its ids; only the text after it
 * is encoded.
 */
export interface Transcript {
  /**
   * Ids of `text`. `encode` gets the new part of it, whether that part is the start of the prompt, and the id
   * before it.
   */
  encode(
    text: string,
    encode: (rest: string, start: boolean, after: number | undefined) => readonly number[],
  ): readonly number[]
  /** Adds a reply to the last prompt. `text` is the text of `ids`, as the next prompt will contain it. */
  extend(text: string, ids: readonly number[]): void
  /** A second transcript with the same content. */
  copy(): Transcript
  /** Plain JSON from which the same transcript can be made. */
  toJSON(): SavedTranscript
}

const NEW: SavedTranscript = { text: '', ids: [], cuts: [] }

export function transcriptOf(saved = NEW): Transcript {
  let { text: known, ids } = saved
  // In ascending order.
  const cuts = [...saved.cuts]
  const toJSON = () => ({ text: known, ids, cuts })
  return {
    encode(text, encode) {
      let cut = cuts.at(-1)
      while (cut !== undefined && !text.startsWith(known.slice(0, cut.chars))) {
        cuts.pop()
        cut = cuts.at(-1)
      }
      const { chars, tokens } = cut ?? { chars: 0, tokens: 0 }
      known = text.slice(0, chars)
      ids = ids.slice(0, tokens)
      const rest = text.slice(chars)
      // An empty prompt has the BOS of a model that begins texts with one.
      if (rest !== '' || tokens === 0) add(rest, encode(rest, tokens === 0, ids.at(-1)))
      return ids
    },
    extend(text, more) {
      if (text !== '') add(text, more)
    },
    copy: () => transcriptOf(toJSON()),
    toJSON,
  }

  function add(text: string, more: readonly number[]): void {
    known += text
    ids = [...ids, ...more]
    cuts.push({ chars: known.length, tokens: ids.length })
  }
}
