// The encoder that finds passages: the page's own, or one that loads with the first question that needs it
// and is disposed when replaced.
import type {
  Embedder,
  EmbedderOptions,
  EmbedResult,
  EmbedTextsOptions,
} from '../../encoders/embedder/embedder.ts'
import type { ModelSource } from '../../engine/api/types.ts'

/** The part of an encoder that passage search uses. */
export interface Encoder {
  embed(texts: readonly string[], options?: EmbedTextsOptions): Promise<EmbedResult>
}
export type LoadEncoder = (source: ModelSource, options: EmbedderOptions) => Promise<Embedder>

/** True for a page's own encoder, false for an address. */
export const isEncoder = (given: unknown): given is Encoder =>
  typeof (given as Partial<Encoder> | undefined)?.embed === 'function'

export class EncoderSlot {
  readonly #load: () => LoadEncoder
  #held: { readonly source: ModelSource; readonly encoder: Promise<Embedder> } | undefined

  constructor(load: () => LoadEncoder) {
    this.#load = load
  }

  /** Rejects like `Embedder.load`; the next call then tries again. */
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

  /** Disposes the encoder that was loaded here. */
  end(): void {
    void this.#held?.encoder.then((encoder) => encoder.dispose()).catch(() => undefined)
    this.#held = undefined
  }
}
