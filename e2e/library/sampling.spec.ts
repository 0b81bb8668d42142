// Sampling in Chromium. In: a small Llama, through the public API in a page. Out: whether samples match
// Node's, and processors run in the worker.
import { expect, type Page } from '@playwright/test'
import { CHAIN_OPTIONS, CHAIN_PROMPT, CHAINS, drawChains } from '../../test/conformance/testing/chains.ts'
import { TINY_PATH } from '../../test/conformance/testing/golden.ts'
import { openEngine, repositoryFile } from '../../test/conformance/testing/node-engine.ts'
import { openLibrary, test } from '../library-site.ts'

test('a seed gives the same tokens as in Node, for every sampler chain', async ({ page, site }) => {
  const url = await site.add(repositoryFile(TINY_PATH))
  await using engine = await openEngine([repositoryFile(TINY_PATH)], { build: 'simd128', threads: 1 })
  const expected = await drawChains(engine)
  await openLibrary(page, site.isolated)
  const drawn = await page.evaluate(
    async ({ url, chains, options, prompt }) => {
      const engine = await halfbyte.Engine.load(url, { cache: 'none', threads: 2 })
      const replies: Record<string, unknown> = {}
      for (const [name, chain] of Object.entries(chains)) {
        const { tokens, logprobs } = await engine.complete(prompt, { ...chain, ...options }).result
        replies[name] = { tokens, logprobs }
      }
      await engine.dispose()
      return replies
    },
    { url, chains: CHAINS, options: CHAIN_OPTIONS, prompt: CHAIN_PROMPT },
  )
  expect(drawn).toEqual(expected)
})

const ONLY_70 = 'export default () => (logits) => { logits.fill(-Infinity); logits[70] = 0 }'

/** Ids sampled with a processor, or the error. */
const drawWith = (page: Page, url: string, processor: string): Promise<unknown> =>
  page.evaluate(
    async ({ url, processor }) => {
      const engine = await halfbyte.Engine.load(url, { cache: 'none' })
      try {
        return (await engine.complete('a', { maxTokens: 3, processors: [processor] }).result).tokens
      } catch (error) {
        return halfbyte.isHalfbyteError(error) ? `${error.code}: ${error.message}` : String(error)
      } finally {
        await engine.dispose()
      }
    },
    { url, processor },
  )

test('the worker imports processors, from the page’s own URLs and others', async ({ page, site }) => {
  const url = await site.add(repositoryFile(TINY_PATH))
  const relative = await site.add(new File([ONLY_70], 'only.js', { type: 'text/javascript' }))
  for (const place of [site.isolated, site.plain]) {
    await openLibrary(page, place)
    expect(await drawWith(page, url, relative)).toEqual([70, 70, 70])
    expect(await drawWith(page, url, `data:text/javascript,${encodeURIComponent(ONLY_70)}`)).toEqual([
      70, 70, 70,
    ])
    const blob = await page.evaluate(
      (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
      ONLY_70,
    )
    expect(await drawWith(page, url, blob)).toEqual([70, 70, 70])
    expect(await drawWith(page, url, 'nowhere.js')).toMatch(
      /^network: the logit processor .*nowhere\.js cannot be imported/,
    )
  }
})

test('if a processor never returns, an abort still rejects at once, and dispose terminates the worker', async ({
  page,
  site,
}) => {
  const url = await site.add(repositoryFile(TINY_PATH))
  await openLibrary(page, site.isolated)
  const seen = await page.evaluate(async (url) => {
    const code = 'export default () => () => { for (;;); }'
    const engine = await halfbyte.Engine.load(url, { cache: 'none', threads: 2 })
    const controller = new AbortController()
    const processors = [`data:text/javascript,${encodeURIComponent(code)}`]
    const reply = engine.complete('a', { processors, signal: controller.signal }).result.catch(String)
    // The worker may already hang or be about to; both end the same way.
    await new Promise((resolve) => setTimeout(resolve, 500))
    controller.abort('enough')
    const ends = [await reply]
    // The worker receives the request and never answers.
    const pending = engine.tokenize('a').catch(({ code }) => code)
    await engine.dispose()
    ends.push(await pending)
    const again = await halfbyte.Engine.load(url, { cache: 'none', threads: 2 })
    ends.push(String((await again.complete('a', { maxTokens: 3 }).result).tokens.length))
    await again.dispose()
    return ends
  }, url)
  expect(seen).toEqual(['enough', 'disposed', '3'])
})
