// The models in a store: its files, grouped by the address under which a load would ask for them.
import { isFileOf } from '../../../core/store/address.ts'
import { CATALOGUE } from '../../../core/store/catalogue.ts'
import { madeFrom } from '../../../core/store/derived.ts'
import type { Device } from '../../../core/store/device/device.ts'
import type { StoredFile } from '../../../core/store/device/model-store.ts'
import { hubUrl, parseHubAddress, repoAddressOf } from '../../../core/store/hub.ts'
import { listFiles } from '../../../core/store/stored-models.ts'
import { hubHere } from '../hub-here.ts'

export interface StoredModel {
  /**
   * The name in lists, which `<model>` accepts: the catalogue's, `owner/name[:file][@revision]`, or a URL
   * without secrets.
   */
  readonly name: string
  /** The address that a load opens. */
  readonly address: string
  /** Bytes on disk, including its pack. */
  readonly bytes: number
  /** Milliseconds since 1970 of the last use of any of its files. */
  readonly used: number
  /** False while a download is unfinished. */
  readonly isComplete: boolean
  readonly files: readonly StoredFile[]
}

/** Files that are a model by themselves, or a part of one. All others describe the model of their folder. */
const OWN = /\.(gguf|hbm)$/i

/** Most recently used first. Without a store there are none. */
export async function listStoredModels(device: Device | undefined): Promise<StoredModel[]> {
  if (device === undefined) return []
  const files = await listFiles(device)
  const groups = groupsOf(files.filter(({ url }) => madeFrom(url) === undefined))
  for (const file of files) {
    const made = madeFrom(file.url)
    if (made === undefined) continue
    const model = [...groups].find(([, own]) => own.some(({ url }) => url === made))?.[0] ?? made
    groups.set(model, [...(groups.get(model) ?? []), file])
  }
  const models = [...groups].map(([address, files]) => ({
    name: nameOf(address),
    address,
    bytes: files.reduce((sum, { size }) => sum + size, 0),
    used: Math.max(...files.map(({ used }) => used)),
    isComplete: files.every(({ url, isComplete }) => isComplete || madeFrom(url) !== undefined),
    files,
  }))
  return models.sort((one, other) => other.used - one.used || (one.name < other.name ? -1 : 1))
}

/** Files by the address of their model. */
function groupsOf(files: readonly StoredFile[]): Map<string, StoredFile[]> {
  const groups = new Map<string, StoredFile[]>()
  const folders = files.filter(({ url }) => /\/config\.json$/.test(url)).map(({ url }) => folderOf(url))
  // The first part of a split model comes first.
  const sorted = [...files].sort((one, other) => (one.url < other.url ? -1 : 1))
  for (const file of sorted) {
    const { url } = file
    const path = url.split(/[?#]/, 1)[0] ?? url
    // The parts of a split model share the address of the first one stored.
    const candidates = OWN.test(path) ? [...groups.keys()].filter((each) => !each.endsWith('/')) : folders
    const address = candidates.find((each) => isFileOf(each)(url)) ?? url
    groups.set(address, [...(groups.get(address) ?? []), file])
  }
  return groups
}

const folderOf = (url: string): string => url.slice(0, url.lastIndexOf('/') + 1)

/** How a model at this address is listed. */
function nameOf(address: string): string {
  const repo = repoAddressOf(address, hubHere())
  if (repo !== undefined) {
    const { file, revision } = repo
    const name = `${repo.repo}${file ? `:${file}` : ''}${revision === 'main' ? '' : `@${revision}`}`
    return CATALOGUE.find((model) => model.address === name)?.id ?? name
  }
  const { origin, pathname } = new URL(address)
  return `${origin}${pathname}`
}

/**
 * The address of a stored model, by its listed name, or by its repository if just one model of it is stored.
 * Undefined if there is none.
 */
export const storedAddress = async (text: string, device: Device | undefined): Promise<string | undefined> =>
  addressAmong(await listStoredModels(device), text)

/** `storedAddress` in a list of all stored models. */
export function addressAmong(models: readonly StoredModel[], text: string): string | undefined {
  const named = models.find(({ name }) => name === text)
  if (named !== undefined) return named.address
  const asked = parseHubAddress(text)
  if (asked === undefined || asked.file !== undefined) return undefined
  const folder = hubUrl(asked, hubHere())
  const ofRepo = models.filter(({ address, isComplete }) => isComplete && address.startsWith(folder))
  return ofRepo.length === 1 ? ofRepo[0]?.address : undefined
}
