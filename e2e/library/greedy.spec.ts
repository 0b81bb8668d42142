// Greedy text in Chromium. In: the golden model and the chat models, through the public API in a page. Out:
// the same text as on other machines.
import { expect, type Page } from '@playwright/test'
import type { Build, LoadOptions } from '../../src/index.ts'
import { BUILDS } from '../../test/conformance/testing/builds.ts'
import {
  EMBEDDED_OPTIONS,
  EMBEDDED_TURNS,
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
  repliesOf,
  TALKING_MODELS,
} from '../../test/conformance/testing/golden.ts'
import { repositoryFile } from '../../test/conformance/testing/node-engine.ts'
import { openLibrary, test } from '../library-site.ts'

interface Reply {
  readonly text: string
  readonly tokens: readonly number[]
  readonly threads: number
  readonly build: Build
}

const complete = (
  page: Page,
  url: string,
  options: Omit<LoadOptions, 'draft' | 'vision' | 'lora'>,
): Promise<Reply> =>
  page.evaluate(
    async ({ url, options, prompt, decode }) => {
      const engine = await halfbyte.Engine.load(url, { ...options, cache: 'none' })
      const { text, tokens } = await engine.complete(prompt, decode).result
      await engine.dispose()
      return { text, tokens, threads: engine.threads, build: engine.build }
    },
    { url, options, prompt: GOLDEN_PROMPT, decode: GOLDEN_OPTIONS },
  )

const SHARDS = (['relaxed', 'simd128'] as const).map((build) => ({ build, threads: 2 }))
for (const { where, isIsolated, builds } of [
  { where: 'on both builds, one and two threads', isIsolated: true, builds: BUILDS },
  { where: 'on two shards where memory cannot be shared', isIsolated: false, builds: SHARDS },
]) {
  test(`every precision gives the golden text ${where}`, async ({ page, site }) => {
    await openLibrary(page, isIsolated ? site.isolated : site.plain)
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(isIsolated)
    for (const one of GOLDEN_CASES) {
      const url = await site.add(await goldenFile(one))
      for (const { build, threads } of builds) {
        const reply = await complete(page, url, { build, threads, weights: one.weights })
        expect(reply, one.name).toEqual({ ...goldenReply(one), build, threads })
      }
    }
  })
}

for (const { name, path } of TALKING_MODELS) {
  test(`${name} gives the same text as everywhere else`, async ({ page, site }) => {
    const url = await site.add(repositoryFile(path))
    await openLibrary(page, site.isolated)
    for (const { build, threads } of BUILDS) {
      const replies = await page.evaluate(
        async ({ url, build, threads, turns, options }) => {
          const engine = await halfbyte.Engine.load(url, { build, threads, cache: 'none' })
          const session = engine.createSession()
          const texts: string[] = []
          for (const turn of turns) texts.push(await session.send(turn, options).text())
          await engine.dispose()
          return texts
        },
        { url, build, threads, turns: EMBEDDED_TURNS, options: EMBEDDED_OPTIONS },
      )
      expect(replies).toEqual(repliesOf(name))
    }
  })
}
