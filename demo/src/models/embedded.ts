// Embedded models. The models that come with the page, and what a choice of a model can be. The entry reads
// this file before anything is shown, so it imports no texts.
import mambaUrl from '../../models/halfbyte-mamba.hbm?url'
import storiesUrl from '../../models/halfbyte-stories.hbm?url'
import keepWordsUrl from '../conversation/story/keep-words.ts?processor'
import type { Word } from '../words/words.ts'

/** A model that comes with the page. */
export interface EmbeddedModel {
  readonly kind: 'embedded'
  readonly name: string
  readonly url: string
  /** Of the file. What a server says of it may be its compressed length. */
  readonly bytes: number
  /** One sentence that helps a user choose. */
  readonly about: Word
  /** What it does well and what not, for the first screen. */
  readonly promise?: Word
  /** True if it was trained to use the page's tools. */
  readonly usesTools?: boolean
  /** True if it knows no other language than English. */
  readonly isEnglish?: boolean
  /** Addresses of the logit processors that its answers take. */
  readonly processors?: readonly string[]
  /** Maximum bytes for the state of conversations. Default: the engine's. */
  readonly stateBytes?: number
}

/** A model to load: an embedded one, an address, or files from this device. */
export type ModelChoice =
  | EmbeddedModel
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'files'; readonly files: readonly File[] }

/** Both models forget half of what a story was to be about. */
const OF_STORIES = [keepWordsUrl]

/** The model that the page opens with. */
export const DEFAULT: EmbeddedModel = {
  kind: 'embedded',
  name: 'Halfbyte Stories',
  url: storiesUrl,
  bytes: 5_333_184,
  about: 'aboutStories',
  promise: 'promiseStories',
  usesTools: true,
  isEnglish: true,
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
    isEnglish: true,
    processors: OF_STORIES,
    // A state takes 0.73 MB whatever the conversation's length; the rest is for places to go back to.
    stateBytes: 8e6,
  },
]
