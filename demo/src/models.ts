// Models. In: what the person picked. Out: a source the engine can load, and a name for it.
import embeddedUrl from '../models/halfbyte-tiny.hbm?url'

/** A model to load: the embedded one, an address, or files of this device. */
export type ModelChoice =
  | { readonly kind: 'embedded' }
  | { readonly kind: 'address'; readonly address: string }
  | { readonly kind: 'files'; readonly files: readonly File[] }

export const EMBEDDED: ModelChoice = { kind: 'embedded' }

export function choiceName(choice: ModelChoice): string {
  switch (choice.kind) {
    case 'embedded':
      return 'Halfbyte Tiny'
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
      return new URL(embeddedUrl, document.baseURI).href
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

function lastPart(address: string): string {
  const part = address.split(/[?#]/, 1)[0]?.split('/').filter(Boolean).at(-1) ?? address
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
