// Loads an export in transformers.js layout through each kind of address, and counts the requests.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../../test/helpers/file-server.ts'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { openOnnx } from '../../../network/onnx/open-model.ts'
import { openAny } from './open-any.ts'
import { openRequestedFiles } from './requested-files.ts'

const EXPORT = join(import.meta.dirname, '../../../../test/conformance/onnx/exports/qwen2-cache/model.onnx')
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

let server: FileServer
beforeEach(async () => {
  server = await serveFiles({
    'repo/onnx/model_q4.onnx': new Uint8Array(await readFile(EXPORT)),
    'repo/config.json': json({ model_type: 'qwen2', max_position_embeddings: 77 }),
    'repo/generation_config.json': json({ temperature: 0.5 }),
    'repo/tokenizer.json': json({ model: {} }),
    'repo/tokenizer_config.json': json({ chat_template: 'hello' }),
  })
})
afterEach(() => server.close())

async function open(path: string, dtype?: 'q4' | 'fp16') {
  const hooks = { signal: new AbortController().signal, onProgress() {} }
  const never = async (): Promise<never> => {
    throw new Error('this reader is not needed')
  }
  const host = {
    loadOnnx: async () => ({ openOnnx }),
    loadGguf: never,
    loadSafetensors: never,
    loadFamilies: never,
  }
  const opened = await openAny(
    givenPlace(server.address + path),
    (source) => openRequestedFiles({ cache: 'none', dtype, source }, hooks),
    host,
    { dtype },
  )
  return opened.file
}

test.each([
  ['its folder', 'repo/'],
  ['its graph', 'repo/onnx/model_q4.onnx'],
])('by %s, with its description one level above the graph', async (_, path) => {
  const file = await open(path)
  expect(file).toMatchObject({
    format: 'onnx',
    generationConfig: { temperature: 0.5 },
    tokenizer: { config: { chat_template: 'hello' } },
  })
  expect(file.metadata.get('config')).toMatchObject({ contextLength: 77, layers: 2 })
})

test('every address is requested once', async () => {
  await open('repo/')
  // Files are read in ranges, so an existing file may be requested more than once.
  const missed = server.requests
    .map((line) => line.split(' ')[1] as string)
    .filter((path) => !server.files.has(path.slice(1)))
  expect(missed.filter((path, index) => missed.indexOf(path) !== index)).toEqual([])
})

test('data files are looked up only next to the graph', async () => {
  server.files.set('repo/genai_config.json', json({ model: { context_length: 5 } }))
  const file = await open('repo/')
  expect(file.metadata.get('config')).toMatchObject({ contextLength: 77 })
})

test('the error for a dtype that the repository lacks names it', async () => {
  await expect(open('repo/', 'fp16')).rejects.toMatchObject({
    message: expect.stringContaining('model_fp16.onnx'),
  })
})
