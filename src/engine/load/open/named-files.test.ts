// Tests of file names given in other files. In: forged models, indexes, modules and listings on a hub, and
// its token. Out: every request that a load makes, each in the model's folder. On disk:
// tools/cli/models/named-files.test.ts.
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { bertFolder, byPath, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { FORGED_NAMES } from '../../../core/formats/names/testing/forged-names.ts'
import { loadEncoder } from '../../../encoders/service/build-encoder.ts'
import { openOnnx } from '../../../network/onnx/open-model.ts'
import { modelBytes } from '../../../network/onnx/testing/write-model.ts'
import { loadNetwork } from '../../../network/service/load-network.ts'
import { nodeHost } from '../../../tools/cli/node-host.ts'
import { openAny } from './open-any.ts'
import { openRequestedFiles } from './requested-files.ts'

const HUB_PATH = 'hub/owner/model/resolve/main/'
const TOKEN = 'hf_secret'
const LISTING = 'hub/api/models/owner/model/tree/main'
const DATA = new Uint8Array(1 << 17)
const ENCODER: Record<string, Uint8Array> = {}

interface Asked {
  readonly url: string
  readonly token: string | null
}

let server: FileServer
let asked: Asked[] = []
beforeAll(async () => {
  for (const [at, file] of byPath(bertFolder(randomBert(1))))
    ENCODER[at] = new Uint8Array(await file.arrayBuffer())
  server = await serveFiles({})
  const real = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    asked.push({ url: String(input), token: new Headers(init?.headers).get('authorization') })
    // The test can reach only this server.
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

/** Loads `name` from the folder and returns the resulting error. */
async function errorOf(name: string): Promise<unknown> {
  const request = { cache: 'none', hub: { baseUrl: `${server.address}hub/`, token: TOKEN } } as const
  const never = async (): Promise<never> => {
    throw new Error('no reader is needed')
  }
  const host = {
    loadOnnx: async () => ({ openOnnx }),
    loadGguf: never,
    loadSafetensors: never,
    loadFamilies: never,
  }
  return openAny(
    givenPlace(`${server.address}${HUB_PATH}${name}`),
    (source) => openRequestedFiles({ ...request, source }, hooks),
    host,
  ).then(
    () => undefined,
    (error) => error,
  )
}

const hooks = { signal: new AbortController().signal, onProgress() {} }
const requestAt = (name: string) =>
  ({
    source: givenPlace(server.address + HUB_PATH + name),
    threads: 1,
    build: 'auto',
    weights: 'auto',
    cache: 'none',
    hub: { baseUrl: `${server.address}hub/`, token: TOKEN },
    assets: {},
  }) as const

const encoderError = (): Promise<unknown> =>
  loadEncoder(requestAt(''), hooks, nodeHost()).then(
    () => undefined,
    (error) => error,
  )

const networkError = (name: string): Promise<unknown> =>
  loadNetwork(requestAt(name), hooks, nodeHost()).then(
    () => undefined,
    (error) => error,
  )

/** Requests outside the folder, and places outside it where the token was sent. */
const elsewhere = () => {
  const folder = server.address + HUB_PATH
  // The hub lists the folder's files at a separate address.
  const listing = server.address + LISTING
  return asked.filter(({ url }) => {
    const { href } = new URL(url)
    return !(href.startsWith(folder) && !/[?#]|\/\//.test(href.slice(folder.length))) && href !== listing
  })
}

/** The files of an encoder's folder, whose second module is in the folder with this name. */
function encoderFiles(kind: 'Pooling' | 'Dense', path: string): Record<string, Uint8Array | string> {
  const pooling = kind === 'Dense' ? [{ type: 'x.Pooling', path: '1_Pooling' }] : []
  const modules = [{ type: 'x.Transformer', path: '' }, ...pooling, { type: `x.${kind}`, path }]
  return { ...ENCODER, 'modules.json': JSON.stringify(modules) }
}

const NO_WEIGHTS = { 'config.json': '{}', 'tokenizer.json': '{}' }
const listed = (path: string) => ({ '': JSON.stringify([{ type: 'file', path }]) })

/** Every reader that follows file names: the files that contain the name, and how they are loaded. */
const READERS: readonly {
  readonly reader: string
  readonly load: (name: string) => Promise<unknown>
  readonly place?: string
  /** Files of the folder; with the name '', the hub's listing. */
  readonly files: (name: string) => Readonly<Record<string, Uint8Array | string>>
  /** Default: `format`. With an extension appended, some names refer to missing files. */
  readonly codes?: readonly string[]
}[] = [
  {
    reader: 'external data of an ONNX model',
    load: errorOf,
    place: 'model.onnx',
    files: (name) => ({ 'model.onnx': withWeights(name) }),
  },
  {
    reader: 'external data of a network',
    load: networkError,
    place: 'model.onnx',
    files: (name) => ({ 'model.onnx': withWeights(name) }),
  },
  {
    reader: 'the index of safetensors',
    load: errorOf,
    files: (name) => ({
      ...NO_WEIGHTS,
      'model.safetensors.index.json': JSON.stringify({ weight_map: { w: name } }),
    }),
  },
  {
    reader: 'the folder of a pooling module in modules.json',
    load: encoderError,
    files: (name) => encoderFiles('Pooling', name),
  },
  {
    reader: 'the folder of a Dense module in modules.json',
    load: encoderError,
    files: (name) => encoderFiles('Dense', name),
  },
  {
    reader: 'a GGUF that the hub lists',
    load: errorOf,
    files: (name) => listed(`${name}.gguf`),
    codes: ['format', 'network'],
  },
  {
    reader: 'a split GGUF that the hub lists',
    load: errorOf,
    files: (name) => listed(`${name}-00001-of-00002.gguf`),
    codes: ['format', 'network'],
  },
  {
    reader: 'a vision tower that the hub lists',
    load: errorOf,
    files: (name) => listed(`${name}mmproj.gguf`),
  },
  {
    reader: 'files that tokenizer_config.json names',
    load: errorOf,
    files: (name) => ({
      ...NO_WEIGHTS,
      'tokenizer_config.json': JSON.stringify({
        ...{ tokenizer_file: name, vocab_file: name, chat_template: { file: name } },
        auto_map: { AutoTokenizer: name },
      }),
    }),
    codes: ['network'],
  },
]

describe.each(READERS)('$reader', ({ load, place = '', files, codes = ['format'] }) => {
  test.each(FORGED_NAMES)('%j does not cause requests outside the folder', async (name) => {
    for (const [file, bytes] of Object.entries(files(name))) {
      if (file === '') server.files.set(LISTING, new TextEncoder().encode(String(bytes)))
      else put(file, bytes)
    }
    const error = await load(place)
    // UTF-8 cannot represent a lone surrogate; its replacement names a missing file.
    const expected = name.isWellFormed() ? codes : [...codes, 'unsupported']
    expect(expected).toContain(isHalfbyteError(error) && error.code)
    expect(asked.length).toBeGreaterThan(0)
    expect(elsewhere()).toEqual([])
  })
})

test('a name in the folder is requested, with the token', async () => {
  put('model.onnx', withWeights('./data/w 1.bin'))
  put('data/w%201.bin', DATA)
  await errorOf('model.onnx')
  expect(asked).toContainEqual({
    url: `${server.address}${HUB_PATH}data/w%201.bin`,
    token: `Bearer ${TOKEN}`,
  })
  expect(elsewhere()).toEqual([])
})

test.each([
  ['a decoder', errorOf],
  ['a network', networkError],
])('in %s, a name with a part number means only the file with that name', async (_, load) => {
  put('model.onnx', withWeights('w-00002-of-00002.hbm'))
  put('w-00001-of-00002.hbm', new Uint8Array(8))
  put('w-00002-of-00002.hbm', DATA)
  // The first part has too few bytes for the tensor.
  expect(String(await load('model.onnx'))).not.toMatch(/which has 8/)
  expect(elsewhere()).toEqual([])
})

test('whatever an ONNX model or an index names, nothing else is requested', async () => {
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
