// The encoder that finds passages: one that the page gives, or one that loads when the first question needs
// it, and ends when another takes its place.
import type { Embedder, EmbedderOptions } from '../../encoders/embedder/embedder.ts'
import type { ModelSource } from '../../engine/api/types.ts'

/** What passages are compared with. */
export type Encoder = Pick<Embedder, 'embed'>
export type LoadEncoder = (source: ModelSource, options: EmbedderOptions) => Promise<Embedder>

/** A page's own encoder, and not where one is. */
export const isEncoder = (given: unknown): given is Encoder =>
  typeof (given as Partial<Encoder> | undefined)?.embed === 'function'

export class EncoderSlot {
  readonly #load: () => LoadEncoder
  #held: { readonly source: ModelSource; readonly encoder: Promise<Embedder> } | undefined

  constructor(load: () => LoadEncoder) {
    this.#load = load
  }

  /** Rejects as `Embedder.load` does; the next call then tries again. */
  async of(given: Encoder | ModelSource, options: EmbedderOptions): Promise<Encoder> {
    if (isEncoder(given)) return given
    if (this.#held?.source !== given) {
      this.end()
      const held = { source: given, encoder: this.#load()(given, options) }
      held.encoder.catch(() => {
        if (this.#held === held) this.#held = undefined
      })
      this.#held = held
    }
    return this.#held.encoder
  }

  /** Ends the encoder that was loaded here. */
  end(): void {
    void this.#held?.encoder.then((encoder) => encoder.dispose()).catch(() => undefined)
    this.#held = undefined
  }
}
