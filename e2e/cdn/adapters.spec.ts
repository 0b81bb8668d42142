// The adapters without a bundler. In: dist/cdn, from a static file server. Out: whether each adapter answers
// with an engine from halfbyte.js, and whether tabs share one engine.
import { fileURLToPath } from 'node:url'
import { expect, test } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { serveFolder } from '../../test/helpers/http-server.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const PROMPT = JSON.stringify(EMBEDDED_TURNS[0])
const { maxTokens } = EMBEDDED_OPTIONS

const PAGE = `<!doctype html><title>App</title>
<script type="module">
  import { Engine } from '/cdn/halfbyte.js'
  import { createHalfbyte } from '/cdn/ai-sdk.js'
  import { openai, openaiFetch } from '/cdn/openai.js'
  import { promptApi } from '/cdn/prompt-api.js'
  const MODEL = '/models/halfbyte-stories.hbm'
  const messages = [{ role: 'user', content: ${PROMPT} }]
  const greedy = { temperature: 0, max_tokens: ${maxTokens} }
  globalThis.run = async () => {
    const engine = await Engine.load(MODEL, { threads: 1 })
    const whole = await openai(engine).chat.completions.create({ messages, ...greedy })
    const response = await openaiFetch(engine)('https://local.invalid/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ messages, ...greedy }),
    })
    const prompt = [{ role: 'user', content: [{ type: 'text', text: ${PROMPT} }] }]
    const { content } = await createHalfbyte({ engine })().doGenerate({
      prompt,
      temperature: 0,
      maxOutputTokens: ${maxTokens},
    })
    const session = await promptApi(() => Promise.resolve(engine)).create({ temperature: 0, topK: 1 })
    const prompted = await session.prompt(${PROMPT})
    return [
      whole.choices[0].message.content,
      (await response.json()).choices[0].message.content,
      content.map(({ text }) => text).join(''),
      prompted,
    ]
  }
</script>`

test('adapters answer with an engine created by another script', async ({ page }) => {
  const server = await serveFolder(DIST, {}, { '/': PAGE })
  await page.goto(server.address)
  await page.waitForFunction(() => 'run' in globalThis)
  const answers = await page.evaluate(() => (globalThis as unknown as { run(): Promise<string[]> }).run())
  const [text = ''] = repliesOf('embedded')
  expect(answers.slice(0, 3)).toEqual([text, text, text])
  expect(answers[3]?.slice(0, text.length)).toBe(text)
  await server.close()
})

const SHARED = `<!doctype html><title>App</title>
<script type="module">
  import { loadForTabs } from '/cdn/tabs.js'
  const engine = await loadForTabs('/models/halfbyte-stories.hbm', { threads: 1 })
  globalThis.run = () => engine.createSession().send(${PROMPT}, ${JSON.stringify(EMBEDDED_OPTIONS)}).text()
</script>`

test('two tabs share one engine', async ({ context }) => {
  const server = await serveFolder(DIST, {}, { '/': SHARED })
  const workers: number[] = []
  for (let opened = 0; opened < 2; opened++) {
    const page = await context.newPage()
    await page.goto(server.address)
    await page.waitForFunction(() => 'run' in globalThis)
    const answer = page.evaluate(() => (globalThis as unknown as { run(): Promise<string> }).run())
    expect(await answer).toBe(repliesOf('embedded')[0])
    workers.push(page.workers().length)
  }
  expect(workers[0]).toBeGreaterThan(0)
  expect(workers[1]).toBe(0)
  await server.close()
})
