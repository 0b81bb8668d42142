// Killed workers. In: a worker of each pool that is killed while it loads, reads a prompt, answers, saves,
// restores, forks or idles. Out: a typed error, and a successful next attempt.
import { expect } from '@playwright/test'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../../test/conformance/testing/golden.ts'
import { endlessModel } from '../endless-model.ts'
import { openLibrary, test } from '../library-site.ts'

/** Kills the worker that was started last: the engine's own, or a helper. */
const POOLS = [
  { pool: 'single', threads: 1, site: 'isolated', workers: 1 },
  { pool: 'shared', threads: 2, site: 'isolated', workers: 2 },
  { pool: 'shards', threads: 2, site: 'plain', workers: 2 },
] as const

/**
 * Other activities that may be in progress when a worker dies, and how they may end. The death of the
 * engine's worker is noticed at once. That of a helper is noticed only by operations that need it: the others
 * resolve, and the next operation fails.
 */
const OTHERS = {
  save: ['internal', 'resolved'],
  restore: ['internal', 'resolved'],
  fork: ['internal', 'resolved'],
  embedding: ['internal', 'resolved'],
  edit: ['internal'],
  'a reply from its beginning': ['internal'],
  'a constrained reply': ['internal'],
  'a reply with tools': ['internal'],
  'sampling with many options': ['internal'],
  'idle time': ['resolved'],
} as const

for (const { pool, threads, site: kind, workers: count } of POOLS) {
  test(`killing a worker of ${pool} during a load, a prompt, an answer or anything else gives a typed error, and the next attempt succeeds`, async ({
    page,
    site,
  }) => {
    const files: string[] = []
    for (const { name, buffer } of endlessModel())
      files.push(await site.add(new File([new Uint8Array(buffer)], name)))
    const golden = await site.add(await goldenFile(GOLDEN))
    await openLibrary(page, site[kind])
    const found = await page.evaluate(
      async ({ files, pool, threads, count, others }) => {
        let started: Worker[] = []
        let onStart: () => unknown = () => {}
        globalThis.Worker = class extends Worker {
          constructor(...how: ConstructorParameters<typeof Worker>) {
            super(...how)
            started.push(this)
            onStart()
          }
        }
        const model = await Promise.all(
          files.map(async (url) => new File([await (await fetch(url)).blob()], url.split('/').at(-1)!)),
        )
        const codeOf = (promise: Promise<unknown>) =>
          promise.then(
            () => 'resolved',
            (error) => (halfbyte.isHalfbyteError(error) ? error.code : `untyped: ${error}`),
          )
        const load = (onProgress: (progress: { phase: string }) => void = () => {}) => {
          started = []
          const assets = { worker: workers.impatient }
          const options = { pool, threads, cache: 'none', contextLength: 16_384, assets } as const
          return halfbyte.Engine.load(model, { ...options, onProgress })
        }
        /** Kills the last worker while the engine processes `text`. */
        const die = async (text: string, when: 'prompt' | 'answer') => {
          const engine = await load()
          const victim = started.at(-1)
          const session = engine.createSession()
          const running = session.send(text, { temperature: 0, maxTokens: 10_000, speculation: 'off' })
          let chunks = 0
          let answering = () => {}
          const answer = new Promise<void>((resolve) => {
            answering = resolve
          })
          const read = (async () => {
            for await (const _ of running) if (++chunks === 3) answering()
          })()
          const outcomes = Promise.all([codeOf(running.result), codeOf(read)])
          await (when === 'answer' ? answer : new Promise((resolve) => setTimeout(resolve, 200)))
          const before = chunks
          victim?.terminate()
          return async () => ({
            pool: engine.pool,
            threads: engine.threads,
            began: before > 0,
            pending: await outcomes,
            later: [await codeOf(session.send('b').result), await codeOf(engine.complete('c').result)],
            disposed: await codeOf(engine.dispose()),
          })
        }
        /** Kills a worker during another activity. */
        const dieIn = async (what: string, who: 'engine' | 'last') => {
          const engine = await load()
          const victim = started.at(who === 'engine' ? 0 : -1)
          const session = engine.createSession()
          const short = { temperature: 0, maxTokens: 3, speculation: 'off' } as const
          await session.send('the river', short).result
          const file = await session.save()
          const long = { ...short, maxTokens: 10_000 }
          const tool = { name: 'f', description: 'does', parameters: { type: 'object', properties: {} } }
          const sampling = {
            temperature: 0.8,
            topK: 20,
            topP: 0.9,
            minP: 0.01,
            seed: 5,
            logprobs: 2,
            repeatPenalty: 1.1,
            frequencyPenalty: 0.1,
            presencePenalty: 0.1,
            logitBias: { 3: 1 },
          }
          const work: Record<string, () => Promise<unknown>> = {
            save: () => session.save(),
            restore: () => engine.restoreSession(file),
            fork: () => session.fork(),
            embedding: () => engine.embed(['the sea']),
            edit: () => session.edit(0, 'b', long).result,
            'a reply from its beginning': () => session.regenerate({ ...long, prefix: 'and then' }).result,
            'a constrained reply': () => session.send('b', { ...long, pattern: '[a-z ]{400,4000}' }).result,
            'a reply with tools': () => session.send('b', { ...long, tools: [tool] }).result,
            'sampling with many options': () => session.send('b', { ...long, ...sampling }).result,
            'idle time': async () => undefined,
          }
          const outcome = codeOf(work[what]!())
          victim?.terminate()
          return async () => {
            const during = await outcome
            // A browser may take two seconds to terminate a busy thread; until then, the thread keeps
            // helping.
            let next: string
            do next = await codeOf(session.send('b', short).result)
            while (next === 'resolved')
            const last = await codeOf(engine.complete('c').result)
            return { what, during, next, last, disposed: await codeOf(engine.dispose()) }
          }
        }
        // Runs them in parallel, to wait only once for the worker's timeout.
        const deaths: Awaited<ReturnType<typeof dieIn>>[] = []
        for (const what of others) {
          deaths.push(await dieIn(what, 'engine'))
          if (count > 1) deaths.push(await dieIn(what, 'last'))
        }
        const other = Promise.all(deaths.map((death) => death()))
        const reports = [await die('a'.repeat(12_000), 'prompt'), await die('and then', 'answer')]
        // A helper is killed before it has answered; the engine's own worker once it has started loading.
        const kill = () => void (started.length === count && started.at(-1)?.terminate())
        onStart = () => count > 1 && kill()
        const loading = codeOf(load(({ phase }) => count === 1 && phase === 'compile' && kill()))
        const [prompt, answer] = await Promise.all(reports.map((report) => report()))
        return { load: await loading, prompt, answer, other: await other }
      },
      { files, pool, threads, count, others: Object.keys(OTHERS) },
    )
    const ends = {
      pool,
      threads,
      disposed: 'resolved',
      pending: ['internal', 'internal'],
      later: ['disposed', 'disposed'],
    }
    expect(found).toMatchObject({
      load: 'internal',
      prompt: { ...ends, began: false },
      answer: { ...ends, began: true },
    })
    expect(found.other).toHaveLength(Object.keys(OTHERS).length * count)
    for (const { what, during, next, ...rest } of found.other) {
      expect(OTHERS[what as keyof typeof OTHERS], what).toContain(during)
      expect(['internal', 'disposed'], what).toContain(next)
      expect(rest, what).toMatchObject({ last: 'disposed', disposed: 'resolved' })
    }
    const reply = await page.evaluate(
      async ({ url, prompt, options, pool, threads }) => {
        await using engine = await halfbyte.Engine.load(url, { pool, threads, cache: 'none' })
        return { text: await engine.complete(prompt, options).text(), pool: engine.pool }
      },
      { url: golden, prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS, pool, threads },
    )
    expect(reply).toEqual({ text: goldenReply(GOLDEN).text, pool })
  })
}
