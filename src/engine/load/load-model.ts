// Loads the model of a request: opens its files, prepares and builds it. A stored GGUF gets a pack for later
// loads.
import { isHalfbyteError } from '../../core/base/errors.ts'
import type { Host } from '../../core/runtime/host.ts'
import type { LoadRequest } from '../wire/protocol.ts'
import { type BuiltModel, buildModel } from './build-model.ts'
import type { LoaderHooks } from './loaded-model.ts'
import { withStateBudget } from './memory-need.ts'
import { openAdapters, openAny } from './open/open-any.ts'
import { openVision } from './open/open-vision.ts'
import { type FileOpener, type OpenFiles, type PackPlace, withFiles } from './open/requested-files.ts'
import { isWorthPack, packKeeper } from './pack/keep-pack.ts'
import { asOriginal, isDamage, openEngineFiles } from './pack/stored-pack.ts'
import { keepsFloats, prepareModel } from './prepare.ts'

/**
 * Loads a model and, if the request names one, its draft model. After a typed error or the signal's reason,
 * nothing stays allocated. If a pack that was made on this device is damaged, loads the model's own files.
 */
export async function loadModel(
  request: LoadRequest,
  hooks: LoaderHooks,
  host: Host,
  openFiles: FileOpener = openEngineFiles,
): Promise<BuiltModel> {
  let hasCopy = false
  const noting: FileOpener = async (...asked) => {
    const files = await openFiles(...asked)
    hasCopy ||= files.isCopy === true
    return files
  }
  try {
    return await loadOnce(request, hooks, host, noting)
  } catch (error) {
    if (!hasCopy || !isHalfbyteError(error) || !isDamage(error)) throw error
    // The copy has been removed.
    return loadOnce(request, hooks, host, openFiles)
  }
}

async function loadOnce(
  request: LoadRequest,
  hooks: LoaderHooks,
  host: Host,
  openFiles: FileOpener,
): Promise<BuiltModel> {
  const { signal } = hooks
  return withFiles(openFiles, request, hooks, async (open) => {
    const packs: OpenFiles[] = []
    let place: PackPlace | undefined
    const prepare = async (
      source: LoadRequest['source'],
      {
        contextLength = request.contextLength,
        lora,
        architecture,
      }: Pick<LoadRequest, 'contextLength' | 'lora' | 'architecture'>,
    ) => {
      const { dtype } = request
      const bfloats = keepsFloats(request)
      const { file, files } = await openAny(source, open, host, { signal, bfloats, dtype })
      if (file.format === 'hbm') packs.push(files)
      const adapters = await openAdapters(lora, open, host, signal)
      const prepared = await prepareModel(file, { ...request, architecture, contextLength, adapters, signal })
      const mayKeep = source === request.source && files.packPlace !== undefined
      if (mayKeep && isWorthPack(prepared)) place = files.packPlace
      return files.isCopy === true ? asOriginal(prepared) : prepared
    }
    const main = await prepare(request.source, request)
    const { draft: draftSource } = request
    const second = draftSource && (await prepare(draftSource, { contextLength: main.contextLength }))
    const prepareVision = await openVision(request, main.file.tower, open, host, signal)
    const { vision, notes } = prepareVision(request.weights, main)
    const seen = { ...main, notes: [...main.notes, ...notes] }
    const { prepared, draft } = withStateBudget({ prepared: seen, draft: second }, request.stateBytes)
    const options = { ...request, draft, vision, host, keepsContents: place !== undefined }
    const { contents, ...model } = await buildModel(prepared, options, hooks)
    for (const files of packs) await files.trust?.()
    return { ...model, keepPack: place && contents && packKeeper(contents, place, host) }
  })
}
