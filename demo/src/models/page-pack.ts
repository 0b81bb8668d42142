// A pack that lies beside the page because someone made it (`npm run make`).
import type { CatalogueModel } from '../../../src/ui/chat/library.ts'

/** What its maker says of a pack. */
export interface PackCard {
  /** Name for people. */
  readonly title: string
  /** One or two sentences that help a user choose. */
  readonly about: string
  /** Languages that it knows, for people. */
  readonly languages: string
  readonly licence: string
  /** Who made the model, and where it is from. */
  readonly source: string
  /** Tokens the model was trained for. */
  readonly contextLength: number
}

export interface PagePack extends PackCard {
  /** Of the pack, relative to the page. */
  readonly file: string
  readonly sizeBytes: number
}

/** What the page shows of a model that it has not loaded. */
export type PageModel = Pick<
  CatalogueModel,
  'title' | 'about' | 'licence' | 'contextLength' | 'address' | 'sizeBytes'
>
