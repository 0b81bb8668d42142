// Killed stores and restores in Chromium. In: stored sessions, and engines that pause while overwriting or
// reading them and are killed there. Out: typed errors, the old or the new session, and no leftovers.
import { expect, type Page } from '@playwright/test'
import { openLibrary, test } from '../library-site.ts'
import { OPTIONS, PROMPT, smallModel } from '../small-models.ts'
import { crash, end, type Halt, halt, watchWorkers } from './halts.ts'

const STEPS = [
  ['store', 'open bin', 1],
  ['store', 'write bin', 1],
  ['store', 'write bin', 2],
  ['store', 'flush bin', 1],
  ['store', 'close bin', 1],
  ['store', 'open json', 1],
  ['store', 'write json', 1],
  ['store', 'flush json', 1],
  ['store', 'close json', 1],
  ['store', 'remove json', 1],
  ['store', 'remove bin', 1],
  ['restore', 'open bin', 1],
  ['restore', 'read bin', 1],
  ['restore', 'read bin', 3],
  ['restore', 'close bin', 1],
] as const

/**
 * Stores a session under each name. Returns the next reply of such a session, and of the one that overwrites
 * it.
 */
const storeAll = (page: Page, model: string, names: readonly string[]) =>
  page.evaluate(
    async ({ model, names, prompt, options }) => {
      await using engine = await halfbyte.Engine.load(model, { threads: 1, cache: 'none' })
      const said: string[] = []
      for (const question of [prompt, prompt.repeat(2)]) {
        const session = engine.createSession()
        await session.send(question, options).result
        if (question === prompt) for (const name of names) await session.store(name)
        said.push(await session.send('and then', options).text())
      }
      return said
    },
    { model, names, prompt: PROMPT, options: OPTIONS },
  )

/** Each stored session's next reply, and whether it can be stored again. */
const goOn = (page: Page, model: string, names: readonly string[]) =>
  page.evaluate(
    async ({ model, names, options }) => {
      await using engine = await halfbyte.Engine.load(model, { threads: 1, cache: 'none' })
      const said: string[] = []
      for (const name of names) {
        const session = await engine.restoreSession(name)
        said.push(await session.send('and then', options).text())
        await session.dispose()
      }
      await engine.createSession().store('another')
      return said
    },
    { model, names, options: OPTIONS },
  )

const entries = (page: Page) =>
  page.evaluate(async () => {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('halfbyte-sessions')
    const found: string[] = []
    for await (const name of folder.keys()) found.push(name)
    return found
  })

for (const how of ['terminate', 'crash'] as const)
  test(`if an engine is killed by ${how} while storing or restoring sessions, each session is either the old or the new one`, async ({
    context,
    site,
  }) => {
    const { files, place, text } = await smallModel('gguf')
    const url = await site.add(new File([files.get(place)!], place))
    const open = async () => {
      const page = await context.newPage()
      await watchWorkers(page)
      await openLibrary(page, site.isolated)
      return page
    }
    const page = await open()
    const halts = STEPS.map(([does, step, nth]): Halt => {
      const name = `${does} at ${step} ${nth}`
      return { place: { url, text }, step, nth, name, session: { does, name } }
    })
    const names = halts.map(({ name }) => name)
    const [before, after] = await storeAll(page, url, names)
    expect(after).not.toBe(before)
    const doomed = await open()
    await halt(doomed, halts)
    if (how === 'crash') await crash(doomed)
    else expect(await end(doomed, how)).toEqual(names.map(() => 'internal'))
    const said = await goOn(page, url, names)
    // A session exists if it has a manifest.
    const isWritten = (name: string) => /^store at (flush json|close json|remove)/.test(name)
    expect(said.map((text, at) => `${names[at]}: ${text}`)).toEqual(
      names.map((name) => `${name}: ${isWritten(name) ? after : before}`),
    )
    expect(await entries(page)).toHaveLength(2 * (names.length + 1))
    await page.evaluate(
      async (names) => {
        for (const name of names) await halfbyte.unstoreSession(name)
      },
      [...names, 'another'],
    )
    expect(await entries(page)).toEqual([])
  })
