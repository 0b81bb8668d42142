// The spare worker. In: addresses of the engine's files. Out: an engine worker that starts before anything is
// to be loaded.
//
// A page's first script imports this file, so it imports little.
import type { HostAssets } from '../host.ts'
import type { LifeMessage } from './life.ts'
import { startScript } from './script.ts'

let spare: { readonly worker: Worker; readonly script: string | undefined } | undefined

/**
 * Starts an engine worker, which fetches and compiles its module. The next `takeEngineWorker` with the same
 * `script` gets it. What fails here is tried again and told then.
 */
export function prepareEngineWorker(script?: string, assets: HostAssets = {}): void {
  if (globalThis.Worker === undefined || spare !== undefined) return
  try {
    const worker = start(script)
    spare = { worker, script }
    worker.addEventListener('error', () => {
      if (spare?.worker === worker) spare = undefined
    })
    worker.postMessage({ type: 'prepare', assets } satisfies LifeMessage)
  } catch {
    spare = undefined
  }
}

/** The spare worker, or a new one. Throws what `new Worker` throws. */
export function takeEngineWorker(script?: string): Worker {
  const taken = spare?.script === script ? spare?.worker : undefined
  if (taken !== undefined) spare = undefined
  return taken ?? start(script)
}

const start = (script: string | undefined): Worker =>
  script === undefined
    ? new Worker(new URL('../../../workers/engine.worker.ts', import.meta.url), { type: 'module' })
    : startScript(new URL(script))
