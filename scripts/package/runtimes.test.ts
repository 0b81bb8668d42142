// The package in Bun and Deno, compared with Node. In: the packed package, and the runtimes downloaded by
// "npm run setup -- bun deno". Out: the same replies and vectors as in Node. A missing runtime skips its
// tests, which name it.
import { execFile } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CALCULATOR, type PackedApp, packedApp } from '../../e2e/packed/app.ts'
import { bertFolder, byPath, randomBert } from '../../test/conformance/testing/random-bert.ts'
import { type RuntimeName, runtimeCommand } from './runtimes.mjs'

const run = promisify(execFile)

let app: PackedApp

beforeAll(async () => {
  app = await packedApp()
  await mkdir(join(app.folder, 'models/encoder/1_Pooling'), { recursive: true })
  await copyFile(
    join(app.installed, 'dist/models/halfbyte-stories.hbm'),
    join(app.folder, 'models/stories.hbm'),
  )
  for (const [path, file] of byPath(bertFolder(randomBert(1))))
    await writeFile(join(app.folder, 'models/encoder', path), await file.bytes())
  for (const [name, body] of Object.entries(PROGRAMS)) await writeFile(join(app.folder, `${name}.mjs`), body)
})

afterAll(() => app?.remove())

/** Each program prints JSON and must exit by itself. */
const PROGRAMS = {
  text: `import { Engine } from 'halfbyte'
const told = []
for (const threads of [1, 2])
  for (const source of ['models/stories.hbm', new URL('models/stories.hbm', import.meta.url)]) {
    await using engine = await Engine.load(source, { threads })
    const options = { temperature: 0, maxTokens: 24, speculation: 'off' }
    told.push([engine.threads, await engine.complete('Once upon a time', options).text()])
  }
console.log(JSON.stringify(told))`,
  abilities: `import { Engine, isHalfbyteError } from 'halfbyte'
const { supported, sharedMemory } = await Engine.support()
await using engine = await Engine.load('embedded', { threads: 2 })
${CALCULATOR}
const session = engine.createSession()
const { text } = await session.send('What is 12 * 7?', { tools, temperature: 0, maxTokens: 80 }).result
const json = await engine.complete('x', { schema: { const: { a: 0.5 } }, compact: true }).text()
const { fits } = await Engine.probe('models/stories.hbm')
const abort = new AbortController()
const cut = engine.complete('Once', { maxTokens: 500, signal: abort.signal })
const pieces = []
try {
  for await (const piece of cut) {
    pieces.push(piece)
    abort.abort()
  }
} catch (error) {
  pieces.push(error.name)
}
const missing = await Engine.load('./models/none.gguf').catch((error) => isHalfbyteError(error) && error.code)
console.log(JSON.stringify({ supported, sharedMemory, text, json, fits, cut: pieces.at(-1), missing }))`,
  encoder: `import { Embedder } from 'halfbyte/embedder'
const told = []
for (const threads of [1, 2]) {
  await using embedder = await Embedder.load('models/encoder', { threads })
  const { vectors } = await embedder.embed(['the cat', 'a'])
  told.push([embedder.threads, vectors.map((vector) => [...vector])])
}
console.log(JSON.stringify(told))`,
} as const

async function told(command: readonly [string, ...string[]], name: keyof typeof PROGRAMS): Promise<unknown> {
  const [program, ...args] = command
  const { stdout, stderr } = await run(program, [...args, join(app.folder, `${name}.mjs`)], {
    cwd: app.folder,
    env: { ...process.env, DENO_NO_UPDATE_CHECK: '1', NO_COLOR: '1' },
  })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

const known = new Map<string, Promise<unknown>>()

/** Node's output; each program runs once. */
function inNode(name: keyof typeof PROGRAMS): Promise<unknown> {
  const found = known.get(name) ?? told([process.execPath], name)
  known.set(name, found)
  return found
}

describe.each<RuntimeName>(['bun', 'deno'])('%s', (name) => {
  const command = runtimeCommand(name)
  const missing = `skipped: npm run setup -- ${name} fetches it`

  test.for(Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[])(
    'prints the same as Node: %s',
    async (what, context) => {
      if (command === undefined) return context.skip(missing)
      expect(await told(command, what)).toEqual(await inNode(what))
    },
  )
})

test('Node prints the expected output', async () => {
  expect(await inNode('abilities')).toEqual({
    supported: true,
    sharedMemory: true,
    text: expect.stringContaining('84'),
    json: '{"a":0.5}',
    fits: true,
    cut: 'AbortError',
    missing: 'format',
  })
  const texts = (await inNode('text')) as [number, string][]
  expect(texts.map(([threads]) => threads)).toEqual([1, 1, 2, 2])
  for (const [, text] of texts) expect(text).toMatch(/there was a little girl/)
  const [[, [vector] = []] = []] = (await inNode('encoder')) as [number, number[][]][]
  expect(Math.hypot(...vector!)).toBeCloseTo(1, 5)
})
