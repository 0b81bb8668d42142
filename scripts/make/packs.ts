// The packs that can be made of real models, and what the page says of each.
import type { RealModelName } from '../models/real-models.mjs'

/** What the page says of a pack that lies in its folder of packs. */
export interface PackCard {
  /** Name for people. */
  readonly title: string
  /** One or two sentences that help a person choose. */
  readonly about: string
  /** Languages that it knows, for people. */
  readonly languages: string
  readonly licence: string
  /** Who made the model, and where it is from. */
  readonly source: string
  /** Tokens the model was trained for. */
  readonly contextLength: number
}

export interface MadePack {
  /** What is set up before it can be made. */
  readonly model: RealModelName
  /** Of the pack, without its ending. People read it while the pack is in use. */
  readonly file: string
  /** Codes of the embedding and the logits matrix; all other matrices stay as the model has them. */
  readonly table: 'w4' | 'w4m' | 'w8'
  readonly card: PackCard
}

export const PACKS: Readonly<Record<string, MadePack>> = {
  'smollm2-page': {
    model: 'smollm2',
    file: 'SmolLM2-135M-Instruct',
    table: 'w4',
    card: {
      title: 'SmolLM2 135M (4 bits)',
      about: 'Small talk, rewording and short explanations. Gets facts wrong.',
      languages: 'English',
      licence: 'Apache-2.0',
      source: 'SmolLM2 by Hugging Face (HuggingFaceTB/SmolLM2-135M-Instruct)',
      contextLength: 8192,
    },
  },
}
