// What is stored. In: addresses of models, names of sessions. Out: how much of each is kept on this device, room for others, and leave to keep it.
import { isFileOf } from '../store/address.ts'
import { Opfs, type StoredFile } from '../store/device/opfs.ts'
import { SessionStore, type StoredSession } from '../store/device/sessions.ts'
import type { Hub, RepoAddress } from '../store/hub.ts'
import { resolveSource } from './source.ts'

export type { StoredFile } from '../store/device/opfs.ts'
export type { StoredSession } from '../store/device/sessions.ts'

/** As given to `Engine.load`, with the `hub` that it was loaded from. */
export type StoredAddress = string | URL | RepoAddress

/** Every file that is kept on this device, the least recently used first; downloads that have not ended too. */
export async function storedFiles(): Promise<StoredFile[]> {
  const files = (await (await Opfs.open())?.list()) ?? []
  return files.sort((left, right) => left.used - right.used)
}

/** Bytes that are kept whole of the model at `address`, so that they need not be downloaded again; 0 when there are none. */
export async function storedBytes(address: StoredAddress, hub?: Hub): Promise<number> {
  const isOfModel = belongsTo(address, hub)
  const files = await storedFiles()
  return files.filter((file) => file.isComplete && isOfModel(file)).reduce((sum, { size }) => sum + size, 0)
}

/** Removes what is kept of the model at `address`. An engine that has loaded it is not affected. */
export async function unstore(address: StoredAddress, hub?: Hub): Promise<void> {
  await remove((await storedFiles()).filter(belongsTo(address, hub)))
}

/**
 * Removes files, the least recently used first and downloads that have not ended before all others, until `bytes` are
 * free that were not. Returns the addresses that were removed; none when not even all of them have so much. How much room
 * there is, browsers no longer say truly: this is for after a load was refused with `storage-full`.
 */
export async function makeRoom(bytes: number): Promise<string[]> {
  const files = await storedFiles()
  const candidates = [...files.filter((file) => !file.isComplete), ...files.filter((file) => file.isComplete)]
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

/** Every session that `Session.store` keeps on this device, the one that was saved longest ago first. */
export async function storedSessions(): Promise<StoredSession[]> {
  const sessions = (await (await SessionStore.open())?.list()) ?? []
  return sessions.sort((left, right) => left.saved - right.saved)
}

/** Removes the stored session of that name; does nothing when there is none. Sessions that were restored from it go on. */
export async function unstoreSession(name: string): Promise<void> {
  await (await SessionStore.open())?.remove(name)
}

/**
 * Asks the browser not to throw stored models away when the device runs short of room; true when it agrees. Some
 * browsers ask the person, so call it when somebody chose a model.
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
