// Models. In: the user's choice. Out: a source the engine can load, and a name for it.

import { catalogued, parseHubAddress } from '../../../src/ui/chat/library.ts'
import { t } from '../words/words.ts'
import type { ModelChoice } from './embedded.ts'

export function choiceName(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'embedded':
      return choice.name
    case 'address':
      return catalogued(choice.address)?.title ?? lastPart(choice.address)
    case 'files':
      return weightFile(choice.files)?.name ?? t('file')
    default:
      throw new TypeError(`unknown choice ${JSON.stringify(choice satisfies never)}`)
  }
}

/** Distinguishes a model from others with the same name. Local files have only a name. */
export const choiceKey = (choice: ModelChoice): string =>
  choice.kind === 'address' ? choice.address : choiceName(choice)

/** What to expect of a model. For most models, the page knows only that they are small. */
export const promiseOf = (choice: ModelChoice): string =>
  t((choice.kind === 'embedded' && choice.promise) || 'promiseOther')

/** The source for `Engine.load`. */
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

/**
 * A typed address: a hub page is shortened to its repository name, which has no query and can be remembered.
 */
export function typedAddress(text: string): string {
  const hub = parseHubAddress(text)
  if (hub === undefined || /^hf:|^[^/]+\/[^/]+$/i.test(text)) return catalogued(text)?.address ?? text
  const { repo, file, revision = 'main' } = hub
  const name = `${repo}${file === undefined ? '' : `:${file}`}${revision === 'main' ? '' : `@${revision}`}`
  return catalogued(name)?.address ?? name
}

/** A safetensors folder has small files next to the one with the weights. */
function weightFile(files: readonly File[]): File | undefined {
  return files.toSorted((a, b) => b.size - a.size)[0]
}

/** The site that hosts the model, in readable form. */
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
