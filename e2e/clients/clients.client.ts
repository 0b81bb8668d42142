// Clients written for other APIs. In: their published packages, and the packed package. Out: whether each
// client, in a page, shows and returns the engine's own reply.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@playwright/test'
import { bertFolder, byPath, randomBert } from '../../test/conformance/testing/random-bert.ts'
import { serveFolder } from '../../test/helpers/http-server.ts'
import { filesBelow } from '../model-server.ts'
import { packedTest as test } from '../packed/test.ts'

const runFile = promisify(execFile)
const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

interface Client {
  readonly name: string
  /** The file in apps/. */
  readonly app: string
  /** The folder of the package imported as `ai`. */
  readonly ai?: string
  /** The app's input. */
  readonly args?: readonly unknown[]
  /** Other values that the client returns. */
  readonly returns: Readonly<Record<string, unknown>>
  /** Names of the texts that must equal the engine's reply. */
  readonly texts: readonly string[]
}

/** An encoder and a reranker with random weights, by path. */
async function encoderFiles(): Promise<Readonly<Record<string, Uint8Array>>> {
  const reranker = bertFolder(randomBert(10, { isReranker: true }), { prefix: 'bert.' })
  const files = [
    ...(await filesBelow('/encoder/', byPath(bertFolder(randomBert(9))))),
    ...(await filesBelow('/reranker/', byPath(reranker))),
  ]
  return Object.fromEntries(files.map(({ name, buffer }) => [name, buffer]))
}

const CAT = { name: expect.stringMatching(/^(?:Tom|Mia)$/), lives: 9 }
const CALLS = [{ toolName: 'add', input: { a: 2, b: 3 } }]
const VECTORS = [true, true]

const aiSdk = (version: 5 | 6 | 7): Client => ({
  name: `AI SDK ${version}`,
  app: 'ai.js',
  ai: version === 7 ? 'ai' : `ai${version}`,
  args: [version],
  texts: ['text', 'streamed'],
  returns: {
    finishReason: 'length',
    streamEnd: 'length',
    usage: [true, 24],
    warnings: [],
    object: CAT,
    asked: [[2, 3]],
    calls: CALLS,
    results: [5],
    vectors: VECTORS,
    encoded: [true, true],
    isRanked: version === 5 ? undefined : true,
  },
})

const CLIENTS: readonly Client[] = [
  aiSdk(5),
  aiSdk(6),
  aiSdk(7),
  {
    name: 'openai',
    app: 'openai.js',
    texts: ['text', 'streamed', 'response'],
    returns: {
      finishReason: 'length',
      scored: 4,
      isRejected: true,
      object: CAT,
      calls: CALLS,
      vectors: VECTORS,
      models: 1,
      encoded: [true, true],
    },
  },
  {
    name: 'LangChain',
    app: 'langchain.js',
    texts: ['text', 'streamed', 'chained'],
    returns: { hasSystem: true, object: CAT, calls: CALLS, vectors: VECTORS },
  },
  {
    name: 'useChat',
    app: 'use-chat.js',
    texts: ['text'],
    returns: { question: 'Tell me a story about a cat.', roles: ['user', 'assistant'] },
  },
  { name: 'Deep Chat', app: 'deep-chat.js', texts: ['text'], returns: {} },
]

for (const { name, app, ai, args = [], texts, returns } of CLIENTS) {
  test(`the engine answers ${name}, unmodified`, async ({ page, packed }) => {
    const dist = join(packed.installed, 'dist')
    await runFile(
      process.execPath,
      [
        here('node_modules/esbuild/bin/esbuild'),
        here(`apps/${app}`),
        '--bundle',
        '--format=esm',
        '--log-level=error',
        '--define:process.env.NODE_ENV="production"',
        `--outfile=${join(dist, 'app.js')}`,
        ...(ai === undefined ? [] : [`--alias:ai=${here(`node_modules/${ai}`)}`]),
      ],
      { env: { ...process.env, NODE_PATH: join(packed.folder, 'node_modules') } },
    )
    const server = await serveFolder(
      dist,
      {},
      {
        ...(await encoderFiles()),
        '/': '<!doctype html><title>App</title><script type="module" src="/app.js"></script>',
      },
    )
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    await page.goto(server.address)
    await page.waitForFunction(() => 'run' in globalThis)
    const { own, ...seen } = await page.evaluate(
      (args) =>
        (globalThis as unknown as { run(...args: unknown[]): Promise<Record<string, unknown>> }).run(...args),
      [...args],
    )
    await server.close()
    expect(String(own).length).toBeGreaterThan(20)
    expect(seen).toEqual({ ...returns, ...Object.fromEntries(texts.map((text) => [text, own])) })
    expect(problems).toEqual([])
  })
}
