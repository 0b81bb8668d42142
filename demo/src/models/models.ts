// Models. In: the person's choice. Out: a source that the engine can load, and a name for it.

import { catalogued } from '../../../src/store/catalogue.ts'
import { parseHubAddress } from '../../../src/store/hub.ts'
import mambaUrl from '../../models/halfbyte-mamba.hbm?url'
import storiesUrl from '../../models/halfbyte-stories.hbm?url'

/** A model that comes with the page. */
export interface EmbeddedModel {
  readonly kind: 'embedded'
  readonly name: string
  readonly url: string
  /** One sentence that helps a person choose. */
  readonly about: string
  /** What it does well and what not, for the first screen. */
  readonly promise?: string
  /** True if it was trained to use the page's tools. */
  readonly usesTools?: boolean
  /** Most bytes for the state of conversations. Default: the engine's. */
  readonly stateBytes?: number
}

/** A model to load: an embedded one, an address, or files from this device. */
export type ModelChoice =
  | EmbeddedModel
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'files'; readonly files: readonly File[] }

/** The model that the page opens with. */
export const DEFAULT: EmbeddedModel = {
  kind: 'embedded',
  name: 'Halfbyte Stories',
  url: storiesUrl,
  about: 'Comes with this page. It tells stories, makes small talk and uses tools, but knows no facts.',
  promise: 'It is good at stories, small talk and sums. It knows no facts.',
  usesTools: true,
}

export const EMBEDDED: readonly EmbeddedModel[] = [
  DEFAULT,
  {
    kind: 'embedded',
    name: 'Halfbyte Mamba',
    url: mambaUrl,
    about: 'Halfbyte Stories without attention: long conversations take no more memory than short ones.',
    // A state takes 0.73 MB whatever the conversation's length; the rest is for places to go back to.
    stateBytes: 8e6,
  },
]

export function choiceName(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'embedded':
      return choice.name
    case 'address':
      return catalogued(choice.address)?.title ?? lastPart(choice.address)
    case 'files':
      return weightFile(choice.files)?.name ?? 'file'
    default:
      throw new TypeError(`unknown choice ${JSON.stringify(choice satisfies never)}`)
  }
}

/** Empty for a model of which the page knows nothing. */
export const promiseOf = (choice: ModelChoice): string =>
  (choice.kind === 'embedded' ? choice.promise : undefined) ?? ''

export const usesTools = (choice: ModelChoice): boolean =>
  choice.kind === 'embedded' && choice.usesTools === true

/** What `Engine.load` takes. */
export function choiceSource(choice: ModelChoice): string | readonly File[] {
  switch (choice.kind) {
    case 'embedded':
      return new URL(choice.url, document.baseURI).href
    case 'address':
      return choice.address
    case 'files':
      return choice.files
    default:
      throw new TypeError(`unknown choice ${JSON.stringify(choice satisfies never)}`)
  }
}

/** In a folder of safetensors, small files lie beside the one with the weights. */
function weightFile(files: readonly File[]): File | undefined {
  return files.toSorted((a, b) => b.size - a.size)[0]
}

/** The site that hosts the model, for people to read. */
export function addressPlace(address: string): string {
  return parseHubAddress(address) === undefined ? new URL(address, document.baseURI).host : 'Hugging Face'
}

function lastPart(address: string): string {
  const part =
    address
      .replace(/\/resolve\/[^/]+\/$/, '')
      .split(/[?#]/, 1)[0]
      ?.split('/')
      .filter(Boolean)
      .at(-1) ?? address
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
