// Encoders and networks in a Node program: `Embedder.load` and `Network.load` with the model in this process
// and Node workers as threads.
import { existsSync, statSync } from 'node:fs'
import type { ByteSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { Embedder, type EmbedderOptions } from '../../../encoders/embedder/embedder.ts'
import { loadEncoder } from '../../../encoders/service/build-encoder.ts'
import { createEmbedderService } from '../../../encoders/service/embed-service.ts'
import { resolveSource } from '../../../engine/api/request/load-request.ts'
import type { ModelSource } from '../../../engine/api/types.ts'
import type { FileOpener, OpenFiles } from '../../../engine/load/open/requested-files.ts'
import { localConnection } from '../../../engine/wire/connection.ts'
import { Network, type NetworkOptions } from '../../../network/api/network.ts'
import { dataBeside } from '../../../network/service/build-network.ts'
import { planStore } from '../../../network/service/plan-store.ts'
import { openModelFiles } from '../files.ts'
import { isUrl } from '../hub-here.ts'
import { blobFiles, givenStore, placeOfSource } from '../node-engine.ts'
import { nodeHost } from '../node-host.ts'
import { type StoreOption, storeOf } from '../store/node-store.ts'

/** A local sentence-transformers folder may lack some files. */
const encoderOpener =
  (store: StoreOption): FileOpener =>
  async ({ source, hub, dtype }, { signal, onProgress }) => {
    if (typeof source !== 'string') return blobFiles(source)
    if (source.endsWith('.json') && !isUrl(source) && !existsSync(source)) {
      throw new HalfbyteError('format', `there is no file ${source}; download the model again`, {
        missing: true,
      })
    }
    return openModelFiles(source, { signal, hub, dtype, onProgress, store })
  }

/** `Embedder.load`. A folder needs no trailing slash. */
export async function loadEmbedder(source: ModelSource, options: EmbedderOptions = {}): Promise<Embedder> {
  const store = givenStore(options)
  const place = await placeOfSource(source, store)
  const isFolder =
    typeof place === 'string' && !isUrl(place) && existsSync(place) && statSync(place).isDirectory()
  const service = createEmbedderService((request, hooks) =>
    loadEncoder(request, hooks, nodeHost(), encoderOpener(store)),
  )
  const own = isFolder && !place.endsWith('/') ? `${place}/` : place
  return Embedder.open(localConnection(service), own, options)
}

/** `Network.load`. */
export async function loadNetwork(source: ModelSource, options: NetworkOptions = {}): Promise<Network> {
  const { signal, hub, dtype, onProgress } = options
  signal?.throwIfAborted()
  const store = givenStore(options)
  const place = resolveSource(await placeOfSource(source, store), undefined, hub)
  if (typeof place === 'string')
    return openNetworkAt(place, options, { signal, hub, dtype, onProgress, store })
  const files = blobFiles(place)
  return Network.open(files, options, nodeHost()).catch(async (error) => {
    await files.close()
    throw error
  })
}

/** The network of a graph at this place, with the external data next to it. */
export async function openNetworkAt(
  place: string,
  options: NetworkOptions,
  how: NonNullable<Parameters<typeof openModelFiles>[1]>,
): Promise<Network> {
  const opened: OpenFiles[] = []
  const open = async (each: string): Promise<OpenFiles> => {
    const files = await openModelFiles(each, { ...how, wants: 'graph' })
    opened.push(files)
    return files
  }
  const close = async () => void (await Promise.all(opened.map((files) => files.close())))
  try {
    const { sources } = await open(place)
    const beside = dataBeside(sources, open)
    const device = storeOf(how.store)
    const plans = device && ((graph: ByteSource) => planStore(graph, device))
    return await Network.open({ sources, close }, options, { ...nodeHost(), beside, plans })
  } catch (error) {
    await close()
    throw error
  }
}
