// Loading a model. In: a request, a host, a way to open files. Out: a ready model, for `load` of the engine
// service.
import { isHalfbyteError } from '../../base/errors.ts'
import type { Host } from '../../runtime/host.ts'
import type { LoadRequest } from '../wire/protocol.ts'
import { type BuiltModel, buildModel } from './build-model.ts'
import type { LoaderHooks } from './loaded-model.ts'
import { openAdapters } from './open/open-adapters.ts'
import { openAny } from './open/open-any.ts'
import { type FileOpener, type OpenFiles, openRequestedFiles } from './open/open-files.ts'
import { keepsFloats } from './plan-weights.ts'
import { prepareModel } from './prepare.ts'
import { withStateBudget } from './state-budget.ts'

/**
 * Loads a model and, if the request names one, its draft model. After a typed error or the signal's reason
 * nothing is left allocated.
 */
export async function loadModel(
  request: LoadRequest,
  hooks: LoaderHooks,
  host: Host,
  openFiles: FileOpener = openRequestedFiles,
): Promise<BuiltModel> {
  const { signal } = hooks
  const opened: OpenFiles[] = []
  const packs: OpenFiles[] = []
  const open = async (source: LoadRequest['source']) => {
    const files = await openFiles({ ...request, source }, hooks)
    opened.push(files)
    return files
  }
  const prepare = async (
    source: LoadRequest['source'],
    contextLength = request.contextLength,
    lora?: LoadRequest['lora'],
  ) => {
    const { file, files } = await openAny(source, open, host, { signal, bfloats: keepsFloats(request) })
    if (file.format === 'hbm') packs.push(files)
    const adapters = await openAdapters(lora, open, host, signal)
    return prepareModel(file, { ...request, contextLength, adapters, signal })
  }
  try {
    const main = await prepare(request.source, request.contextLength, request.lora)
    const second = request.draft === undefined ? undefined : await prepare(request.draft, main.contextLength)
    const { prepared, draft } = withStateBudget({ prepared: main, draft: second }, request.stateBytes)
    const built = await buildModel(prepared, { ...request, draft, host }, hooks)
    for (const files of packs) await files.trust?.()
    return built
  } catch (error) {
    if (isHalfbyteError(error)) for (const files of opened) await files.distrust?.(error)
    throw error
  } finally {
    for (const files of opened) await files.close()
  }
}
