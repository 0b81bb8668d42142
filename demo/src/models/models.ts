// Models. In: what the person picked. Out: a source the engine can load, and a name for it.

import { parseHubAddress } from '../../../src/store/hub.ts'
import mambaUrl from '../../models/halfbyte-mamba.hbm?url'
import llamaUrl from '../../models/halfbyte-tiny.hbm?url'

/** A model that comes with the page. */
export interface EmbeddedModel {
  readonly kind: 'embedded'
  readonly name: string
  readonly url: string
  /** What a person should know to choose. */
  readonly about: string
}

/** A model to load: an embedded one, an address, or files of this device. */
export type ModelChoice =
  | EmbeddedModel
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'files'; readonly files: readonly File[] }

/** What the page opens with. */
export const DEFAULT: EmbeddedModel = {
  kind: 'embedded',
  name: 'Halfbyte Tiny',
  url: llamaUrl,
  about: 'Comes with this page. Small talk and tales, no knowledge.',
}

export const EMBEDDED: readonly EmbeddedModel[] = [
  DEFAULT,
  {
    kind: 'embedded',
    name: 'Halfbyte Mamba',
    url: mambaUrl,
    about: 'The same, without attention: however long a conversation is, its memory does not grow.',
  },
]

export function choiceName(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'embedded':
      return choice.name
    case 'address':
      return lastPart(choice.address)
    case 'files':
      return weightFile(choice.files)?.name ?? 'file'
    default:
      throw new TypeError(`unknown choice ${JSON.stringify(choice satisfies never)}`)
  }
}

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

/** A folder of safetensors has small files beside the one that holds the weights. */
function weightFile(files: readonly File[]): File | undefined {
  return files.toSorted((a, b) => b.size - a.size)[0]
}

/** Who keeps it, for people. */
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
