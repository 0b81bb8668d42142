// Folders without a network. In: a folder of safetensors that lacks optional files, on a server that goes
// away. Out: whether it opens from the device, and only if it was stored whole.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Opfs } from './device/opfs.ts'
import { peekAddress } from './download/peek.ts'
import { openAddress } from './open.ts'
import { type FileServer, serveFiles } from './testing/file-server.ts'
import { memoryStorage } from './testing/memory-folders.ts'

const text = (value: string) => new TextEncoder().encode(value)

let server: FileServer
let isClosed: boolean
beforeEach(async () => {
  memoryStorage()
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
  (await openAddress(`${server.address}m/`, { firstWaitMs: 1 })).map(({ name }) => name)

test('a folder that was loaded opens again, though it lacks files that may be missing', async () => {
  const online = await names()
  expect(online).toEqual(['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'])
  await goOffline()
  expect(await names()).toEqual(online)
})

test('a folder that was loaded asks the server for nothing, neither to open nor to peek', async () => {
  await names()
  server.requests.length = 0
  await names()
  await (await peekAddress(`${server.address}m/`)).close()
  expect(server.requests).toEqual([])
})

test('an optional file that was damaged is fetched again', async () => {
  await names()
  await (await Opfs.open())!.doubt(`${server.address}m/tokenizer_config.json`)
  server.requests.length = 0
  expect(await names()).toContain('tokenizer_config.json')
  expect(server.requests.map((line) => line.split(' ')[1])).toEqual(['/m/tokenizer_config.json'])
})

test('weights of another model in the same folder do not stand for the folder', async () => {
  server.files.set('m/adapter.safetensors', text('weights'))
  server.files.set('m/model.gguf', text('weights'))
  for (const name of ['adapter.safetensors', 'model.gguf']) await openAddress(`${server.address}m/${name}`)
  expect(await names()).toContain('tokenizer_config.json')
})

test('a folder whose weights are not stored does not open: what is missing may only be out of reach', async () => {
  server.files.delete('m/model.safetensors')
  await expect(names()).rejects.toMatchObject({ code: 'network' })
  await goOffline()
  await expect(names()).rejects.toMatchObject({ code: 'network' })
})
