// Folders without a network. In: a folder of safetensors that lacks optional files, on a server that goes
// away. Out: whether it opens from the device, and only if it was stored whole.
import { afterEach, beforeEach, expect, test } from 'vitest'
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

test('a folder whose weights are not stored does not open: what is missing may only be out of reach', async () => {
  server.files.delete('m/model.safetensors')
  await expect(names()).rejects.toMatchObject({ code: 'network' })
  await goOffline()
  await expect(names()).rejects.toMatchObject({ code: 'network' })
})
