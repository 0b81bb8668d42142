// Stored models. In: an address. Out: how much of its model is kept on this device, or none of it any more.
import { fileName, filesOf } from '../store/address.ts'
import { Opfs, type StoredFile } from '../store/opfs.ts'
import { absolute } from './source.ts'

/** Bytes that are kept of the model at `address`, so that they need not be downloaded again; 0 when there are none. */
export async function storedBytes(address: string | URL): Promise<number> {
  const files = (await (await Opfs.open())?.list()) ?? []
  return files.filter(belongsTo(address)).reduce((sum, { size }) => sum + size, 0)
}

/** Removes what is kept of the model at `address`. An engine that has loaded it is not affected. */
export async function unstore(address: string | URL): Promise<void> {
  const store = await Opfs.open()
  const files = (await store?.list()) ?? []
  for (const { url } of files.filter(belongsTo(address))) await store?.remove(url)
}

/** A folder's shards are only named in its index, but all of its files lie directly in it. */
function belongsTo(address: string | URL): (file: StoredFile) => boolean {
  const place = absolute(address, globalThis.location?.href)
  if (place.endsWith('/')) return ({ url }) => url === place + fileName(url)
  const urls = new Set(filesOf(place).map(({ url }) => url))
  return ({ url }) => urls.has(url)
}
