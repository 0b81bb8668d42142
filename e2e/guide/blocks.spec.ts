// The manual's code in Chromium. In: each block of README.md and docs/guide that a page can run, dist/cdn,
// and random models at the addresses that blocks name. Out: a failure for each block that throws or shows
// nothing.
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { type BrowserContext, test as base, expect, type Page } from '@playwright/test'
import { build } from 'vite'
import { BLOCKS, type Block, ROOT, runnerOf } from '../../scripts/package/guide/blocks.ts'
import {
  type HttpServer,
  ISOLATION,
  openServer,
  sendBytes,
  sendFile,
} from '../../test/helpers/http-server.ts'
import { foreignFiles, ownFiles } from './models.ts'

/** A folder's files are looked up by name, and most need not exist. */
const OPTIONAL = /\/(?:models|adapters)\/|huggingface|favicon/
const HEADERS = { 'Access-Control-Allow-Origin': '*' }
const STORIES = join(ROOT, 'dist/models/halfbyte-stories.hbm')
const ENTRIES = ['openai', 'ai-sdk', 'prompt-api', 'embedder', 'network', 'assist', 'tabs', 'widget']
const IMPORTS = {
  halfbyte: '/halfbyte/halfbyte.js',
  ...Object.fromEntries(ENTRIES.map((name) => [`halfbyte/${name}`, `/halfbyte/${name}.js`])),
  'halfbyte/models/halfbyte-stories.hbm?url': '/stories.js',
  openai: '/openai.js',
}
/** Modules and data that blocks name. */
const TEXTS: Readonly<Record<string, string>> = {
  '/given.js': readFileSync(new URL('given.js', import.meta.url), 'utf8'),
  '/stories.js': "export default '/models/halfbyte-stories.hbm'",
  '/shout.js': BLOCKS.find(({ text }) => text.startsWith('// shout.js\n'))!.text,
  '/returns.txt': 'You can return every article within 30 days.',
  '/weather/Oslo': '{ "sky": "clear" }',
  '/': '',
}

const runnable = BLOCKS.filter((block) => runnerOf(block) === 'page')
const scriptOf = ({ language, text }: Block) => (language === 'ts' ? stripTypeScriptTypes(text) : text)
/** An HTML block unchanged, or a page with an import map that runs a script once its variables exist. */
const pageOf = (block: Block): string =>
  block.language === 'html'
    ? `<!doctype html><title>Block</title>${block.text}`
    : `<!doctype html><title>Block</title>
<script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
<body></body>
<script type="module">
  globalThis.used = ${JSON.stringify(block.text.match(/[A-Za-z]\w*/g))}
  try {
    await import('/given.js')
    await import('/block.js')
    globalThis.outcome = 'ran'
  } catch (error) {
    globalThis.outcome = error.stack
  }
</script>`

/** The package `openai` as one module. */
async function openaiModule(): Promise<string> {
  const built = await build({
    root: ROOT,
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: false,
      rolldownOptions: {
        input: join(ROOT, 'node_modules/openai/index.mjs'),
        preserveEntrySignatures: 'strict',
        output: { codeSplitting: false },
      },
    },
  })
  const { output } = built as Exclude<typeof built, unknown[] | { close(): unknown }>
  return output[0].code
}

interface Site {
  readonly server: HttpServer
  /** Replaces the block that the server sends. */
  show(block: Block): void
  readonly foreign: ReadonlyMap<string, Buffer>
}

const test = base.extend<object, { site: Site }>({
  site: [
    async ({ browserName: _ }, use) => {
      const [own, foreign, openai] = await Promise.all([ownFiles(), foreignFiles(), openaiModule()])
      const texts: Record<string, string> = { ...TEXTS, '/openai.js': openai }
      const server = await openServer((request, response, path) => {
        for (const [name, value] of Object.entries(ISOLATION)) response.setHeader(name, value)
        const file = own.get(path)
        if (file !== undefined) return sendBytes(request, response, path, file)
        if (path.endsWith('/halfbyte-stories.hbm')) return sendFile(request, response, STORIES)
        if (path.startsWith('/halfbyte/'))
          return sendFile(request, response, join(ROOT, 'dist/cdn', path.slice(10)))
        const text = texts[path]
        if (text === undefined) return response.writeHead(404).end()
        return sendBytes(request, response, path === '/' ? 'index.html' : path, Buffer.from(text))
      })
      const show = (block: Block) =>
        Object.assign(texts, { '/': pageOf(block), '/block.js': scriptOf(block) })
      await use({ server, show, foreign })
      await server.close()
    },
    { scope: 'worker' },
  ],
})

/** Answers for the hub and for the guide's model server. */
async function standIn(context: BrowserContext, files: ReadonlyMap<string, Buffer>): Promise<void> {
  await context.route(/^https:/, (route) => {
    const address = route.request().url().replace(/\?.*$/, '')
    const [, repo] = /\/api\/models\/([^/]+\/[^/]+)\/tree\/main$/.exec(address) ?? []
    if (repo !== undefined) {
      const folder = `https://huggingface.co/${repo}/`
      const listing = [...files]
        .filter(([name]) => name.startsWith(folder))
        .map(([name, { byteLength }]) => ({
          type: 'file',
          path: name.slice(folder.length),
          size: byteLength,
        }))
      return route.fulfill({ headers: HEADERS, json: listing })
    }
    const body = files.get(address.replace('/resolve/main/', '/'))
    return body === undefined
      ? route.fulfill({ status: 404, headers: HEADERS })
      : route.fulfill({ headers: HEADERS, body })
  })
}

/** The outcome of the block's script: `ran`, or its error. */
const outcomeOf = async (page: Page): Promise<unknown> => {
  const outcome = await page.waitForFunction(() => (globalThis as { outcome?: string }).outcome)
  return outcome.jsonValue()
}

/** Runs a block in a new page, and waits for what it shows. Returns what went wrong. */
async function faultsOf(
  context: BrowserContext,
  { server, show }: Site,
  block: Block,
  patienceMs = 30_000,
): Promise<string[]> {
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('response', (response) => {
    if (response.status() === 404 && !OPTIONAL.test(response.url())) faults.push(`404 ${response.url()}`)
  })
  show(block)
  await page.goto(server.address)
  if (block.language !== 'html') {
    const outcome = await outcomeOf(page)
    if (outcome !== 'ran') faults.push(String(outcome))
  } else if (block.text.includes('<halfbyte-chat') && block.text.includes('<script'))
    await page.locator('halfbyte-chat').getByRole('button').first().waitFor()
  if (faults.length === 0 && /document\.body\.append|\bshow\(/.test(block.text))
    await page
      .waitForFunction(() => document.body.innerText.trim() !== '', undefined, { timeout: patienceMs })
      .catch(() => faults.push('the page shows nothing'))
  await page.close()
  return faults.map((fault) => `${block.page}:${block.line}: ${fault}`)
}

for (const name of new Set(runnable.map(({ page }) => page))) {
  test(`the blocks of ${name} run`, async ({ context, site }) => {
    await standIn(context, site.foreign)
    const faults: string[] = []
    for (const block of runnable.filter(({ page }) => page === name))
      faults.push(...(await faultsOf(context, site, block)))
    expect(faults).toEqual([])
  })
}

test('blocks that fail are found', async ({ context, site }) => {
  await standIn(context, site.foreign)
  const block = (text: string) => ({ page: 'page.md', line: 1, language: 'ts', text })
  expect(await faultsOf(context, site, block('await engine.createSessions() as unknown'))).toEqual([
    expect.stringContaining('page.md:1: TypeError: engine.createSessions is not a function'),
  ])
  expect(await faultsOf(context, site, block("await fetch('/nothing.json')"))).toHaveLength(1)
  expect(await faultsOf(context, site, block("document.body.append('')"), 100)).toEqual([
    'page.md:1: the page shows nothing',
  ])
})
