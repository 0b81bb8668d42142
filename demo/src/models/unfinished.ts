// Unfinished downloads. In: the files on this device, and the remembered addresses. Out: interrupted
// downloads, and files that no remembered address needs, with buttons to continue or remove them.
import { html, nothing, type TemplateResult } from 'lit'
import { type StoredFile, storedFiles } from '../../../src/index.ts'
import { isFileOf, madeFrom, resolveSource } from '../../../src/ui/chat/library.ts'
import { forgetAddress, recentAddresses } from '../conversation/store/remember.ts'
import { bytes } from '../shell/units.ts'
import { t } from '../words/words.ts'
import { addressPlace, choiceName } from './models.ts'
import { towerOf, unstoreModel } from './towers.ts'

export interface Unfinished {
  readonly address: string
  /** Bytes on this device. */
  readonly bytes: number
  /** False for a complete file that no remembered address needs. */
  readonly isCut: boolean
}

/** All stored files that do not belong to a complete, remembered model. */
export async function unfinishedDownloads(): Promise<readonly Unfinished[]> {
  const remembered = new Set(recentAddresses())
  const all = await storedDownloads()
  return all.filter(({ address, isCut }) => isCut || !remembered.has(address))
}

/** All stored model files, by remembered address. */
export async function storedDownloads(): Promise<readonly Unfinished[]> {
  const remembered = recentAddresses().map((address) => {
    const parts = [address, towerOf(address)].filter((part) => part !== undefined)
    const tests = parts.map((part) => isFileOf(String(resolveSource(part, location.href))))
    return { address, has: (url: string) => tests.some((isPart) => isPart(url)) }
  })
  const groups = new Map<string, StoredFile[]>()
  for (const file of await storedFiles().catch(() => [])) {
    const url = madeFrom(file.url) ?? file.url
    const address = remembered.find(({ has }) => has(url))?.address ?? url
    groups.set(address, [...(groups.get(address) ?? []), file])
  }
  return [...groups].map(([address, files]) => ({
    address,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    isCut: files.some(({ isComplete }) => !isComplete),
  }))
}

export async function removeDownload({ address }: Unfinished): Promise<void> {
  forgetAddress(address)
  await unstoreModel(address)
}

/** A section of the model picker; empty if there is nothing to list. */
export function renderUnfinished(
  downloads: readonly Unfinished[],
  goOn: (address: string) => void,
  remove: (download: Unfinished) => void,
): TemplateResult | typeof nothing {
  if (downloads.length === 0) return nothing
  return html`<h3 class="over" id="unfinished">${t('alsoHere')}</h3>
    <ul class="list models" aria-labelledby="unfinished">
      ${downloads.map((download) => {
        const { address, bytes: size, isCut } = download
        const name = choiceName({ kind: 'address', address })
        return html`<li class="unfinished">
          <div>
            <b dir="auto">${name}</b>
            <small>${isCut ? t('cutOff', { size: bytes(size) }) : bytes(size)} · ${addressPlace(address)}</small>
          </div>
          <div class="row">
            <button class="outline" aria-label=${t(isCut ? 'continueName' : 'loadName', { name })} @click=${() => goOn(address)}>${t(isCut ? 'continue' : 'load')}</button>
            <button aria-label=${t('removeName', { name })} @click=${() => remove(download)}>${t('remove')}</button>
          </div>
        </li>`
      })}
    </ul>`
}
