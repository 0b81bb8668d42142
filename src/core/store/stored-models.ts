// Lists, counts and removes the stored files of models, on any device.
import { isFileOf } from './address.ts'
import { madeFrom } from './derived.ts'
import { BROWSER, type Device } from './device/device.ts'
import { ModelStore, type StoredFile } from './device/model-store.ts'

/** Unfinished downloads, then complete files; each least recently used first. */
export const listFiles = async (device: Device = BROWSER): Promise<StoredFile[]> =>
  (await (await ModelStore.open(device))?.list()) ?? []

/** Bytes of the model's complete files, and of those made from them; 0 if it has none of its own. */
export async function countBytes(address: string, device: Device = BROWSER): Promise<number> {
  const isOfModel = isFileOf(address)
  const files = (await listFiles(device)).filter(
    ({ url, isComplete }) => isComplete && isOfModel(madeFrom(url) ?? url),
  )
  if (files.every(({ url }) => madeFrom(url) !== undefined)) return 0
  return files.reduce((sum, { size }) => sum + size, 0)
}

/** Removes the model's files, the files made from them, and the records of those that its server lacks. */
export async function removeModel(address: string, device: Device = BROWSER): Promise<void> {
  const isOfModel = isFileOf(address)
  const known = (await (await ModelStore.open(device))?.known()) ?? []
  await removeFiles(
    known.filter(({ url }) => isOfModel(madeFrom(url) ?? url)),
    device,
  )
}

/**
 * Removes files until at least `bytes` have been freed: first unfinished downloads, then files that can be
 * made again, then the others, each in the order of `listFiles`. Returns their addresses. If all files
 * together are smaller, it removes nothing and returns an empty list.
 */
export async function freeBytes(bytes: number, device: Device = BROWSER): Promise<string[]> {
  const order = ({ isComplete, url }: StoredFile) => (!isComplete ? 0 : madeFrom(url) !== undefined ? 1 : 2)
  const candidates = (await listFiles(device)).sort((left, right) => order(left) - order(right))
  const chosen: StoredFile[] = []
  let free = 0
  while (free < bytes) {
    const next = candidates[chosen.length]
    if (next === undefined) return []
    chosen.push(next)
    free += next.size
  }
  await removeFiles(chosen, device)
  return chosen.map(({ url }) => url)
}

export async function removeFiles(files: readonly StoredFile[], device: Device = BROWSER): Promise<void> {
  const store = await ModelStore.open(device)
  for (const { url } of files) await store?.remove(url)
}
