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
export class Transcript {
  #text = ''
  #ids: readonly number[] = []
  /** Rising. */
  #cuts: Cut[] = []

  /** Ids of `text`. `encode` gets what is new of it, and whether that is its start. */
  encode(text: string, encode: (rest: string, start: boolean) => readonly number[]): readonly number[] {
    while (!this.#isKnown(text, this.#cuts.at(-1))) this.#cuts.pop()
    const known = this.#cuts.at(-1) ?? { chars: 0, tokens: 0 }
    const rest = text.slice(known.chars)
    this.#text = text
    this.#ids = this.#ids.slice(0, known.tokens)
    if (rest === '') return this.#ids
    this.#ids = [...this.#ids, ...encode(rest, known.chars === 0)]
    this.#cut()
    return this.#ids
  }

  /** Adds a reply to what was encoded last: `text` is what `ids` stand for, as the next prompt will write it. */
  extend(text: string, ids: readonly number[]): void {
    if (text === '') return
    this.#text += text
    this.#ids = [...this.#ids, ...ids]
    this.#cut()
  }

  /** A second transcript that knows the same. */
  copy(): Transcript {
    return Transcript.from(this.toJSON())
  }

  /** Plain JSON, to make the same transcript of. */
  toJSON(): SavedTranscript {
    return { text: this.#text, ids: this.#ids, cuts: this.#cuts }
  }

  static from({ text, ids, cuts }: SavedTranscript): Transcript {
    const transcript = new Transcript()
    transcript.#text = text
    transcript.#ids = ids
    transcript.#cuts = [...cuts]
    return transcript
  }

  #isKnown(text: string, cut: Cut | undefined): boolean {
    return cut === undefined || text.startsWith(this.#text.slice(0, cut.chars))
  }

  #cut(): void {
    this.#cuts.push({ chars: this.#text.length, tokens: this.#ids.length })
  }
}
