// Policies with nonces. In: a page whose policy allows scripts by a nonce alone. Out: whether the library and
// the widget answer, and what the error says if the policy blocks the workers.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, type Page, test } from '@playwright/test'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf } from '../../test/conformance/testing/golden.ts'
import { ISOLATION, serveFolder } from '../../test/helpers/http-server.ts'
import { blocked, watchPolicy } from '../policy.ts'

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const GUIDE = readFileSync(new URL('../../docs/guide/bundlers.md', import.meta.url), 'utf8')

/** The guide's policy with a nonce. */
const [, BLOCK = ''] = /^```\nContent-Security-Policy: (default-src 'none'[\s\S]*?)^```$/m.exec(GUIDE) ?? []
const POLICY = BLOCK.replaceAll(/\s+/g, ' ').trim()
const NONCE = /'nonce-(\w+)'/.exec(POLICY)?.[1] ?? ''

const LIBRARY = `<!doctype html><title>App</title>
<script type="module" nonce="${NONCE}">
  import { Engine } from '/cdn/halfbyte.js'
  globalThis.run = async (prompt, options) => {
    await using engine = await Engine.load('/models/halfbyte-stories.hbm', { threads: 2 })
    const asked = { schema: { const: { a: 1 } }, compact: true }
    return [await engine.createSession().send(prompt, options).text(), await engine.complete('x', asked).text()]
  }
</script>`
const WIDGET = `<!doctype html><title>App</title>
<script type="module" src="/cdn/widget.js" nonce="${NONCE}"></script>
<halfbyte-chat model="/models/halfbyte-stories.hbm"></halfbyte-chat>
<script type="module" nonce="${NONCE}">
  const chat = document.querySelector('halfbyte-chat')
  globalThis.run = async (prompt, options) => {
    await customElements.whenDefined('halfbyte-chat')
    chat.generateOptions = options
    const answer = new Promise((resolve) =>
      chat.addEventListener('halfbyte-message', ({ detail: { role, content } }) => {
        if (role === 'assistant') resolve(content)
      }),
    )
    await chat.load()
    chat.send(prompt)
    return [await answer]
  }
</script>`

/** Opens a page with a policy. Returns its server. */
async function open(page: Page, html: string, policy: string) {
  const server = await serveFolder(DIST, { ...ISOLATION, 'Content-Security-Policy': policy }, { '/': html })
  await watchPolicy(page)
  await page.goto(server.address)
  return server
}

const answersOf = async (page: Page) => {
  await page.waitForFunction(() => 'run' in globalThis)
  return page.evaluate(
    ([prompt, options]) =>
      (globalThis as unknown as { run(prompt: string, options: object): Promise<string[]> })
        .run(prompt, options)
        .catch((error: { code: string; message: string }) => [error.code, error.message]),
    [EMBEDDED_TURNS[0], EMBEDDED_OPTIONS] as const,
  )
}

test('the library answers under a policy that allows scripts by a nonce alone', async ({ page }) => {
  const server = await open(page, LIBRARY, POLICY)
  expect(await answersOf(page)).toEqual([repliesOf('embedded')[0], '{"a":1}'])
  expect(await blocked(page)).toEqual([])
  await server.close()
})

test('the widget answers under the same policy, with its own Trusted Types', async ({ page }) => {
  const server = await open(page, WIDGET, `${POLICY} lit-html`)
  expect(await answersOf(page)).toEqual([repliesOf('embedded')[0]])
  expect(await blocked(page)).toEqual([])
  await server.close()
})

test('without worker-src, the error names what the policy blocked', async ({ page }) => {
  const policy = POLICY.replace(/worker-src [^;]*;/, '')
  expect(policy).not.toBe(POLICY)
  const server = await open(page, LIBRARY, policy)
  expect(await answersOf(page)).toEqual(['worker', expect.stringContaining('worker-src')])
  await server.close()
})
