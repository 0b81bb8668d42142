// Stores the plans of a network in the model store, beside the graph's file.
import type { ByteSource } from '../../core/base/bytes.ts'
import { isPlan, madeFrom, planAddress } from '../../core/store/derived.ts'
import type { Device } from '../../core/store/device/device.ts'
import { BROWSER } from '../../core/store/device/device.ts'
import { ModelStore } from '../../core/store/device/model-store.ts'
import { fileKey } from '../../core/store/device/notes.ts'
import { PLAN_VERSION, type PlanStore } from '../compile/cache/plan-cache.ts'

/** Plans of one graph; each input shape has one. The least recently used are removed first. */
const MAX_PLANS = 32
const MAX_PLAN_BYTES = 64 << 20
/** A plan takes at most this fraction of the free space. */
const MOST_OF_FREE = 0.5

/**
 * The plans of a graph that is stored on the device. Undefined if it is not: nothing is stored for files on
 * this machine, or if the device denies storage.
 */
export async function planStore(graph: ByteSource, device: Device = BROWSER): Promise<PlanStore | undefined> {
  const { address } = graph
  const store = address === undefined ? undefined : await ModelStore.open(device)
  const version = address === undefined ? undefined : await versionOf(store, address)
  if (address === undefined || store === undefined || version === undefined) return undefined
  const etag = `${PLAN_VERSION}, ${version}`
  const addressOf = async (key: string) => planAddress(address, await fileKey(key))
  return {
    async read(key) {
      const plan = await addressOf(key)
      const known = await store.version(plan)
      if (known === undefined) return undefined
      if (known.etag !== etag) {
        await store.remove(plan)
        return undefined
      }
      const source = await store.openStored(plan)
      try {
        const bytes = await source?.read(0, source.size)
        await store.touch(plan)
        return bytes
      } finally {
        source?.close?.()
      }
    },
    async write(key, bytes) {
      const plan = await addressOf(key)
      const size = bytes.byteLength
      if (size > MOST_OF_FREE * (await device.room.freeBytes())) return
      const own = (await store.list()).filter(({ url }) => isPlan(url) && madeFrom(url) === address)
      let bytesLeft = MAX_PLAN_BYTES - size
      for (const [index, each] of own.reverse().entries()) {
        bytesLeft -= each.size
        if (index >= MAX_PLANS - 1 || bytesLeft < 0) await store.remove(each.url)
      }
      await store.fill(plan, async (part) => {
        await part.begin({ size, etag })
        part.write(0, bytes)
        return { size, etag }
      })
    },
    remove: async (key) => store.remove(await addressOf(key)),
    versionOf: async ({ address: place }) => place && versionOf(store, place),
  }
}

async function versionOf(store: ModelStore | undefined, address: string): Promise<string | undefined> {
  const version = await store?.version(address)
  return version && `${version.size} ${version.etag}`
}
