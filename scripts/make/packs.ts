// The packs that can be made from real models, and the page's text about each.
import type { PackCard } from '../../demo/src/models/page-pack.ts'
import type { RealModelName } from '../models/real-models.mjs'

export interface MadePack {
  /** The name of the model that must be set up first. */
  readonly model: RealModelName
  /** The pack's file name without its extension. Users see it while the pack is in use. */
  readonly file: string
  /** Format of the embedding and the logits matrix; all other matrices keep the model's. */
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
