// The public functions for stored models, for Node's store.
import { isFileOf } from '../../../core/store/address.ts'
import type { StoredFile } from '../../../core/store/device/model-store.ts'
import type { Hub, RepoAddress } from '../../../core/store/hub.ts'
import {
  countBytes,
  freeBytes,
  listFiles,
  removeFiles,
  removeModel,
} from '../../../core/store/stored-models.ts'
import { resolveSource } from '../../../engine/api/request/load-request.ts'
import { hubHere } from '../hub-here.ts'
import { storeOf } from './node-store.ts'
import { packedModel } from './pack-address.ts'

type Address = string | URL | RepoAddress

const placeOf = (address: Address, hub: Hub = hubHere()): string =>
  String(resolveSource(address, undefined, hub))

export async function storedFiles(): Promise<StoredFile[]> {
  const store = storeOf(undefined)
  return store === undefined ? [] : listFiles(store)
}

export async function storedBytes(address: Address, hub?: Hub): Promise<number> {
  const store = storeOf(undefined)
  return store === undefined ? 0 : countBytes(placeOf(address, hub), store)
}

export async function unstore(address: Address, hub?: Hub): Promise<void> {
  const store = storeOf(undefined)
  if (store === undefined) return
  const place = placeOf(address, hub)
  const isOfModel = isFileOf(place)
  const packs = (await listFiles(store)).filter(({ url }) => isOfModel(packedModel(url) ?? ''))
  await removeFiles(packs, store)
  await removeModel(place, store)
}

export async function makeRoom(bytes: number): Promise<string[]> {
  const store = storeOf(undefined)
  return store === undefined ? [] : freeBytes(bytes, store)
}
