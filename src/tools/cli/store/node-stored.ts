// The public functions for stored models, for Node's store.
import type { StoredFile } from '../../../core/store/device/model-store.ts'
import type { Hub, RepoAddress } from '../../../core/store/hub.ts'
import { countBytes, freeBytes, listFiles, removeModel } from '../../../core/store/stored-models.ts'
import { resolveSource } from '../../../engine/api/request/load-request.ts'
import { hubHere } from '../hub-here.ts'
import { storeOf } from './node-store.ts'

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
  if (store !== undefined) await removeModel(placeOf(address, hub), store)
}

export async function makeRoom(bytes: number): Promise<string[]> {
  const store = storeOf(undefined)
  return store === undefined ? [] : freeBytes(bytes, store)
}
