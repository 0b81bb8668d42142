// Starts `Engine` in a Node program, with the service in this process and Node workers as threads.
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { blobSource } from '../../core/base/bytes.ts'
import { checkOption } from '../../core/base/options/option-kinds.ts'
import { chooseBuild, detectFeatures } from '../../core/runtime/features.ts'
import { missingFile, request } from '../../core/store/download/request.ts'
import { Engine } from '../../engine/api/engine.ts'
import { checkedLoad, LOAD_OPTIONS } from '../../engine/api/request/load-options.ts'
import type { LoadOptions, ModelSource, ProbeOptions, ProbeReport, Support } from '../../engine/api/types.ts'
import { loadModel } from '../../engine/load/load-model.ts'
import type { FileOpener } from '../../engine/load/open/requested-files.ts'
import { readsPack } from '../../engine/load/pack/stored-pack.ts'
import { probeModel } from '../../engine/probe/probe.ts'
import { createService } from '../../engine/service.ts'
import { localConnection } from '../../engine/wire/connection.ts'
import { openModelFiles, peekModelFiles, placeOf } from './files.ts'
import { openPacked } from './models/stored-packs.ts'
import { nodeHost } from './node-host.ts'
import { type StoreOption, storeOf } from './store/node-store.ts'

/** Makes `Engine` start the way Node needs. */
export function startEnginesInThisProcess(): void {
  Object.assign(Engine, { load, probe, support, prepare: checkPrepare })
}

async function load(source: ModelSource, options: LoadOptions = {}): Promise<Engine> {
  const checked = checkedLoad(options, 'onProgress')
  checked.signal?.throwIfAborted()
  const { place, ...others } = await placed(source, checked)
  const store = givenStore(checked)
  const openFiles: FileOpener = async ({ source: asked, hub, dtype }, { signal, onProgress }) => {
    if (typeof asked !== 'string') return blobFiles(asked)
    const open = () => openModelFiles(asked, { signal, hub, dtype, onProgress, store })
    const mayPack = checked.cache !== 'files' && readsPack(checked)
    return mayPack ? openPacked(asked, storeOf(store), open, { signal, onProgress }) : open()
  }
  const service = createService((request, hooks) => loadModel(request, hooks, nodeHost(), openFiles))
  return Engine.open(localConnection(service), place, { ...checked, ...others })
}

async function probe(source: ModelSource, options: ProbeOptions = {}): Promise<ProbeReport> {
  const checked = checkedLoad(options, 'limitBytes')
  checked.signal?.throwIfAborted()
  const { place, ...others } = await placed(source, checked)
  const noModel = () => Promise.reject(new Error('nothing is loaded here'))
  const service = createService(noModel, (request, hooks) =>
    probeModel(request, hooks, nodeHost(), async ({ source: asked, hub, dtype }, { signal }) =>
      typeof asked === 'string'
        ? peekModelFiles(asked, { signal, hub, dtype, store: givenStore(checked) })
        : { ...blobFiles(asked), downloadBytes: 0 },
    ),
  )
  return Engine.ask(localConnection(service), place, { ...checked, ...others })
}

async function support(): Promise<Support> {
  const features = detectFeatures(globalThis)
  return {
    supported: features.simd,
    reason: features.simd ? undefined : 'WebAssembly has no SIMD here; use Node 22 or later',
    build: features.simd ? chooseBuild(features) : undefined,
    sharedMemory: features.sharedMemory,
    cores: availableParallelism(),
  }
}

/** Node has no worker to start in advance. */
function checkPrepare(): void {}

/** The store that the options ask for. Throws `unsupported` for a wrong one. */
export function givenStore({ store, cache }: Pick<LoadOptions, 'store' | 'cache'>): StoreOption {
  checkOption('store', store, LOAD_OPTIONS.store)
  return cache === 'none' ? false : store
}

export const blobFiles = (files: readonly File[]) => ({
  sources: files.map((file) => blobSource(file.name, file)),
  async close() {},
})

/** Resolves a model's paths and names, so that they no longer depend on the working directory. */
async function placed(
  source: ModelSource,
  { draft, vision, lora, ...others }: Pick<LoadOptions, 'draft' | 'vision' | 'lora' | 'store' | 'cache'>,
) {
  const store = givenStore(others)
  const [place, draftPlace, tower, adapters] = await Promise.all([
    placeOfSource(source, store),
    draft === undefined ? undefined : placeOfSource(draft, store),
    vision === undefined ? undefined : placeOfSource(vision, store),
    lora &&
      Promise.all(lora.map(async (each) => ({ ...each, source: await placeOfSource(each.source, store) }))),
  ])
  return { place, draft: draftPlace, vision: tower, lora: adapters }
}

/**
 * Resolves paths and names, so that they no longer depend on the working directory. Returns a Blob for the
 * program's own data.
 */
export async function placeOfSource(source: ModelSource, store: StoreOption): Promise<ModelSource> {
  if (source instanceof URL && source.protocol === 'file:') return fileURLToPath(source)
  if ((typeof source === 'string' || source instanceof URL) && /^(?:blob|data):/i.test(String(source)))
    return dataAt(String(source))
  return typeof source === 'string' ? placeOf(source, store) : source
}

/** The program's own data at a blob or data URL. Throws `network` if there is none. */
async function dataAt(address: string): Promise<Blob> {
  const response = await request(address)
  if (response !== undefined) return response.blob()
  throw missingFile(address)
}
