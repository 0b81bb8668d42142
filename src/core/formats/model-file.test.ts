import { describe, expect, test } from 'vitest'
import { ggufBytes } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { safetensorsBytes } from '../../../test/conformance/testing/writers/safetensors-writer.ts'
import { fixture } from '../../../test/helpers/fixture.ts'
import { openModel } from '../arch/open-model.ts'
import { bufferSource } from '../base/bytes.ts'
import { baseName, modelName } from './names/named-files.ts'

const text = (name: string, content: string) => bufferSource(name, new TextEncoder().encode(content))
const weights = bufferSource(
  'model.safetensors',
  safetensorsBytes({ w: { dtype: 'F32', shape: [2], data: new Uint8Array(8) } }),
)
const gguf = bufferSource(
  'tiny.gguf',
  await ggufBytes({
    metadata: {
      'general.name': ['string', 'Tiny'],
      'general.sampling.temp': ['f32', 0.5],
      'tokenizer.ggml.model': ['string', 'gpt2'],
      'tokenizer.ggml.pre': ['string', 'qwen2'],
      'tokenizer.ggml.tokens': ['string[]', ['a', 'b', 'ab']],
      'tokenizer.ggml.token_type': ['i32[]', [1, 1, 3]],
      'tokenizer.ggml.merges': ['string[]', ['a b']],
      'tokenizer.ggml.eos_token_id': ['u32', 2],
      'tokenizer.ggml.padding_token_id': ['u32', 0xffffffff],
      'tokenizer.ggml.add_bos_token': ['bool', false],
      'tokenizer.chat_template': ['string', '{{ x }}'],
    },
    tensors: [],
  }),
)

describe('openModel', () => {
  test('a GGUF includes its name, tokenizer and sampling defaults', async () => {
    const model = await openModel([gguf])
    expect(model).toMatchObject({ format: 'gguf', name: 'Tiny', generationConfig: { temperature: 0.5 } })
    expect(model.tokenizer).toEqual({
      kind: 'gguf',
      model: 'gpt2',
      name: 'Tiny',
      pre: 'qwen2',
      tokens: ['a', 'b', 'ab'],
      types: [1, 1, 3],
      merges: ['a b'],
      eosId: 2,
      addBos: false,
      chatTemplate: '{{ x }}',
    })
  })

  test('a folder of safetensors includes its JSON files, without nulls', async () => {
    const model = await openModel([
      text('README.md', '# hi'),
      text(
        'config.json',
        '{"model_type":"llama","rope_scaling":null,"ids":[1,null],"limit":[0,{"__float__":"Infinity"}]}',
      ),
      text('tokenizer.json', '{"model":{"unk":null}}'),
      text('tokenizer_config.json', '{"chat_template":"old","bos_token":"<s>"}'),
      text('generation_config.json', '{"temperature":0.7}'),
      text('chat_template.jinja', '{{ new }}'),
      weights,
    ])
    expect(model).toMatchObject({
      format: 'safetensors',
      name: 'model',
      generationConfig: { temperature: 0.7 },
    })
    expect(model.metadata.get('config')).toEqual({
      model_type: 'llama',
      ids: [1],
      limit: [0, Number.POSITIVE_INFINITY],
    })
    expect(model.metadata.get('unset')).toEqual(['rope_scaling'])
    expect(model.tokenizer).toEqual({
      kind: 'json',
      tokenizer: { model: { unk: null } },
      config: { chat_template: '{{ new }}', bos_token: '<s>' },
    })
  })

  test('if generation_config.json is missing, the end-of-text ids come from config.json', async () => {
    const config = text('config.json', '{"model_type":"llama","eos_token_id":[2,3]}')
    expect((await openModel([config, weights])).generationConfig).toEqual({ eos_token_id: [2, 3] })
    const generation = text('generation_config.json', '{"eos_token_id":5}')
    expect((await openModel([config, generation, weights])).generationConfig).toEqual({ eos_token_id: 5 })
    const none = text('config.json', '{"model_type":"llama","eos_token_id":null}')
    expect((await openModel([none, weights])).generationConfig).toBeUndefined()
  })

  test('safetensors without config.json are rejected with an error that says so', async () => {
    await expect(openModel([weights])).rejects.toMatchObject({
      code: 'format',
      message: expect.stringContaining('config.json'),
    })
  })

  test('a vocabulary with arrays of different lengths is a format error', async () => {
    const bytes = await ggufBytes({
      metadata: { 'tokenizer.ggml.tokens': ['string[]', ['a']], 'tokenizer.ggml.scores': ['f32[]', [1, 2]] },
      tensors: [],
    })
    await expect(openModel([bufferSource('x.gguf', bytes)])).rejects.toMatchObject({ code: 'format' })
  })

  test('two formats, or no files, are rejected', async () => {
    await expect(openModel([gguf, weights])).rejects.toThrow(/two formats/)
    await expect(openModel([])).rejects.toMatchObject({ code: 'format' })
  })

  test('an aborted signal rejects with its reason', async () => {
    await expect(openModel([gguf], AbortSignal.abort('stop'))).rejects.toBe('stop')
  })

  test.each([
    ['x.gguf', '<!DOCTYPE html><html>', 'format', /web page.*download link/],
    ['x.safetensors', '\n <html lang="en">', 'format', /web page/],
    ['x.safetensors', 'version https://git-lfs.github.com/spec/v1', 'format', /Git LFS pointer/],
    ['x.gguf', '{"error":"Repository not found"}', 'format', /JSON/],
    ['pytorch_model.bin', 'PK\u0003\u0004rest', 'unsupported', /zip archive.*PyTorch/],
    ['x.bin', '\b\u0008\u0012\u0007pytorch', 'format', /ONNX.*name/],
    ['x.bin', 'lmgg....', 'unsupported', /predecessor of GGUF/],
    ['x.gguf', '', 'format', /empty/],
    ['x.gguf', 'GGU', 'format', /format is unknown to Halfbyte \(3 bytes/],
    ['x.bin', '\u0001\u0002\u0003', 'format', /01 02 03/],
  ])('%s of %j is %s', async (name, content, code, message) => {
    const bytes = Uint8Array.from(content, (character) => character.charCodeAt(0))
    await expect(openModel([bufferSource(name, bytes)])).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  test('the tokenizer and mamba fixtures open', async () => {
    const mamba = await openModel(
      ['config.json', 'model.safetensors'].map((name) => bufferSource(name, fixture(`mamba-random/${name}`))),
    )
    expect(mamba.metadata.get('config')).toMatchObject({ model_type: 'mamba' })
    for (const name of ['falcon', 'gpt-2', 'gpt-neox', 'phi-3']) {
      const { tokenizer } = await openModel([
        bufferSource(name, fixture(`tokenizers/ggml-vocab-${name}.gguf`)),
      ])
      expect(tokenizer?.kind === 'gguf' && tokenizer.tokens.length).toBeGreaterThan(1000)
    }
  })
})

test('names are extracted from paths and addresses', () => {
  expect(baseName('https://host/a/resolve/main/b-00001-of-00002.gguf?download=true#x')).toBe(
    'b-00001-of-00002.gguf',
  )
  expect(baseName('a/b?c.gguf')).toBe('b?c.gguf')
  expect(baseName('C:\\models\\b.gguf')).toBe('b.gguf')
  expect(modelName('a/b-00001-of-00002.gguf')).toBe('b')
})
