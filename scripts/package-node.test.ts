// The package in a Node program. In: the packed package. Out: whether engines load, reply and let the program
// exit.
import { execFile } from 'node:child_process'
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CALCULATOR, type PackedApp, packedApp } from '../e2e/packed/app.ts'
import { bertBytes } from '../lab/bench/graphs/bert.ts'
import { NodeWriter, TYPE } from '../src/network/onnx/testing/node-writer.ts'
import { modelBytes } from '../src/network/onnx/testing/write-model.ts'
import { bertFolder, byPath, randomBert } from '../test/conformance/testing/random-bert.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('..', import.meta.url))

let app: PackedApp

beforeAll(async () => {
  app = await packedApp()
  await mkdir(join(app.folder, 'models'))
  await copyFile(
    join(app.installed, 'dist/models/halfbyte-stories.hbm'),
    join(app.folder, 'models/stories.hbm'),
  )
})

afterAll(() => app?.remove())

/** The program's JSON output. It must exit by itself. */
async function told(name: string, body: string): Promise<unknown> {
  const path = join(app.folder, `${name}.mjs`)
  await writeFile(path, `import { Engine, isHalfbyteError } from 'halfbyte'\n${body}`)
  const { stdout, stderr } = await run(process.execPath, [path], { cwd: app.folder })
  expect(stderr).toBe('')
  return JSON.parse(stdout)
}

const TEXT = `const options = { temperature: 0, maxTokens: 24, speculation: 'off' }
const textOf = (engine) => engine.complete('Once upon a time', options).text()
`

test.each([
  ['a path', `'models/stories.hbm'`],
  ['a path with a dot', `'./models/stories.hbm'`],
  ['a file URL', `new URL('models/stories.hbm', import.meta.url)`],
  ['a file', `new File([await (await import('node:fs')).openAsBlob('models/stories.hbm')], 'stories.hbm')`],
  ['a Blob', `await (await import('node:fs')).openAsBlob('models/stories.hbm')`],
  ['bytes', `await (await import('node:fs/promises')).readFile('models/stories.hbm')`],
  ['a blob address', `URL.createObjectURL(await (await import('node:fs')).openAsBlob('models/stories.hbm'))`],
  [
    'a data address',
    `'data:;base64,' + await (await import('node:fs/promises')).readFile('models/stories.hbm', 'base64')`,
  ],
])('a model is loaded from %s, with and without threads', async (what, source) => {
  const found = await told(
    what.replaceAll(' ', '-'),
    `${TEXT}const told = []
for (const threads of [1, 2]) {
  await using engine = await Engine.load(${source}, { threads })
  told.push([engine.threads, engine.pool, await textOf(engine)])
}
console.log(JSON.stringify(told))`,
  )
  const [[, , text] = []] = found as [unknown[]]
  expect(text).toMatch(/there was a little girl/)
  expect(found).toEqual([
    [1, 'single', text],
    [2, 'shared', text],
  ])
})

test('tools, constraints and saved sessions work, and `support` reports what is available', async () => {
  const found = await told(
    'abilities',
    `const { supported, sharedMemory, reason } = await Engine.support()
Engine.prepare()
await using engine = await Engine.load('embedded', { threads: 2 })
${CALCULATOR}
const session = engine.createSession()
const { text } = await session.send('What is 12 * 7?', { tools, temperature: 0, maxTokens: 80 }).result
const restored = await engine.restoreSession(await session.save())
const json = await engine.complete('x', { schema: { const: { a: 0.5 } }, compact: true }).text()
const { fits } = await Engine.probe('models/stories.hbm')
console.log(JSON.stringify({ supported, sharedMemory, reason, text, json, fits, kept: restored.messages.length }))`,
  )
  expect(found).toEqual({
    supported: true,
    sharedMemory: true,
    text: expect.stringContaining('84'),
    json: '{"a":0.5}',
    fits: true,
    kept: 4,
  })
})

test('encoders load from a folder, and networks from a file, with and without threads', async () => {
  const folder = join(app.folder, 'models/encoder')
  await mkdir(join(folder, '1_Pooling'), { recursive: true })
  for (const [path, file] of byPath(bertFolder(randomBert(1))))
    await writeFile(join(folder, path), await file.bytes())
  const shape = { layers: 1, hidden: 64, heads: 2, intermediate: 64, vocabulary: 20, positions: 16 }
  await writeFile(join(app.folder, 'models/bert.onnx'), bertBytes(shape))
  const found = await told(
    'encoders',
    `import { Embedder } from 'halfbyte/embedder'
import { Network } from 'halfbyte/network'
const told = []
for (const threads of [1, 2]) {
  await using embedder = await Embedder.load('models/encoder', { threads })
  const { vectors } = await embedder.embed(['the cat'])
  await using network = await Network.load(new URL('models/bert.onnx', import.meta.url), { threads })
  const ids = { dtype: 'i64', dims: [1, 3], data: BigInt64Array.of(1n, 2n, 3n) }
  const inputs = { input_ids: ids, attention_mask: ids, token_type_ids: { ...ids, data: new BigInt64Array(3) } }
  const { last_hidden_state: { data } } = await network.run(inputs)
  told.push([embedder.threads, embedder.pool, [...vectors[0]], network.threads, [...data]])
}
const codeOf = (promise) => promise.then(() => 'loaded', (error) => isHalfbyteError(error) ? error.code : error.name)
const failures = [await codeOf(Embedder.load('models/none/')), await codeOf(Network.load('./models/none.onnx'))]
console.log(JSON.stringify({ told, failures }))`,
  )
  const { told: runs } = found as { told: [number, string, number[], number, number[]][] }
  const [[, , vector, , data] = []] = runs
  expect(Math.hypot(...vector!)).toBeCloseTo(1, 5)
  expect(found).toEqual({
    told: [
      [1, 'single', vector, 1, data],
      [2, 'shared', vector, 2, data],
    ],
    failures: ['format', 'format'],
  })
})

test('a network that needs onnxruntime-web reports that it is missing, and runs if it is installed', async () => {
  const to = new NodeWriter()
  to.node('Exp', [to.op('LpNormalization', [to.op('Relu', ['x'])])], ['y'])
  const x = { name: 'x', type: TYPE.f32, dims: ['rows', 3] }
  const bytes = modelBytes({
    nodes: to.nodes,
    constants: to.constants,
    inputs: [x],
    outputs: [{ name: 'y', type: TYPE.f32 }],
  })
  await writeFile(join(app.folder, 'models/norm.onnx'), bytes)
  const body = `import { Network } from 'halfbyte/network'
const load = () => Network.load('models/norm.onnx', { fallback: 'ort' })
const found = await load().then(
  async (network) => {
    const { y } = await network.run({ x: { dtype: 'f32', dims: [1, 3], data: Float32Array.of(-1, 2, 1) } })
    const names = network.foreignNodes().map(({ op }) => op)
    await network.dispose()
    return { y: [...y.data], names }
  },
  ({ code, message }) => ({ code, message }),
)
console.log(JSON.stringify(found))`
  expect(await told('without-ort', body)).toEqual({
    code: 'unsupported',
    message: expect.stringMatching(
      /^fallback: 'ort' needs the package onnxruntime-web, which did not load: .*; install it with npm install onnxruntime-web/,
    ),
  })
  const link = join(app.folder, 'node_modules/onnxruntime-web')
  await symlink(join(import.meta.dirname, '../node_modules/onnxruntime-web'), link, 'dir')
  const found = (await told('with-ort', body)) as { y: number[]; names: string[] }
  await rm(link)
  expect(found.names).toEqual(['LpNormalization'])
  const wanted = [0, 2, 1].map((value) => Math.exp(value / Math.sqrt(5)))
  for (const [at, value] of wanted.entries()) expect(found.y[at]).toBeCloseTo(value, 4)
})

test('a failure has its error code, and an uncaught one ends the program', async () => {
  const found = await told(
    'failures',
    `const codeOf = (promise) => promise.then(() => 'loaded', (error) => isHalfbyteError(error) ? error.code : error.name)
const aborted = AbortSignal.abort()
console.log(JSON.stringify([
  await codeOf(Engine.load('./models/none.gguf')),
  await codeOf(Engine.load('failures.mjs')),
  await codeOf(Engine.load('embedded', { treads: 2 })),
  await codeOf(Engine.load('embedded', { signal: aborted })),
  await codeOf(Engine.probe('./models/none.gguf')),
]))`,
  )
  expect(found).toEqual(['format', 'format', 'unsupported', 'AbortError', 'format'])
})

/** The first supported Node version with a feature, according to its comment in Node's types. */
const since = (comment: string): number[] | undefined =>
  [...(/@since (.*)/.exec(comment)?.[1] ?? '').matchAll(/v(\d+)\.(\d+)/g)]
    .map(([, major, minor]) => [Number(major), Number(minor)])
    .find(([major]) => (major as number) <= 22)

test('scripts import only what the oldest supported Node provides', async () => {
  const imported = new Set<string>()
  for (const name of await readdir(join(app.installed, 'dist'))) {
    if (!name.endsWith('.js')) continue
    const script = await readFile(join(app.installed, 'dist', name), 'utf8')
    for (const [, names, module] of script.matchAll(/^import \{ (.*) \} from "node:([\w/]+)"/gm))
      for (const each of names!.split(', ')) imported.add(`${module} ${each.replace(/ as .*/, '')}`)
  }
  const documented = []
  for (const each of imported) {
    const [module, name] = each.split(' ') as [string, string]
    const types = await readFile(join(ROOT, `node_modules/@types/node/${module}.d.ts`), 'utf8')
    const declared = new RegExp(
      `/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*(?:export )?(?:function|class|interface) ${name}\\b`,
    )
    const [, comment] = declared.exec(types) ?? []
    if (comment === undefined) continue
    documented.push(name)
    const [major, minor] = since(comment) ?? [99, 0]
    expect(major! < 22 || (major === 22 && minor === 0), `${each} since ${major}.${minor}`).toBe(true)
  }
  expect(documented).toEqual(
    expect.arrayContaining(['getSystemErrorMap', 'availableParallelism', 'readFile']),
  )
})
