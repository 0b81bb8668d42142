// Engines for the command line. In: `<model>` and flags. Out: an engine in this process.
import { Engine } from '../api/engine.ts'
import { localConnection } from '../engine/connection.ts'
import { type FileOpener, loadModel } from '../engine/model.ts'
import { createService } from '../engine/service.ts'
import { openModelFiles } from './files.ts'
import { nodeHost } from './host.ts'
import type { EngineFlags } from './options.ts'
import { clearProgress, showProgress } from './progress.ts'
import type { SamplerFlags } from './sampler-options.ts'

const openFiles: FileOpener = ({ source }, { signal, onProgress }) =>
  openModelFiles(String(source), {
    signal,
    onProgress: (progress) => onProgress({ phase: 'download', ...progress }),
  })

/** Loads `<model>`; an aborted signal rejects with its reason. */
export function openEngine(
  model: string,
  flags: EngineFlags & Pick<SamplerFlags, 'draft'>,
  signal: AbortSignal,
): Promise<Engine> {
  const service = createService((request, hooks) => loadModel(request, hooks, nodeHost(), openFiles))
  return Engine.open(localConnection(service), model, {
    draft: flags.draft,
    threads: flags.threads,
    build: flags.build,
    weights: flags.weights,
    kvCache: flags.kv,
    contextLength: flags.context,
    signal,
    onProgress: showProgress,
  }).finally(clearProgress)
}
