// Embedded models. The models that come with the page, and the kinds of model a user can choose. The entry
// reads this file before anything is shown, so it imports no texts.
import mambaUrl from '../../models/halfbyte-mamba.hbm?url'
import storiesUrl from '../../models/halfbyte-stories.hbm?url'
import keepWordsUrl from '../conversation/story/keep-words.ts?processor'
import type { Word } from '../words/words.ts'

/** A model that comes with the page. */
export interface EmbeddedModel {
  readonly kind: 'embedded'
  readonly name: string
  readonly url: string
  /** Size of the file. A server may report its compressed length instead. */
  readonly bytes: number
  /** One sentence that helps a user choose. */
  readonly about: Word
  /** Its strengths and weaknesses, for the welcome screen. */
  readonly promise?: Word
  /** True if it was trained to use the page's tools. */
  readonly usesTools?: boolean
  /** True for a model that can only tell stories and make small talk, in English. */
  readonly isStoryteller?: boolean
  /** Addresses of the logit processors for its answers. */
  readonly processors?: readonly string[]
  /** Maximum size of conversation state in bytes. Default: the engine's. */
  readonly stateBytes?: number
}

/** A model to load: an embedded one, an address, or files from this device. */
export type ModelChoice =
  | EmbeddedModel
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'files'; readonly files: readonly File[] }

/** Without these, both models forget half of what a story was asked to contain. */
const OF_STORIES = [keepWordsUrl]

/** The model the page opens with. */
export const DEFAULT: EmbeddedModel = {
  kind: 'embedded',
  name: 'Halfbyte Stories',
  url: storiesUrl,
  bytes: 5_333_184,
  about: 'aboutStories',
  promise: 'promiseStories',
  usesTools: true,
  isStoryteller: true,
  processors: OF_STORIES,
}

export const EMBEDDED: readonly EmbeddedModel[] = [
  DEFAULT,
  {
    kind: 'embedded',
    name: 'Halfbyte Mamba',
    url: mambaUrl,
    bytes: 4_874_432,
    about: 'aboutMamba',
    isStoryteller: true,
    processors: OF_STORIES,
    // A state takes 0.73 MB, however long the conversation; the rest is for checkpoints.
    stateBytes: 8e6,
  },
]
