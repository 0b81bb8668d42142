// Tests folders without a network. In: a folder of safetensors that lacks optional files, on a server that
// goes away. Out: whether it opens from the device; it must not unless it was stored completely.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../test/helpers/file-server.ts'
import { storedFiles, unstore } from '../../engine/api/stored.ts'
import { givenPlace } from '../formats/names/named-files.ts'
import { ModelStore } from './device/model-store.ts'
import { fileKey } from './device/notes.ts'
import { peekAddress } from './download/peek.ts'
import { openAddress } from './open-address.ts'
import { memoryStorage } from './testing/memory-folders.ts'

const text = (value: string) => new TextEncoder().encode(value)

let server: FileServer
let isClosed: boolean
let folder: ReturnType<ReturnType<typeof memoryStorage>>
beforeEach(async () => {
  folder = memoryStorage()('halfbyte-models')
  isClosed = false
  server = await serveFiles({
    'm/config.json': text('{}'),
    'm/tokenizer.json': text('{}'),
    'm/tokenizer_config.json': text('{}'),
    'm/model.safetensors': text('weights'),
  })
})
const goOffline = async () => {
  isClosed = true
  await server.close()
}
afterEach(async () => {
  if (!isClosed) await server.close()
})

const names = async () =>
  (await openAddress(givenPlace(`${server.address}m/`), { firstWaitMs: 1 })).map(({ name }) => name)

test('a loaded folder opens again although optional files are missing', async () => {
  const online = await names()
  expect(online).toEqual(['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'])
  await goOffline()
  expect(await names()).toEqual(online)
})

test('a loaded folder makes no requests, neither to open nor to peek', async () => {
  await names()
  server.requests.length = 0
  await names()
  await (await peekAddress(givenPlace(`${server.address}m/`))).close()
  expect(server.requests).toEqual([])
})

test('an optional file that was damaged is fetched again', async () => {
  await names()
  await (await ModelStore.open())!.doubt(`${server.address}m/tokenizer_config.json`)
  server.requests.length = 0
  expect(await names()).toContain('tokenizer_config.json')
  expect(server.requests.map((line) => line.split(' ')[1])).toEqual(['/m/tokenizer_config.json'])
})

test('weights of another model in the same folder do not count for the folder', async () => {
  server.files.set('m/adapter.safetensors', text('weights'))
  server.files.set('m/model.gguf', text('weights'))
  for (const name of ['adapter.safetensors', 'model.gguf'])
    await openAddress(givenPlace(`${server.address}m/${name}`))
  expect(await names()).toContain('tokenizer_config.json')
})

test('a folder without stored weights does not open: missing files may just be unreachable', async () => {
  server.files.delete('m/model.safetensors')
  await expect(names()).rejects.toMatchObject({ code: 'network' })
  await goOffline()
  await expect(names()).rejects.toMatchObject({ code: 'network' })
})

/** The files that a folder may lack. */
const OPTIONAL = ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json', 'chat_template.jinja']

/** Removes entries of a stored file, as a failing device would. */
async function lose(name: string, endings: readonly string[]): Promise<void> {
  const key = await fileKey(`${server.address}m/${name}`)
  for (const ending of endings) folder.entries.delete(`${key}.${ending}`)
}

const paths = () => server.requests.splice(0).map((line) => line.split(' ')[1])

describe.each([[['bin']], [['json']], [['json', 'bin']]])('an optional file whose %s is gone', (endings) => {
  beforeEach(async () => {
    for (const name of OPTIONAL) server.files.set(`m/${name}`, text('{}'))
    await names()
    server.requests.length = 0
  })

  test.each(OPTIONAL)('is fetched again: %s', async (name) => {
    const whole = await names()
    await lose(name, endings)
    expect(await names()).toEqual(whole)
    expect(new Set(paths())).toEqual(new Set([`/m/${name}`]))
    await names()
    expect(paths()).toEqual([])
  })

  test.each(OPTIONAL)('is named in the error if the server cannot be reached: %s', async (name) => {
    await lose(name, endings)
    await goOffline()
    await expect(names()).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining(`${name} was stored on this device but is missing`),
      detail: { file: name },
    })
  })
})

test('records of missing files are removed with the model, and do not count as files', async () => {
  await names()
  const listed = (await storedFiles()).map(({ url }) => url.slice(server.address.length + 2))
  expect(listed.sort()).toEqual([
    'config.json',
    'model.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
  ])
  await unstore(`${server.address}m/`)
  expect([...folder.entries.keys()]).toEqual([])
})

test('a missing file is requested again once the weights are no longer stored', async () => {
  await names()
  server.files.set('m/chat_template.jinja', text('{{ messages }}'))
  expect(await names()).not.toContain('chat_template.jinja')
  await (await ModelStore.open())!.remove(`${server.address}m/model.safetensors`)
  expect(await names()).toContain('chat_template.jinja')
})

describe('a folder stored by an earlier release without records of missing files', () => {
  beforeEach(async () => {
    await names()
    for (const [key, entry] of [...folder.entries]) {
      if (!key.endsWith('.json')) continue
      const { isMissing, knowsMissing: _, ...old } = JSON.parse(new TextDecoder().decode(entry.bytes))
      if (isMissing === true) folder.entries.delete(key)
      else folder.put(key, JSON.stringify(old))
    }
    server.requests.length = 0
  })

  test('opens without a network', async () => {
    await goOffline()
    expect(await names()).toContain('model.safetensors')
    expect(await names()).toContain('model.safetensors')
  })

  test('requests missing files once, and can then detect later losses', async () => {
    await names()
    expect([...new Set(paths())]).toEqual([
      '/m/generation_config.json',
      '/m/chat_template.jinja',
      '/m/model.safetensors.index.json',
    ])
    await names()
    expect(paths()).toEqual([])
    await lose('tokenizer_config.json', ['json', 'bin'])
    expect(await names()).toContain('tokenizer_config.json')
    await lose('tokenizer_config.json', ['json', 'bin'])
    await goOffline()
    await expect(names()).rejects.toMatchObject({ detail: { file: 'tokenizer_config.json' } })
  })

  test('silently recovers lost files', async () => {
    await lose('tokenizer_config.json', ['json', 'bin'])
    expect(await names()).toContain('tokenizer_config.json')
  })
})

test('an ONNX model that lacks files opens without a network, by its folder and by its graph', async () => {
  server.files.delete('m/model.safetensors')
  server.files.set('m/model.onnx', text('graph'))
  // The files opened by a load of the folder, in order.
  const opened = async () => {
    const found: unknown[] = []
    for (const path of ['', 'model.onnx', 'genai_config.json', 'config.json', 'generation_config.json']) {
      const sources = openAddress(givenPlace(`${server.address}m/${path}`), { firstWaitMs: 1 })
      found.push(
        await sources.then(
          (all) => all.map(({ name }) => name),
          (error) => error.detail.status,
        ),
      )
    }
    return found
  }
  const online = await opened()
  expect(online).toEqual([
    ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.onnx'],
    ['model.onnx'],
    404,
    ['config.json'],
    404,
  ])
  server.requests.length = 0
  expect(await opened()).toEqual(online)
  expect(server.requests).toEqual([])
  await goOffline()
  expect(await opened()).toEqual(online)
})

describe('a repository in the layout of transformers.js', () => {
  beforeEach(() => {
    server.files.delete('m/model.safetensors')
    for (const name of ['model_q4', 'model_q4f16', 'model'])
      server.files.set(`m/onnx/${name}.onnx`, text(name))
  })
  const opened = async (dtype?: 'q4f16' | 'fp16') => {
    const sources = await openAddress(givenPlace(`${server.address}m/`), { firstWaitMs: 1, dtype })
    return sources.map(({ address }) => address?.slice(server.address.length + 2))
  }
  const REST = ['config.json', 'tokenizer.json', 'tokenizer_config.json']

  test('opens the first existing graph, and does not request any graph again', async () => {
    expect(await opened()).toEqual([...REST, 'onnx/model_q4.onnx'])
    expect(paths()).toContain('/m/onnx/model_quantized.onnx')
    expect(await opened()).toEqual([...REST, 'onnx/model_q4.onnx'])
    await (await peekAddress(givenPlace(`${server.address}m/`))).close()
    expect(paths()).toEqual([])
    await goOffline()
    expect(await opened()).toEqual([...REST, 'onnx/model_q4.onnx'])
  })

  test('opens the graph of a dtype, and no other if that one is missing', async () => {
    expect(await opened('q4f16')).toEqual([...REST, 'onnx/model_q4f16.onnx'])
    await expect(opened('fp16')).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining('model_fp16.onnx'),
    })
  })

  test('is listed and removed as one model', async () => {
    await opened()
    expect((await storedFiles()).map(({ url }) => url)).toContain(`${server.address}m/onnx/model_q4.onnx`)
    await unstore(`${server.address}m/`)
    expect([...folder.entries.keys()]).toEqual([])
  })
})
