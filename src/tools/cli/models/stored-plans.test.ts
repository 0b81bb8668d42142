// Plans of stored networks. In: a graph on a server, a store on disk, damage, a new version, two processes.
// Out: the files beside the model, and the outputs of each load.
import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { bertBytes } from '../../../../lab/bench/graphs/bert.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { isPlan, madeFrom } from '../../../core/store/derived.ts'
import { fileKey } from '../../../core/store/device/notes.ts'
import { listFiles } from '../../../core/store/stored-models.ts'
import { encoderInputs } from '../../../network/api/testing/encoder-inputs.ts'
import { diskDevice } from '../store/node-device.ts'
import { ended, MAIN } from '../testing/program.ts'
import { npyBytes } from '../write/npy.ts'
import { loadNetwork } from './node-models.ts'
import { listStoredModels } from './stored-models.ts'

const SHAPE = { layers: 1, hidden: 16, heads: 2, intermediate: 24, vocabulary: 30, positions: 12 }
const inputs = (tokens: number) => encoderInputs(SHAPE.vocabulary, [1, tokens], () => 1)

let home: string
let server: FileServer
let url: string
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'halfbyte-plans-'))
  server = await serveFiles({ 'm.onnx': bertBytes(SHAPE) })
  server.behaviour.etag = '"1"'
  url = `${server.address}m.onnx`
})
afterEach(async () => {
  await server.close()
  await rm(home, { recursive: true })
})

async function outputs(tokens: number, store: string | false = home) {
  const network = await loadNetwork(url, { store })
  try {
    return await network.run(inputs(tokens))
  } finally {
    await network.dispose()
  }
}

const plans = async () =>
  (await listFiles(diskDevice(home))).filter(({ url: each, isComplete }) => isComplete && isPlan(each))

/** The bytes of each plan, by its address. */
async function bytesOfPlans(): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const { url: each } of await plans())
    found.set(each, await readFile(join(home, 'models', `${await fileKey(each)}.bin`), 'base64'))
  return found
}

test('plans are stored beside the graph, once for each shape, and count as a part of the model', async () => {
  const first = await outputs(3)
  const made = await bytesOfPlans()
  expect([...made.keys()].map(madeFrom)).toEqual([url, url])
  server.behaviour.status = 503
  expect(await outputs(3)).toEqual(first)
  expect(await bytesOfPlans()).toEqual(made)
  await outputs(4)
  expect(await plans()).toHaveLength(3)
  const files = await listFiles(diskDevice(home))
  expect(await listStoredModels(diskDevice(home))).toMatchObject([
    { address: url, bytes: files.reduce((sum, { size }) => sum + size, 0), isComplete: true },
  ])
})

test('a damaged plan is written again', async () => {
  const first = await outputs(3)
  const made = await bytesOfPlans()
  for (const each of made.keys()) {
    const path = join(home, 'models', `${await fileKey(each)}.bin`)
    const bytes = await readFile(path)
    bytes[bytes.length >> 1]! ^= 1
    await writeFile(path, bytes)
  }
  expect(await outputs(3)).toEqual(first)
  expect(await bytesOfPlans()).toEqual(made)
})

test('plans of an earlier version of the file are replaced', async () => {
  await outputs(3)
  const before = await bytesOfPlans()
  server.files.set('m.onnx', bertBytes({ ...SHAPE, layers: 2 }))
  server.behaviour.etag = '"2"'
  await rm(join(home, 'models', `${await fileKey(url)}.json`))
  const plain = await outputs(3, false)
  expect(await outputs(3)).toEqual(plain)
  const after = await bytesOfPlans()
  expect([...after.keys()]).toEqual([...before.keys()])
  for (const [each, bytes] of after) expect(bytes).not.toBe(before.get(each))
})

test('nothing is stored without a store', async () => {
  await outputs(3, false)
  expect(await readdir(home)).toEqual([])
})

test('of more shapes than a graph may have plans, the least recently used are removed', async () => {
  const network = await loadNetwork(url, { store: home })
  for (let batch = 1; batch <= 36; batch++)
    await network.run(encoderInputs(SHAPE.vocabulary, [batch, 2], () => 1))
  await network.dispose()
  expect(await plans()).toHaveLength(32)
})

test('two processes at once store the same plans, and "rm" removes them with the model', async () => {
  const folder = join(home, 'inputs')
  const env = { ...process.env, HALFBYTE_HOME: home, HALFBYTE_NO_STORE: '' }
  const program = (...args: readonly string[]) =>
    ended(spawn(process.execPath, [MAIN, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] }))
  const tensors = Object.entries(inputs(3))
  const flags: string[] = []
  for (const [name, tensor] of tensors) {
    const file = `${folder}-${name}.npy`
    await writeFile(file, npyBytes(tensor))
    flags.push('--input', `${name}=${file}`)
  }
  const run = (...args: readonly string[]) => program('run', url, ...flags, ...args)
  const both = await Promise.all([run(), run()])
  expect(both[0]).toMatchObject({ code: 0, out: both[1].out })
  const made = await bytesOfPlans()
  expect(made.size).toBe(2)
  expect(await program('rm', url)).toMatchObject({ code: 0 })
  expect(await listFiles(diskDevice(home))).toEqual([])
  expect(await run('--no-store')).toMatchObject({ code: 0, out: both[0].out })
  expect(await listFiles(diskDevice(home))).toEqual([])
})
