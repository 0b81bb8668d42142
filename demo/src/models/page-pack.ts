// A pack served with the page, made with `npm run make`.
import type { CatalogueModel } from '../../../src/ui/chat/library.ts'

/** A pack's card. */
export interface PackCard {
  /** Readable name. */
  readonly title: string
  /** One or two sentences that help a user choose. */
  readonly about: string
  /** The languages it knows, in readable form. */
  readonly languages: string
  readonly licence: string
  /** The model's maker and origin. */
  readonly source: string
  /** The number of tokens the model was trained for. */
  readonly contextLength: number
}

export interface PagePack extends PackCard {
  /** The pack's path, relative to the page. */
  readonly file: string
  readonly sizeBytes: number
}

/** What the page shows about a model before loading it. */
export type PageModel = Pick<
  CatalogueModel,
  'title' | 'about' | 'licence' | 'contextLength' | 'address' | 'sizeBytes'
>
