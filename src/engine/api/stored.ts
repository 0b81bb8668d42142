// Lists, removes and protects the models that are stored on this device.
import { isFileOf } from '../../core/store/address.ts'
import { Opfs, type StoredFile } from '../../core/store/device/opfs.ts'
import type { Hub, RepoAddress } from '../../core/store/hub.ts'
import { resolveSource } from './request/load-request.ts'

export type { StoredFile } from '../../core/store/device/opfs.ts'

/** An address as given to `Engine.load`. Pass the same `hub` with it. */
export type StoredAddress = string | URL | RepoAddress

/**
 * Every model file on this device: unfinished downloads first, then complete files, least recently loaded
 * first. Loads are counted, so a clock that is set back does not change the order.
 */
export async function storedFiles(): Promise<StoredFile[]> {
  return (await (await Opfs.open())?.list()) ?? []
}

/**
 * Bytes of the model's complete files on this device, which need no further download; 0 if there are none.
 */
export async function storedBytes(address: StoredAddress, hub?: Hub): Promise<number> {
  const isOfModel = belongsTo(address, hub)
  const files = await storedFiles()
  return files.filter((file) => file.isComplete && isOfModel(file)).reduce((sum, { size }) => sum + size, 0)
}

/** Removes the model's files from this device. Engines that have loaded it are not affected. */
export async function unstore(address: StoredAddress, hub?: Hub): Promise<void> {
  const known = (await (await Opfs.open())?.known()) ?? []
  await remove(known.filter(belongsTo(address, hub)))
}

/**
 * Removes files until at least `bytes` have been freed: incomplete downloads first, then the least recently
 * used. Returns the addresses of the removed files. If all files together are smaller than `bytes`, it
 * removes nothing and returns an empty list. Call it after a load failed with `storage-full`, because
 * browsers no longer report free space exactly.
 */
export async function makeRoom(bytes: number): Promise<string[]> {
  const candidates = await storedFiles()
  const chosen: StoredFile[] = []
  let free = 0
  while (free < bytes) {
    const next = candidates[chosen.length]
    if (next === undefined) return []
    chosen.push(next)
    free += next.size
  }
  await remove(chosen)
  return chosen.map(({ url }) => url)
}

/**
 * Asks the browser not to evict stored models when the device runs short of space. Returns true if it agrees.
 * Some browsers ask the user, so call it after the user has chosen a model.
 */
export async function keepStored(): Promise<boolean> {
  try {
    return (await navigator.storage.persisted()) || (await navigator.storage.persist())
  } catch {
    return false
  }
}

async function remove(files: readonly StoredFile[]): Promise<void> {
  const store = await Opfs.open()
  for (const { url } of files) await store?.remove(url)
}

function belongsTo(address: StoredAddress, hub?: Hub): (file: StoredFile) => boolean {
  const isOfModel = isFileOf(String(resolveSource(address, globalThis.location?.href, hub)))
  return ({ url }) => isOfModel(url)
}
