// Starts a worker by its script's address, whatever its origin, and keeps the spare engine worker of a page.
import { reasonOf } from '../../core/base/errors.ts'
import type { HostAssets } from '../browser-host.ts'

let spare: { readonly worker: Worker; readonly script: string | undefined } | undefined

/**
 * Starts an engine worker, which fetches and compiles its module. The next `takeEngineWorker` with the same
 * `script` returns it. If this fails, the load tries again and reports the error.
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

/** The spare worker, or a new one. Throws the errors of `new Worker`. */
export function takeEngineWorker(script?: string): Worker {
  const taken = spare?.script === script ? spare?.worker : undefined
  if (taken !== undefined) spare = undefined
  return taken ?? start(script)
}

const start = (script: string | undefined): Worker =>
  startWorker(
    script,
    () => new Worker(new URL('../../../workers/engine.worker.ts', import.meta.url), { type: 'module' }),
  )

/** Starts the worker at the address `script`; without one, the worker that `bundled` constructs. */
export const startWorker = (script: string | undefined, bundled: () => Worker): Worker =>
  script === undefined ? startBundled(bundled) : startScript(new URL(script))

/**
 * Starts the worker that `start` constructs, at the address that its bundler chose, like `startScript`.
 * Bundlers only recognise `new Worker(new URL(...))`, and browsers do not report the address of a script that
 * did not load. So `start` is called while `Worker` is temporarily a different constructor, which records the
 * address.
 */
function startBundled(start: () => Worker): Worker {
  const { Worker } = globalThis
  function Bundled(address: string | URL, options?: WorkerOptions) {
    globalThis.Worker = Worker
    return startScript(new URL(address, location.href), options ?? {})
  }
  globalThis.Worker = Bundled as unknown as typeof Worker
  try {
    return start()
  } finally {
    globalThis.Worker = Worker
  }
}

/**
 * Messages in addition to Comlink's. The page names a lock; the worker takes it for its whole life and
 * confirms. Browsers do not report that a worker closed itself or was killed, but they release its locks.
 */
export type LifeMessage =
  | { readonly type: 'hold'; readonly lock: string }
  | { readonly type: 'held' }
  | { readonly type: 'ping' | 'pong' }
  /** The worker's module will be needed. */
  | { readonly type: 'prepare'; readonly assets: HostAssets }
  /** A message arrived that could not be read. It may have been any of the pending calls. */
  | { readonly type: 'unread' }
  /** From the script that should have imported the worker's own. */
  | { readonly type: 'missing' }

/** Browsers block worker scripts of another origin, but accept a script of this origin that imports one. */
function startScript(address: URL, options: WorkerOptions = { type: 'module' }): Worker {
  // A sandboxed frame has its own origin, which only `origin` reveals.
  const { origin } = globalThis
  const { href } = address
  const start = (script: string, given?: WorkerOptions) => {
    const worker = new Worker(trusted(script) as string, given)
    addresses.set(worker, href)
    return worker
  }
  if (address.origin === origin || address.protocol === 'blob:') return start(href, options)
  const name = JSON.stringify(href)
  // A bundler's classic script imports others with importScripts.
  if (options.type !== 'module') return start(blobOf(`importScripts(${name})`))
  if (origin !== 'null') return start(blobOf(`import ${name}`), options)
  // With an opaque origin, a blob must not be a module. Messages that arrive before the script runs are kept
  // for it.
  return start(
    blobOf(`let kept = []
onmessage = (event) => kept.push(event)
import(${name}).then(() => {
  onmessage = null
  for (const { data } of kept) dispatchEvent(new MessageEvent('message', { data }))
}, () => postMessage({ type: 'missing' }))`),
  )
}

const addresses = new WeakMap<Worker, string>()

/** The address with which a worker was started. */
export const addressOf = (worker: Worker): string => addresses.get(worker) ?? ''

const blobOf = (source: string) => URL.createObjectURL(new Blob([source], { type: 'text/javascript' }))

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): { createScriptURL(address: string): unknown }
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined

/** With Trusted Types, a page has to allow the policy `halfbyte`, which can be created only once. */
function trusted(address: string): unknown {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: TrustedTypes }
  policy ??= trustedTypes?.createPolicy('halfbyte', { createScriptURL: (given) => given })
  return policy?.createScriptURL(address) ?? address
}

/** What to do if the browser did not start a worker. */
export function refusalOf(cause: unknown): string {
  const reason = reasonOf(cause)
  const next = /trusted/i.test(reason)
    ? 'allow the Trusted Types policy "halfbyte"'
    : 'give assets.worker and assets.compute, which may be on another origin'
  return `the browser refused to start a worker (${reason}); ${next}`
}
