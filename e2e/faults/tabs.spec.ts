// Tabs that share an engine. In: tabs of one site, of which some are closed or killed during replies and
// others lose their workers. Out: a typed error for pending replies, then the same replies from one engine.
import type { BrowserContext, Page } from '@playwright/test'
import { expect } from '@playwright/test'
import type { Engine, Generation, Session } from '../../src/index.ts'
import {
  GOLDEN,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
} from '../../test/conformance/testing/golden.ts'
import { openLibrary, test } from '../library-site.ts'

interface Tab {
  readonly engine: Engine
  readonly session: Session
  /** The session's reply before any death. */
  readonly file: Blob
  /** The reply of the session's next turn. */
  readonly next: string
  running?: Generation
  outcome?: Promise<string>
  goOn?: () => void
}

declare global {
  var started: (Worker & { readonly address: string })[]
  var tab: Tab
}

/** How a tab's engine dies, and whether its own worker dies. */
const DEATHS = [
  { death: 'the worker of the engine is terminated', pool: 'shared', threads: 2, site: 'isolated' },
  { death: 'one thread after the other is terminated', pool: 'shared', threads: 3, site: 'isolated' },
  { death: 'a shard is terminated', pool: 'shards', threads: 2, site: 'plain' },
  { death: 'the kernels trap', pool: 'single', threads: 1, site: 'plain' },
] as const

type Death = (typeof DEATHS)[number]

/** Tabs of one site that share the first tab's engine. Each has answered one turn. */
async function openTabs(
  context: BrowserContext,
  count: number,
  address: string,
  model: string,
  { death, pool, threads }: Pick<Death, 'pool' | 'threads'> & { readonly death?: Death['death'] },
): Promise<Page[]> {
  const pages: Page[] = []
  for (let index = 0; index < count; index++) {
    const page = await context.newPage()
    await page.addInitScript(() => {
      globalThis.started = []
      globalThis.Worker = class extends Worker {
        constructor(...how: ConstructorParameters<typeof Worker>) {
          super(...how)
          started.push(Object.assign(this, { address: `${how[0]}` }))
        }
      }
    })
    await openLibrary(page, address)
    await page.evaluate(
      async ({ model, pool, threads, death, prompt, options }) => {
        const worker = death === 'the kernels trap' ? workers.trapping : workers.impatient
        const assets = { worker }
        const engine = await forTabs(model, { pool, threads, cache: 'none', assets })
        const session = engine.createSession({ overflow: 'shift' })
        await session.send(prompt, options).result
        const file = await session.save()
        const next = await (await session.fork()).send('b', options).text()
        globalThis.tab = { engine, session, file, next }
      },
      { model, pool, threads, death, prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS },
    )
    pages.push(page)
  }
  return pages
}

/** Starts an endless reply, which pauses after three chunks. */
const begin = (page: Page) =>
  page.evaluate(async () => {
    const session = tab.engine.createSession({ overflow: 'shift' })
    const running = session.send('and then', { temperature: 0, maxTokens: 100_000, speculation: 'off' })
    const outcome = running.result
      .then(
        ({ finishReason }) => finishReason,
        (error) => (halfbyte.isHalfbyteError(error) ? error.code : `untyped: ${error}`),
      )
      .finally(() => session.dispose())
    Object.assign(tab, { running, outcome })
    const iterator = running[Symbol.asyncIterator]()
    for (let chunk = 0; chunk < 3; chunk++) await iterator.next()
    const read = async () => {
      while (!(await iterator.next()).done);
    }
    read().catch(() => undefined)
  })

const outcomeOf = (page: Page) => page.evaluate(() => tab.outcome)

/** `turn`: 1 for the first death of a test, 2 for the second. */
const kill = (page: Page, death: Death['death'], turn: number) =>
  page.evaluate(
    ({ death, turn }) => {
      // The engine may have started late and replaced others.
      const engines = started.filter(({ address }) => address === workers.impatient)
      if (death === 'the worker of the engine is terminated') engines.at(-1)!.terminate()
      if (death === 'a shard is terminated') started.at(-1)?.terminate()
      if (death === 'one thread after the other is terminated') started[turn]?.terminate()
      if (death === 'the kernels trap') new BroadcastChannel('trapping').postMessage('now')
    },
    { death, turn },
  )

/** Whatever has died, new sessions, this tab's own session and its saved file must answer as before. */
async function answers(page: Page): Promise<void> {
  const found = await page.evaluate(
    async ({ prompt, options }) => {
      const { engine, session, file } = tab
      const restored = await engine.restoreSession(file)
      const { text } = await engine.complete(prompt, options).result
      const own = await (await session.fork()).send('b', options).text()
      const saved = await restored.send('b', options).text()
      return { text, isSame: [own, saved].map((it) => it === tab.next), turns: session.messages.length }
    },
    { prompt: GOLDEN_PROMPT, options: GOLDEN_OPTIONS },
  )
  expect(found).toEqual({ text: goldenReply(GOLDEN).text, isSame: [true, true], turns: 2 })
}

/** One tab has workers, and the others have none. */
const expectOneEngine = (pages: readonly Page[]) =>
  expect.poll(() => pages.map((page) => page.workers().length).filter((count) => count > 0)).toHaveLength(1)

for (const { death, pool, threads, site: kind } of DEATHS) {
  test(`when ${death} during a reply to another tab, that reply fails with its code and each tab's next one succeeds, even in a single tab (${pool})`, async ({
    context,
    site,
  }) => {
    const model = await site.add(await goldenFile(GOLDEN))
    const pages = await openTabs(context, 3, site[kind], model, { death, pool, threads })
    const [leader, follower] = pages as [Page, Page]
    await expectOneEngine(pages)
    expect(leader.workers().length).toBeGreaterThan(0)
    await begin(follower)
    await kill(leader, death, 1)
    expect(await outcomeOf(follower)).toBe('internal')
    await Promise.all(pages.map(answers))
    await expectOneEngine(pages)
    const alone = pages.find((page) => page.workers().length > 0) as Page
    for (const page of pages) if (page !== alone) await page.close()
    await begin(alone)
    await kill(alone, death, 2)
    expect(await outcomeOf(alone)).toBe('internal')
    await answers(alone)
    await alone.close()
  })
}

test('tabs killed or closed during replies leave nothing behind, and a closed leader is replaced', async ({
  context,
  site,
}) => {
  const model = await site.add(await goldenFile(GOLDEN))
  const how = { pool: 'shards', threads: 2 } as const
  const pages = await openTabs(context, 4, site.plain, model, how)
  const [leader, killed, closed, last] = pages as [Page, Page, Page, Page]
  const held = () => last.evaluate(async () => (await tab.engine.memory()).stateBytes)
  const before = await held()
  for (const page of [killed, closed, leader, last]) await begin(page)
  expect(await held()).toBeGreaterThan(before)
  const session = await context.newCDPSession(killed)
  // A crashed tab answers nothing more, not even this command.
  void session.send('Page.crash').catch(() => undefined)
  await closed.close()
  for (const page of [leader, last]) {
    await page.evaluate(() => tab.running?.cancel())
    expect(await outcomeOf(page)).toBe('cancelled')
  }
  // The memory of the other two tabs' sessions is freed too.
  await expect.poll(held).toBeLessThan(before)
  await answers(leader)

  const asked = { temperature: 0, maxTokens: 300, speculation: 'off' } as const
  const whole = await last.evaluate((asked) => tab.engine.complete('and then', asked).text(), asked)
  await last.evaluate(async (asked) => {
    const iterator = tab.engine.complete('and then', asked)[Symbol.asyncIterator]()
    let text = (await iterator.next()).value?.text ?? ''
    const { promise, resolve: goOn } = Promise.withResolvers<void>()
    const rest = async () => {
      await promise
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) text += next.value.text
      return text
    }
    Object.assign(tab, { outcome: rest(), goOn })
  }, asked)
  await leader.close()
  // The stream was not read in the meantime, so the leader was closed during the reply.
  await last.evaluate(() => tab.goOn?.())
  expect(await outcomeOf(last)).toBe(whole)
  await answers(last)
  await expect.poll(() => last.workers().length).toBe(2)
})
