// Loads `<model>` for the command line, with an engine in this process.

import type { NoteCode } from '../../core/base/engine-notes.ts'
import { givenPlace } from '../../core/formats/names/named-files.ts'
import { Engine } from '../../engine/api/engine.ts'
import type { ProbeReport } from '../../engine/api/types.ts'
import type { BuiltModel } from '../../engine/load/build-model.ts'
import { loadModel } from '../../engine/load/load-model.ts'
import type { ModelLoader } from '../../engine/load/loaded-model.ts'
import type { FileOpener } from '../../engine/load/open/requested-files.ts'
import { readsPack } from '../../engine/load/pack/stored-pack.ts'
import { probeModel } from '../../engine/probe/probe.ts'
import { createService } from '../../engine/service.ts'
import { localConnection } from '../../engine/wire/connection.ts'
import { openModelFiles, peekModelFiles, placedAdapters, placeOf, readText } from './files.ts'
import { openPacked } from './models/stored-packs.ts'
import { nodeHost } from './node-host.ts'
import type { EngineFlags, VisionFlags } from './options.ts'
import type { SamplerFlags } from './sampler-flags.ts'
import { storeOf } from './store/node-store.ts'
import { note } from './terminal/notes.ts'
import { clearProgress, showProgress } from './terminal/output.ts'

/** Reports whether `<model>` would fit here, without loading it. */
export async function probeEngine(
  model: string,
  flags: Pick<EngineFlags, 'weights' | 'kv' | 'context' | 'lora' | 'dtype' | 'architecture'>,
  signal: AbortSignal,
): Promise<ProbeReport> {
  const noModel: ModelLoader = () => Promise.reject(new Error('nothing is loaded here'))
  const service = createService(noModel, (request, hooks) =>
    probeModel(request, hooks, nodeHost(), ({ source, dtype }, { signal }) =>
      peekModelFiles(String(source), { signal, dtype }),
    ),
  )
  const { weights, kv: kvCache, context: contextLength, dtype, architecture } = flags
  const [place, lora] = await Promise.all([placeOf(model), placedAdapters(flags.lora)])
  return Engine.ask(localConnection(service), place, {
    weights,
    lora,
    kvCache,
    contextLength,
    dtype,
    architecture,
    signal,
  })
}

/** Notes about conditions that are normal for a model or a machine. */
const EXPECTED: ReadonlySet<NoteCode> = new Set(['one-thread', 'merged-system'])

/**
 * Loads `<model>`, and notes on stderr how the engine differs from the request, such as a shorter context. If
 * the signal is aborted, it rejects with its reason.
 */
export async function openEngine(
  model: string,
  flags: EngineFlags & Pick<SamplerFlags, 'draft'> & VisionFlags,
  signal: AbortSignal,
): Promise<Engine> {
  // The connection keeps the process alive until it is closed, so anything that can fail is done first.
  const [place, draft, vision, lora, chatTemplate] = await Promise.all([
    placeOf(model),
    flags.draft && placeOf(flags.draft),
    flags.vision && placeOf(flags.vision),
    placedAdapters(flags.lora),
    flags.chatTemplate && readText(flags.chatTemplate),
  ])
  const openFiles: FileOpener = ({ source, dtype }, { signal, onProgress }) => {
    const asked = givenPlace(String(source))
    const open = () => openModelFiles(asked, { signal, dtype, onProgress })
    return readsPack(flags) ? openPacked(asked, storeOf(undefined), open, { signal, onProgress }) : open()
  }
  const service = createService((request, hooks) => loadModel(request, hooks, nodeHost(), openFiles))
  const engine = await Engine.open(localConnection(service), place, {
    draft,
    vision,
    lora,
    chatTemplate,
    threads: flags.threads,
    build: flags.build,
    weights: flags.weights,
    kvCache: flags.kv,
    contextLength: flags.context,
    stateBytes: flags.stateBytes,
    dtype: flags.dtype,
    architecture: flags.architecture,
    signal,
    onProgress: showProgress,
  }).finally(clearProgress)
  for (const { code, text } of engine.notes) if (!EXPECTED.has(code)) note(text)
  return engine
}

/** An engine over a loaded model, which `withModel` disposes of. */
export const engineOver = (built: BuiltModel): Promise<Engine> =>
  Engine.open(localConnection(createService(async () => ({ ...built, dispose: () => undefined }))), 'loaded')
