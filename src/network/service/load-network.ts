// Loads a network in this thread: finds its files and builds it from them.
import type { Place } from '../../core/formats/names/named-files.ts'
import type { LoaderHooks } from '../../engine/load/loaded-model.ts'
import { type OpenFiles, openRequestedFiles } from '../../engine/load/open/requested-files.ts'
import { openNetwork } from '../compile/open-network.ts'
import { buildNetwork, dataBeside, type LoadedNetwork, type NetworkHost } from './build-network.ts'
import type { NetworkRequest } from './network-protocol.ts'
import { planStore } from './plan-store.ts'

/** Finds the files that a request names and loads their network. Closes what it opened if that fails. */
export async function loadNetwork(
  request: NetworkRequest,
  hooks: LoaderHooks,
  host: NetworkHost,
): Promise<LoadedNetwork> {
  const { source, cache, hub, dtype } = request
  const open = (from: Place | readonly File[]) =>
    openRequestedFiles({ source: from, cache, hub, dtype, wants: 'graph' }, hooks)
  const files = await open(source)
  const others: OpenFiles[] = []
  const close = async () => void (await Promise.all([files, ...others].map((each) => each.close())))
  const beside = dataBeside(files.sources, async (place) => {
    const found = await open(place)
    others.push(found)
    return found
  })
  try {
    const plans = cache === 'none' ? undefined : planStore
    const reading = { signal: hooks.signal, dtype, beside, plans }
    return await buildNetwork(openNetwork, { sources: files.sources, close }, request, host, reading)
  } catch (error) {
    await close()
    throw error
  }
}
