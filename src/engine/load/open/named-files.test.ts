// Tests of files that other files name. In: forged ONNX models and indexes on a server, a hub's token. Out:
// every request that a load makes, each in the model's folder, and the token with no other.
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { isHalfbyteError } from '../../../base/errors.ts'
import { openOnnx } from '../../../onnx/open-model.ts'
import { modelBytes } from '../../../onnx/testing/write-model.ts'
import { openAny } from './open-any.ts'
import { openRequestedFiles } from './requested-files.ts'

const HUB_PATH = 'hub/owner/model/resolve/main/'
const TOKEN = 'hf_secret'
const DATA = new Uint8Array(1 << 17)

interface Asked {
  readonly url: string
  readonly token: string | null
}

let server: FileServer
let asked: Asked[] = []
beforeAll(async () => {
  server = await serveFiles({})
  const real = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    asked.push({ url: String(input), token: new Headers(init?.headers).get('authorization') })
    // Nothing but this server is there for the test.
    return new URL(String(input)).origin === new URL(server.address).origin
      ? real(input, init)
      : Promise.reject(new TypeError('another host'))
  })
})
afterEach(() => {
  asked = []
  server.files.clear()
})
afterAll(async () => {
  vi.restoreAllMocks()
  await server.close()
})

const withWeights = (location: string) =>
  modelBytes({
    nodes: [{ op: 'Add', inputs: ['x', 'w'], outputs: ['y'] }],
    constants: [{ name: 'w', dims: [1 << 15], external: { location } }],
    inputs: ['x'],
    outputs: ['y'],
  })

const put = (name: string, bytes: Uint8Array | string) =>
  server.files.set(HUB_PATH + name, typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes)

/** Loads what is at `name` of the folder; the error that ends it. */
async function errorOf(name: string): Promise<unknown> {
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  const request = { cache: 'none', hub: { baseUrl: `${server.address}hub/`, token: TOKEN } } as const
  const never = async (): Promise<never> => {
    throw new Error('no reader is needed')
  }
  const host = { loadOnnx: async () => ({ openOnnx }), loadGguf: never, loadSafetensors: never }
  return openAny(
    `${server.address}${HUB_PATH}${name}`,
    (source) => openRequestedFiles({ ...request, source }, hooks),
    host,
  ).then(
    () => undefined,
    (error) => error,
  )
}

/** What was asked for beside the folder, and where the token went beside it. */
const elsewhere = () => {
  const folder = server.address + HUB_PATH
  // The hub lists the folder's files at an address of its own.
  const listing = `${server.address}hub/api/models/owner/model/tree/main`
  return asked.filter(({ url }) => {
    const { href } = new URL(url)
    return !(href.startsWith(folder) && !/[?#]|\/\//.test(href.slice(folder.length))) && href !== listing
  })
}

const FORGED = [
  './/other.invalid/x',
  './/other.invalid/x?y',
  '///other.invalid/x',
  ' //other.invalid/w.bin',
  './/owner/private/resolve/main/w.bin',
  '../../../private/resolve/main/w.bin',
  '%2e%2e/%2e%2e/secret.bin',
  '.%2e/x',
  '.\t./x',
  '\t/root.bin',
  'w.bin?delete=1',
  'w.bin#x',
  '..\\x',
  'https://other.invalid/w.safetensors',
  '/w.safetensors',
  'folder/',
  '',
]

describe.each(FORGED)('the name %j', (name) => {
  test('in an ONNX model asks for nothing', async () => {
    put('model.onnx', withWeights(name))
    expect(await errorOf('model.onnx')).toMatchObject({ code: 'format' })
    expect(asked.every(({ url }) => url.endsWith('model.onnx'))).toBe(true)
    expect(elsewhere()).toEqual([])
  })

  test('in an index of safetensors asks for nothing', async () => {
    for (const file of ['config.json', 'tokenizer.json']) put(file, '{}')
    put('model.safetensors.index.json', JSON.stringify({ weight_map: { w: name } }))
    expect(await errorOf('')).toMatchObject({ code: 'format' })
    expect(asked.some(({ url }) => url.endsWith('index.json'))).toBe(true)
    expect(elsewhere()).toEqual([])
  })
})

test('a name in the folder is asked for, with the token', async () => {
  put('model.onnx', withWeights('./data/w 1.bin'))
  put('data/w%201.bin', DATA)
  await errorOf('model.onnx')
  expect(asked).toContainEqual({
    url: `${server.address}${HUB_PATH}data/w%201.bin`,
    token: `Bearer ${TOKEN}`,
  })
  expect(elsewhere()).toEqual([])
})

test('a name with the number of a part is the file of that name and no other part', async () => {
  put('model.onnx', withWeights('w-00002-of-00002.hbm'))
  put('w-00001-of-00002.hbm', new Uint8Array(8))
  put('w-00002-of-00002.hbm', DATA)
  // The first part has too few bytes for the tensor.
  expect(String(await errorOf('model.onnx'))).not.toMatch(/which has 8/)
  expect(elsewhere()).toEqual([])
})

test('whatever an ONNX model or an index names, nothing else is asked for', async () => {
  const piece = fc.constantFrom(
    '.',
    '..',
    '/',
    '//',
    '\\',
    '%2e',
    '%2f',
    '?',
    '#',
    ':',
    ' ',
    '\t',
    '@',
    'w',
    'other.invalid',
  )
  const name = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''))
  await fc.assert(
    fc.asyncProperty(name, async (location) => {
      asked = []
      put('model.onnx', withWeights(location))
      const error = await errorOf('model.onnx')
      return isHalfbyteError(error) && error.code !== 'internal' && elsewhere().length === 0
    }),
    { numRuns: 60 },
  )
})
