// Folders from other formats. In: random models and published vocabularies. Out: the same weights and tokens
// when the folder is read.
import { describe, expect, test } from 'vitest'
import { ggufFile, safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { type RandomOptions, randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { fixtureText } from '../../../../test/helpers/fixture.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource, bufferSource, joinBytes } from '../../../core/base/bytes.ts'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { readGguf } from '../../../core/formats/gguf/gguf.ts'
import type { JsonTokenizerSpec } from '../../../core/text/spec.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import { type PreparedModel, prepareModel } from '../../../engine/load/prepare.ts'
import { ggufVocabulary } from '../gguf/gguf-vocabulary.ts'
import { modelGguf } from '../gguf/model-gguf.ts'
import { requantizedGguf } from '../gguf/requantize-gguf.ts'
import { folderTokenizer } from './folder-tokenizer.ts'
import { type FolderDType, modelFolder } from './model-folder.ts'

const { signal } = new AbortController()

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk.slice())
  return joinBytes(all)
}

async function prepared(options: Partial<RandomOptions> = {}): Promise<PreparedModel> {
  const file = await ggufFile(randomLlama({ seed: 5, ...options }))
  const bytes = new Uint8Array(await file.arrayBuffer())
  return prepareModel(await openModel([bufferSource('a.gguf', bytes)]), { weights: 'f32', forPack: true })
}

/** Opens the files of a folder. */
async function folderOf(model: PreparedModel, dtype?: FolderDType): Promise<PreparedModel> {
  const { json, bytes, chunks } = await modelFolder(model, { dtype, signal })
  const weights = await joined(chunks)
  expect(weights.length).toBeGreaterThan(bytes)
  const texts = [...json].map(([name, value]) =>
    bufferSource(name, new TextEncoder().encode(JSON.stringify(value))),
  )
  const file = await openModel([...texts, bufferSource('model.safetensors', weights)])
  return prepareModel(file, { weights: 'f32', forPack: true })
}

async function tensorBytes(file: Uint8Array) {
  const { tensors } = await readGguf(bufferSource('b.gguf', file), signal)
  const all = [...tensors.values()].map(
    async ({ name, dtype, source, offset, byteLength }) =>
      [name, [dtype, await source.read(offset, byteLength)]] as const,
  )
  return new Map(await Promise.all(all))
}

describe('a GGUF model as a folder', () => {
  test.each<[string, Partial<RandomOptions>]>([
    ['Llama, whose rotated pairs have another order', {}],
    ['Qwen2, with biases', { family: 'qwen2' }],
    ['one table for the embedding and the logits', { tied: true }],
    [
      'frequencies scaled like those of Llama 3.1',
      {
        scaling: {
          ...{ rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4 },
          original_max_position_embeddings: 8192,
        },
      },
    ],
  ])('has the same weights when it is read and written as GGUF again: %s', async (_, options) => {
    const model = await prepared(options)
    const back = await joined(
      modelGguf(await folderOf(model, 'F32'), { dtype: 'F32', name: 'a', signal }).chunks,
    )
    const own = await joined((await requantizedGguf(model, 'F32', signal)).chunks)
    expect(await tensorBytes(back)).toEqual(await tensorBytes(own))
  })

  test('states the type of its matrices, the ends of a reply and the template', async () => {
    const { json } = await modelFolder(await prepared(), { dtype: 'BF16', signal })
    expect([...json.keys()].at(-1)).toBe('config.json')
    expect(json.get('config.json')).toMatchObject({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      torch_dtype: 'bfloat16',
      num_hidden_layers: 2,
    })
    const { file } = await folderOf(await prepared(), 'BF16')
    expect(file.tensors.get('model.layers.0.self_attn.q_proj.weight')?.dtype).toBe('BF16')
    expect(file.tensors.get('model.norm.weight')?.dtype).toBe('F32')
  })
})

test('a Llama with a window is written as Mistral', async () => {
  const files = safetensorsFiles(randomLlama({ seed: 5, window: 20 }))
  const file = await openModel(files.map((each) => blobSource(each.name, each)))
  const model = await prepareModel(file, { weights: 'f32', forPack: true })
  const { json } = await modelFolder(model, { signal })
  expect(json.get('config.json')).toMatchObject({
    architectures: ['MistralForCausalLM'],
    sliding_window: 20,
  })
  expect((await folderOf(model)).config.window).toEqual(model.config.window)
})

const published = (name: string): JsonTokenizerSpec => ({
  kind: 'json',
  tokenizer: JSON.parse(fixtureText(`tokenizers/${name}.tokenizer.json`)),
})

test.each(['smollm', 'phi3-v'])('%s in GGUF’s form gives the same tokens as a tokenizer.json', (name) => {
  const spec = published(name)
  const tokenizer = createTokenizer(spec)
  const gguf = ggufVocabulary(name, { spec, tokenizer, rows: tokenizer.vocabSize })
  const made = folderTokenizer(name, gguf, createTokenizer(gguf))
  const text = fixtureText('texts/wikitext-2.txt')
  expect(createTokenizer(made).encode(text)).toEqual(tokenizer.encode(text))
  expect(folderTokenizer(name, spec, tokenizer)).toBe(spec)
})

test('a family whose files are not one for one is named', async () => {
  const model = await prepared()
  const other = { ...model, config: { ...model.config, family: 'gpt2' as const } }
  const error = await modelFolder(other, { signal }).catch((reason) => reason)
  expect(isHalfbyteError(error) && error.message).toMatch(
    /has the family gpt2, which cannot be written as a folder, only llama, qwen2, qwen3, smollm3, gemma3; write a \.hbm$/,
  )
})

test('a setting that config.json cannot express is named', async () => {
  const model = await prepared()
  const other = { ...model, config: { ...model.config, logitScale: 0.5 } }
  await expect(modelFolder(other, { signal })).rejects.toThrow(
    /a config\.json for llama cannot express this model's logitScale, so a different model would be read; write a \.hbm/,
  )
})
