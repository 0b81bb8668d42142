// Tests addresses. In: model names as users write them. Out: the requested files, and errors for invalid
// names.
import { expect, test } from 'vitest'
import { givenPlace } from '../formats/names/named-files.ts'
import { fileName, filesOf, isFileOf, shardsOf } from './address.ts'

const HOST = 'https://models.example/'
const index = (map: unknown) => new TextEncoder().encode(JSON.stringify({ weight_map: map }))
const urls = (files: readonly { url: string }[]) => files.map(({ url }) => url)

test('a name is the last part of the path, decoded if possible', () => {
  expect(fileName(`${HOST}a%20b/my%20model.gguf?download=true#x`)).toBe('my model.gguf')
  expect(fileName(`${HOST}100%.gguf`)).toBe('100%.gguf')
})

test('the address of a single file stands for that file', () => {
  expect(filesOf(givenPlace(`${HOST}tiny.gguf?v=2`))).toEqual([
    { url: `${HOST}tiny.gguf?v=2`, optional: false },
  ])
})

test('the address of any part of a split model stands for all parts', () => {
  for (const ending of ['gguf', 'hbm']) {
    const parts = ['1', '2', '3'].map((part) => `${HOST}big-0000${part}-of-00003.${ending}?token=x`)
    for (const part of parts) expect(urls(filesOf(givenPlace(part)))).toEqual(parts)
  }
})

test.each(['big-00004-of-00003.gguf', 'big-00000-of-00000.gguf', 'big-00001-of-99999.gguf'])(
  '%s is rejected',
  (name) => {
    expect(() => filesOf(givenPlace(HOST + name))).toThrow(expect.objectContaining({ code: 'format' }))
  },
)

test('a folder stands for its configuration files, some of which may be missing', () => {
  const files = filesOf(givenPlace(`${HOST}folder/`))
  expect(files).toContainEqual({ url: `${HOST}folder/config.json`, optional: false })
  expect(files).toContainEqual({ url: `${HOST}folder/model.safetensors.index.json`, optional: true })
})

test('files directly in a folder belong to it, even if the name is written differently', () => {
  const isOfFolder = isFileOf(`${HOST}folder/`)
  for (const name of ['config.json', 'a%20b.gguf', 'onnx/model_q4.onnx', '2_Dense/model.safetensors'])
    expect(isOfFolder(`${HOST}folder/${name}`)).toBe(true)
  for (const name of ['folder2/a', 'folder/sub/a', 'folder/onnx/sub/a', 'folder/2_Dense/sub/a', 'a'])
    expect(isOfFolder(HOST + name)).toBe(false)
})

test('the index names each shard once; without an index there is one file', () => {
  const map = { a: 'model-2.safetensors', b: 'model-1.safetensors', c: 'model-2.safetensors' }
  expect(urls(shardsOf(givenPlace(HOST), index(map)))).toEqual([
    `${HOST}model-1.safetensors`,
    `${HOST}model-2.safetensors`,
  ])
  expect(urls(shardsOf(givenPlace(HOST), undefined))).toEqual([`${HOST}model.safetensors`])
})

test('in a repository without safetensors, the graphs are the weights, smallest first', () => {
  const [file] = shardsOf(givenPlace(HOST), undefined)
  expect(file?.instead?.slice(0, 3)).toEqual([
    `${HOST}model.onnx`,
    `${HOST}onnx/model_quantized.onnx`,
    `${HOST}onnx/model_q4.onnx`,
  ])
  expect(file?.instead?.at(-1)).toBe(`${HOST}onnx/decoder_model_merged.onnx`)
  expect(shardsOf(givenPlace(HOST), undefined, 'q4f16')).toEqual([
    { url: `${HOST}onnx/model_q4f16.onnx`, optional: false },
  ])
})

test.each([
  ['a shard outside the folder', index({ a: '../other/model.safetensors' })],
  ['a shard in a subfolder', index({ a: 'onnx/model.safetensors' })],
  ['a shard elsewhere', index({ a: 'https://elsewhere.example/model.safetensors' })],
  ['a shard that is not a safetensors file', index({ a: 'model.bin' })],
  ['no JSON', new TextEncoder().encode('<!doctype html>')],
])('an index with %s is rejected', (_, bytes) => {
  expect(() => shardsOf(givenPlace(HOST), bytes)).toThrow(expect.objectContaining({ code: 'format' }))
})
