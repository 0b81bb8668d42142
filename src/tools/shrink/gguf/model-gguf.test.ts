// Models as GGUF. In: random folders. Out: the file's contents, or an error before anything is written.
import { expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { type RandomOptions, randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource, bufferSource, joinBytes } from '../../../core/base/bytes.ts'
import { readGguf } from '../../../core/formats/gguf/gguf.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import type { GgufDType } from './gguf-tensors.ts'
import { modelGguf } from './model-gguf.ts'

const { signal } = new AbortController()

async function written(options: Partial<RandomOptions>, dtype: GgufDType, config: object = {}) {
  const files = safetensorsFiles(randomLlama({ seed: 5, ...options }))
  const sources = files.map((file) => blobSource(file.name, file))
  const file = await openModel(sources)
  const stated = { ...(file.metadata.get('config') as object), ...config }
  const prepared = await prepareModel(
    { ...file, metadata: new Map([...file.metadata, ['config', stated]]) },
    { weights: 'f32', forPack: true },
  )
  const chunks: Uint8Array[] = []
  for await (const chunk of modelGguf(prepared, { dtype, license: 'MIT', name: 'Tiny', signal }).chunks)
    chunks.push(chunk)
  return readGguf(bufferSource('model.gguf', joinBytes(chunks)), signal)
}

test('states its sizes, its name and the type of most of its matrices', async () => {
  const { metadata, tensors } = await written({}, 'Q4_0')
  expect(Object.fromEntries(metadata)).toMatchObject({
    'general.architecture': 'llama',
    'general.name': 'Tiny',
    'general.license': 'MIT',
    'general.file_type': 2,
    'llama.block_count': 2,
    'llama.attention.head_count': 4,
    'llama.attention.head_count_kv': 2,
    'llama.embedding_length': 64,
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'gpt-2',
  })
  const dtypeOf = (name: string) => tensors.get(name)?.dtype
  expect(dtypeOf('blk.0.attn_q.weight')).toBe('Q4_0')
  expect(dtypeOf('token_embd.weight')).toBe('Q8_0')
  expect(dtypeOf('output_norm.weight')).toBe('F32')
})

test('rows that are not whole blocks are F16', async () => {
  const { tensors } = await written({ intermediate: 72 }, 'Q8_0')
  expect(tensors.get('blk.0.ffn_down.weight')?.dtype).toBe('F16')
  expect(tensors.get('blk.0.ffn_up.weight')?.dtype).toBe('Q8_0')
})

test('a window, which llama.cpp does not support for this family, is rejected', async () => {
  await expect(written({ window: 16 }, 'F16')).rejects.toThrow(
    /GGUF's keys for llama cannot express this model's window, so a different model would be read; write a \.hbm/,
  )
})

test('a rotation that the keys cannot express is rejected', async () => {
  const rope_scaling = {
    rope_type: 'longrope',
    short_factor: Array(8).fill(1),
    long_factor: Array(8).fill(2),
    original_max_position_embeddings: 64,
  }
  await expect(written({}, 'F16', { rope_scaling })).rejects.toThrow(/cannot express this model's rope/)
})

test('a weight too large for F16 is reported', async () => {
  await expect(written({ gain: 1e6 }, 'F16')).rejects.toThrow(
    /weight has the weight -?[\d.]+, but F16 only goes up to 65504; choose --format f32 or bf16/,
  )
})
