// Hub addresses on the command line. In: the real program, a hub with one repository, a folder of the same
// name. Out: which of the two is opened.
import { spawn } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import {
  type Ended,
  ended,
  folder,
  GREEDY,
  halfbyte,
  MAIN,
  model,
  path,
  testModels,
} from '../testing/program.ts'

testModels()

let hub: FileServer
beforeAll(async () => {
  const listing = JSON.stringify([{ type: 'file', path: 'random.gguf' }])
  hub = await serveFiles({
    'owner/name/resolve/v1/random.gguf': await readFile(model),
    'api/models/owner/name/tree/v1': new TextEncoder().encode(listing),
  })
  await cp(path('folder'), path('owner/here'), { recursive: true })
})
beforeEach(() => {
  hub.requests.length = 0
})
afterAll(() => hub.close())

/** The program in the test's folder, with its own hub. */
const there = (...args: readonly string[]): Promise<Ended> =>
  ended(
    spawn(process.execPath, [MAIN, ...args], {
      cwd: folder,
      env: { ...process.env, HF_ENDPOINT: hub.address, HF_TOKEN: 'secret' },
      stdio: ['pipe', 'pipe', 'pipe'],
    }),
  )

describe('a name with one slash', () => {
  test('is a repository, with a file and revision or with its only GGUF', async () => {
    hub.behaviour.token = 'secret'
    const [{ out }, file, only, fit, ids] = await Promise.all([
      halfbyte('generate', model, ...GREEDY),
      there('generate', 'owner/name:random.gguf@v1', ...GREEDY),
      there('tokenize', 'hf:owner/name@v1'),
      there('inspect', 'owner/name@v1', '--fit', '--context', '64'),
      there('tokenize', 'owner/name@v1'),
    ])
    expect(file).toMatchObject({ code: 0, out })
    expect([only.code, fit.code, ids.code]).toEqual([0, 0, 0])
  }, 120_000)

  test('is a repository of graphs, each listed with its cost', async () => {
    const graph = join(
      import.meta.dirname,
      '../../../../test/conformance/onnx/exports/qwen2-cache/model.onnx',
    )
    const at = 'owner/graphs/resolve/main/'
    hub.files.set(`${at}config.json`, new TextEncoder().encode('{}'))
    for (const name of ['model_q4.onnx', 'model_fp16.onnx'])
      hub.files.set(`${at}onnx/${name}`, await readFile(graph))
    const { code, out } = await there('inspect', 'owner/graphs', '--fit', '--context', '64')
    expect(code).toBe(0)
    expect(out).toMatch(/\n--dtype q4 +onnx\/model_q4\.onnx: 173\.5 kB to download, [\d.]+ MB needed, fits\n/)
    expect(out).toMatch(/\n--dtype fp16 +onnx\/model_fp16\.onnx: 173\.5 kB to download, about [\d.]+ MB/)
    expect(out).toContain('The default is onnx/model_q4.onnx: the first available of the dtypes q8, q4,')
    const missed = hub.requests.filter((line) => !hub.files.has(line.split(' ')[1]!.slice(1)))
    expect(missed.filter((line, index) => missed.indexOf(line) !== index)).toEqual([])
  }, 120_000)

  test('is a path if such a path exists, unless the name says hf:', async () => {
    const asked = (part: string) => hub.requests.filter((request) => request.includes(part))
    const [{ out }, here, ids] = await Promise.all([
      halfbyte('generate', path('folder'), ...GREEDY),
      there('generate', 'owner/here', ...GREEDY),
      there('tokenize', 'owner/here'),
    ])
    expect(here).toMatchObject({ code: 0, out })
    expect(ids.code).toBe(0)
    expect(asked('owner/here')).toEqual([])
    expect(await there('generate', 'hf:owner/here', ...GREEDY)).toMatchObject({ code: 1 })
    expect(asked('owner/here')[0]).toBe('GET /owner/here/resolve/main/config.json')
  }, 120_000)

  test('that is neither a path nor a repository gets an error that says how it was interpreted', async () => {
    const { code, err } = await there('inspect', 'owner/gone')
    expect(code).toBe(1)
    expect(err).toContain(
      `owner/gone was interpreted as a repository on ${hub.address}; write ./owner/gone for a path relative to the page`,
    )
    expect((await there('inspect', './owner/gone')).err).toContain('there is no file or folder ./owner/gone')
  }, 120_000)
})
