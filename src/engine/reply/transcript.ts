// Transcripts. In: prompts as text, replies as ids. Out: prompts as ids, in which every reply keeps the ids it was made of.

/** A place in the text where the ids so far are known to end. */
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
 * What one session has read and written. A reply encoded again may become other ids than the model chose, and then its
 * state would be useless; so the known beginning of a prompt is never encoded again, only what follows it.
 */
export interface Transcript {
  /** Ids of `text`. `encode` gets what is new of it, and whether that is its start. */
  encode(text: string, encode: (rest: string, start: boolean) => readonly number[]): readonly number[]
  /** Adds a reply to what was encoded last: `text` is what `ids` stand for, as the next prompt will write it. */
  extend(text: string, ids: readonly number[]): void
  /** A second transcript that knows the same. */
  copy(): Transcript
  /** Plain JSON, to make the same transcript of. */
  toJSON(): SavedTranscript
}

const NEW: SavedTranscript = { text: '', ids: [], cuts: [] }

export function transcriptOf(saved = NEW): Transcript {
  let { text: known, ids } = saved
  // Rising.
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
      if (rest !== '') add(rest, encode(rest, chars === 0))
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
