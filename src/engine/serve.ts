// Shared by the services of engines and embedders: serving a page, aborts, load reports, texts.
import { expose } from 'comlink'
import { checkList, wrongOption } from '../core/base/check-options.ts'
import type { HostAssets } from './browser-host.ts'
import type { LoaderHooks } from './load/loaded-model.ts'
import type { LoadProgress } from './types/model.ts'
import type { LoadCommand, LoadReport, TextOrIds } from './wire/protocol.ts'
import type { LifeMessage } from './wire/script.ts'
import { keepErrorClasses } from './wire/wire-failure.ts'

/**
 * The worker's side of `workerConnection`: answers with `service`, in the worker whose global scope this is.
 * `prepare` is called if the worker starts before there is anything to load.
 */
export function serveConnection(service: object, prepare: (assets: HostAssets) => void): void {
  keepErrorClasses()
  globalThis.addEventListener('messageerror', () =>
    globalThis.postMessage({ type: 'unread' } satisfies LifeMessage),
  )
  globalThis.addEventListener('message', ({ data }: MessageEvent<LifeMessage | undefined>) => {
    if (data?.type === 'ping') globalThis.postMessage({ type: 'pong' } satisfies LifeMessage)
    if (data?.type === 'prepare') prepare(data.assets)
    if (data?.type !== 'hold') return
    const forLife = () => {
      globalThis.postMessage({ type: 'held' } satisfies LifeMessage)
      return new Promise<never>(() => undefined)
    }
    // A sandboxed frame may have locks although its workers have none.
    navigator.locks?.request(data.lock, forLife).catch(() => undefined)
  })
  expose(service)
}

/** Milliseconds between two reports of a download. Pages hold the memory of messages for a long time. */
const REPORT_MS = 50

/** Reports a load's progress through `port`; a download's progress only at intervals. */
export function loadReports(port: MessagePort): Required<Pick<LoaderHooks, 'onProgress' | 'onNeed'>> {
  let latest: LoadProgress
  let timer: ReturnType<typeof setTimeout> | undefined
  const report = () => {
    clearTimeout(timer)
    timer = undefined
    port.postMessage({ type: 'progress', progress: latest } satisfies LoadReport)
  }
  return {
    onProgress(progress) {
      const isRetry = progress.phase === 'download' && progress.retry !== undefined
      const mayWait = progress.phase === 'download' && !isRetry && progress.loaded !== progress.total
      if (timer && !mayWait) report()
      latest = progress
      if (mayWait) timer ??= setTimeout(report, REPORT_MS)
      else report()
    },
    onNeed: (neededBytes) => port.postMessage({ type: 'need', neededBytes } satisfies LoadReport),
  }
}

/** Runs `work` with a signal that the other end of `port` can abort, then closes the port. */
export async function abortable<T>(port: MessagePort, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  port.onmessage = ({ data }: MessageEvent<LoadCommand>) => {
    if (data.type === 'abort') abort.abort()
  }
  try {
    return await work(abort.signal)
  } finally {
    port.close()
  }
}

/** Throws `unsupported` if a value is not a string. */
export function checkText(name: string, text: unknown): asserts text is string {
  if (typeof text !== 'string') throw wrongOption(name, text, 'a text')
}

/** The items of a list, each a text or ids, which are not checked yet. Throws `unsupported`. */
export function textsOrIds(name: string, texts: unknown): readonly TextOrIds[] {
  checkList(name, texts)
  return Array.from(texts, (text) => {
    if (typeof text === 'string' || Array.isArray(text) || ArrayBuffer.isView(text)) return text as TextOrIds
    throw wrongOption(`a text of ${name}`, text, 'a text or a list of token ids')
  })
}

/** The texts of a list. Throws `unsupported`. */
export function textsOf(name: string, texts: unknown): readonly string[] {
  checkList(name, texts)
  return Array.from(texts, (text) => {
    checkText(`a string in ${name}`, text)
    return text
  })
}
