// Lists, removes and protects the models that are stored on this device.
import type { StoredFile } from '../../core/store/device/model-store.ts'
import type { Hub, RepoAddress } from '../../core/store/hub.ts'
import { countBytes, freeBytes, listFiles, removeModel } from '../../core/store/stored-models.ts'
import { resolveSource } from './request/load-request.ts'

export type { StoredFile } from '../../core/store/device/model-store.ts'

/** An address as given to `Engine.load`. Pass the same `hub` with it. */
export type StoredAddress = string | URL | RepoAddress

/**
 * Every model file on this device: unfinished downloads first, then complete files, least recently loaded
 * first. Loads are counted, so a clock that is set back does not change the order.
 */
export async function storedFiles(): Promise<StoredFile[]> {
  return listFiles()
}

/**
 * Bytes of the model's complete files on this device, which need no further download, and of its pack; 0 if
 * there are none.
 */
export async function storedBytes(address: StoredAddress, hub?: Hub): Promise<number> {
  return countBytes(placeOf(address, hub))
}

/** Removes the model's files from this device. Engines that have loaded it are not affected. */
export async function unstore(address: StoredAddress, hub?: Hub): Promise<void> {
  await removeModel(placeOf(address, hub))
}

/**
 * Removes files until at least `bytes` have been freed: incomplete downloads first, then packs and plans,
 * which can be made again, then the least recently used. Returns the addresses of the removed files. If all
 * files together are smaller than `bytes`, it removes nothing and returns an empty list. Call it after a load
 * failed with `storage-full`, because browsers no longer report free space exactly.
 */
export async function makeRoom(bytes: number): Promise<string[]> {
  return freeBytes(bytes)
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

const placeOf = (address: StoredAddress, hub?: Hub): string =>
  String(resolveSource(address, globalThis.location?.href, hub))
