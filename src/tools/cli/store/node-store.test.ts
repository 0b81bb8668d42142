// The store of programs. In: `Engine`, `Embedder` and `Network` in this process, with models on a server.
// Out: where they are stored, and which loads work once the server fails.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { bertFolder, byPath, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { Engine } from '../../../engine/api/engine.ts'
import type { LoadOptions } from '../../../engine/api/types.ts'
import { loadEmbedder, loadNetwork } from '../models/node-models.ts'
import { startEnginesInThisProcess } from '../node-engine.ts'
import { reportDenials, storeOf } from './node-store.ts'
import { makeRoom, storedBytes, storedFiles, unstore } from './node-stored.ts'

const SHAPE = { layers: 1, hidden: 64, heads: 2, intermediate: 64, vocabulary: 20, positions: 16 }

const { load, probe, support, prepare } = Engine
beforeAll(() => startEnginesInThisProcess())
// Other tests of this process use the page's.
afterAll(() => void Object.assign(Engine, { load, probe, support, prepare }))

let home: string
let server: FileServer
let url: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'halfbyte-home-'))
  vi.stubEnv('HALFBYTE_HOME', home)
  vi.stubEnv('HALFBYTE_NO_STORE', '')
  const model = await ggufFile(randomLlama({ seed: 5, gain: 1.6, speaks: true, contextLength: 1024 }))
  server = await serveFiles({ 'm.gguf': await model.bytes() })
  url = `${server.address}m.gguf`
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
  await rm(home, { recursive: true })
})

async function textOf(options: LoadOptions = {}): Promise<string> {
  await using engine = await Engine.load(url, { threads: 1, ...options })
  return await engine.complete('ab', { temperature: 0, maxTokens: 8 }).text()
}

describe('Engine.load', () => {
  test('stores a model, and loads it again without its server; it says the same in both ways', async () => {
    const streamed = await textOf({ store: false })
    expect(await readdir(home)).toEqual([])
    expect(await textOf()).toBe(streamed)
    server.behaviour.status = 503
    expect(await textOf()).toBe(streamed)
    expect((await Engine.probe(url)).downloadBytes).toBe(0)
  })

  test.each([
    [{ cache: 'none' }, {}],
    [{}, { HALFBYTE_NO_STORE: '1' }],
  ] as const)('stores nothing with %j and the environment %j', async (options, env) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    expect(await textOf(options)).not.toBe('')
    expect(await readdir(home)).toEqual([])
  })

  test('stores in the folder that an option names, and rejects one that cannot be written', async () => {
    const own = join(home, 'own')
    await textOf({ store: own })
    expect(await readdir(home)).toEqual(['own'])
    await writeFile(join(home, 'file'), '')
    await expect(textOf({ store: join(home, 'file') })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(
        /cannot be written \((ENOTDIR|EEXIST)\); give another folder, or store: false$/,
      ),
    })
    await expect(textOf({ store: 5 as never })).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('a folder or false'),
    })
  })

  test('warns once about a home that cannot be written, and reads over the network', async () => {
    const told = vi.fn()
    reportDenials(told)
    await writeFile(join(home, 'file'), '')
    vi.stubEnv('HALFBYTE_HOME', join(home, 'file', 'below'))
    expect(await textOf()).not.toBe('')
    expect(await textOf()).not.toBe('')
    expect(told).toHaveBeenCalledTimes(1)
    reportDenials((reason) => process.emitWarning(reason))
  })
})

test('the functions for stored files see the store on disk', async () => {
  await textOf()
  const size = server.files.get('m.gguf')!.length
  const files = await storedFiles()
  expect(files.map((file) => file.url)).toEqual([url, `pack:auto:${url}`])
  expect(await storedBytes(url)).toBe(files.reduce((sum, file) => sum + file.size, 0))
  expect(await makeRoom(size)).toEqual([`pack:auto:${url}`])
  expect(await storedBytes(url)).toBe(size)
  expect(await makeRoom(size)).toEqual([url])
  expect(await storedBytes(url)).toBe(0)
  await textOf()
  await unstore(url)
  expect(await storedFiles()).toEqual([])
  vi.stubEnv('HALFBYTE_NO_STORE', '1')
  expect([await storedFiles(), await storedBytes(url), await makeRoom(1)]).toEqual([[], 0, []])
})

test('encoders and networks are stored, too', async () => {
  for (const [path, file] of byPath(bertFolder(randomBert(1))))
    server.files.set(`bert/${path}`, await file.bytes())
  server.files.set('net/model.onnx', bertBytes(SHAPE))
  const vectors = async () => {
    await using embedder = await loadEmbedder(`${server.address}bert/`, { threads: 1 })
    return (await embedder.embed(['the cat'])).vectors
  }
  const inputs = async () => {
    await using network = await loadNetwork(`${server.address}net/model.onnx`)
    return network.inputs.map(({ name }) => name)
  }
  const [first, names] = [await vectors(), await inputs()]
  server.behaviour.status = 503
  expect(await vectors()).toEqual(first)
  expect(await inputs()).toEqual(names)
})

test('the default store is switched off by the environment, a given one is not', () => {
  vi.stubEnv('HALFBYTE_NO_STORE', '1')
  expect(storeOf(undefined)).toBeUndefined()
  expect(storeOf(false)).toBeUndefined()
  expect(storeOf(home)).toBeDefined()
  expect(storeOf(home)).toBe(storeOf(home))
})
