// Halts. In: loads, and the step at which each one's worker pauses. Out: all of them paused at once in one
// page so that a test can kill them, and what they leave behind.
import type { Page } from '@playwright/test'
import type { FileServer } from '../../test/helpers/file-server.ts'
import { OPTIONS, PROMPT, type SmallModel } from '../small-models.ts'

/** A model at its own URL. */
export interface Place {
  readonly url: string
  /** Its adapter's folder. */
  readonly adapter?: string
  /** Its answer. */
  readonly text: string
}

export interface Halt {
  readonly place: Place
  readonly step: string
  /** The first of these steps has number 1. */
  readonly nth: number
  /** The step's name, for the test report. */
  readonly name: string
  /** What the engine does with a stored session. Default: it answers. */
  readonly session?: { readonly does: 'store' | 'restore'; readonly name: string }
}

interface Run {
  readonly worker: Worker
  readonly controller: AbortController
  /** The model's answer, or how its load ended. */
  readonly outcome: Promise<string>
}

declare global {
  var runs: Run[]
  /** The paused workers, by script URL. */
  var standing: Map<string, Worker>
  /** How a promise settled: its text, its error's code, or an abort's reason. */
  var ended: (promise: Promise<string>) => Promise<string>
}

/** Puts a model's files into a folder on the server. */
export function publish(server: FileServer, folder: string, model: SmallModel): Place {
  const { files, place, adapter, text } = model
  for (const [name, bytes] of files) server.files.set(`${folder}/${name}`, bytes)
  for (const [name, bytes] of adapter ?? []) server.files.set(`${folder}/lora/${name}`, bytes)
  const url = `${server.address}${folder}/`
  return { url: url + place, text, ...(adapter && { adapter: `${url}lora/` }) }
}

/** Call before the page is opened. */
export const watchWorkers = (page: Page) =>
  page.addInitScript(() => {
    globalThis.standing = new Map()
    globalThis.ended = (promise) =>
      promise.catch((error) => (halfbyte.isHalfbyteError(error) ? error.code : String(error)))
    globalThis.Worker = class extends Worker {
      constructor(...how: ConstructorParameters<typeof Worker>) {
        super(...how)
        this.addEventListener('message', ({ data }) => {
          if (data?.type === 'halted') standing.set(String(how[0]), this)
        })
      }
    }
  })

/** Resolves once all workers are paused. Rejects if a load settles instead. */
export const halt = (page: Page, halts: readonly Halt[]) =>
  page.evaluate(
    async ({ halts, prompt, options }) => {
      const begin = async ({ place: { url, adapter }, step, nth, session }: Halt, index: number) => {
        const controller = new AbortController()
        const { signal } = controller
        const lora = adapter === undefined ? undefined : [{ source: adapter }]
        const where = new URLSearchParams({ step, nth: String(nth), index: String(index) })
        const worker = new URL(`${workers.halting}#${where}`, location.href).href
        const answer = async () => {
          const cache = session === undefined ? 'opfs' : 'none'
          await using engine = await halfbyte.Engine.load(url, {
            ...{ threads: 1, lora, signal, cache, assets: { worker } },
          })
          if (session?.does === 'restore') await engine.restoreSession(session.name, { signal })
          if (session?.does === 'store') {
            const conversation = engine.createSession()
            await conversation.send(prompt.repeat(2), options).result
            await conversation.store(session.name, { signal })
          }
          return await engine.complete(prompt, { ...options, signal }).text()
        }
        const outcome = ended(answer())
        let isOver = false
        void outcome.then(() => {
          isOver = true
        })
        while (!standing.has(worker)) {
          if (isOver) throw new Error(`${url} did not reach ${where}: ${await outcome}`)
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
        return { worker: standing.get(worker)!, controller, outcome }
      }
      globalThis.runs = await Promise.all(halts.map(begin))
    },
    { halts, prompt: PROMPT, options: OPTIONS },
  )

/** Terminates all paused workers, and returns how the page's calls ended. */
export const end = (page: Page, how: 'terminate' | 'abort') =>
  page.evaluate((how) => {
    for (const { worker, controller } of runs)
      if (how === 'abort') controller.abort('the reason')
      else worker.terminate()
    return Promise.all(runs.map(({ outcome }) => outcome))
  }, how)

/** Crashes the page's renderer, with all its workers. */
export async function crash(page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash')
  const session = await page.context().newCDPSession(page)
  // The renderer answers nothing more, not even this command.
  void session.send('Page.crash').catch(() => undefined)
  await crashed
  await page.close()
}

/** The answer of each model, or how its load ends, with the page's own worker. Loads a few at once. */
export const answers = (page: Page, places: readonly Place[]) =>
  page.evaluate(
    async ({ places, prompt, options }) => {
      const answer = async ({ url, adapter }: Place) => {
        const lora = adapter === undefined ? undefined : [{ source: adapter }]
        await using engine = await halfbyte.Engine.load(url, { threads: 1, lora })
        return await engine.complete(prompt, options).text()
      }
      const found: string[] = []
      const next = places.entries()
      const work = async () => {
        for (const [index, place] of next) found[index] = await ended(answer(place))
      }
      await Promise.all([work(), work(), work()])
      return found
    },
    { places, prompt: PROMPT, options: OPTIONS },
  )

/** Everything in the origin's storage other than complete files with manifests and notes of missing files. */
export const leftovers = (page: Page) =>
  page.evaluate(async () => {
    const stored = await halfbyte.storedFiles()
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-models')
    const names = new Set<string>()
    for await (const name of folder.keys()) names.add(name)
    return [
      ...stored.filter(({ isComplete }) => !isComplete).map(({ url }) => `unfinished ${url}`),
      ...[...names].filter((name) => {
        if (name.endsWith('.bin')) return !names.has(name.replace('.bin', '.json'))
        return !name.endsWith('.json')
      }),
      ...Object.keys(localStorage).filter((key) => key.startsWith('halfbyte-load-')),
    ]
  })

/** Removes the models, and returns what remains. */
export const removeAll = (page: Page, places: readonly Place[]) =>
  page.evaluate(async (places) => {
    for (const { url, adapter } of places) {
      await halfbyte.unstore(url)
      if (adapter !== undefined) await halfbyte.unstore(adapter)
    }
    const root = await navigator.storage.getDirectory()
    const names: string[] = []
    const folder = await root.getDirectoryHandle('halfbyte-models')
    for await (const name of folder.keys()) names.push(name)
    return names
  }, places)
