// Tests foreign values. In: folders and adapters whose JSON has wrong values in place of strings or numbers.
// Out: a model or a typed error.
import { expect, test } from 'vitest'
import { ggufBytes } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { safetensorsBytes } from '../../../test/conformance/testing/writers/safetensors-writer.ts'
import { ALL_READERS, openModel } from '../arch/open-model.ts'
import { bufferSource } from '../base/bytes.ts'
import { isHalfbyteError } from '../base/errors.ts'
import { openAdapter } from './open-adapter.ts'

const NO_TEXT = { toString: 1, valueOf: 2 }
const FOREIGN: readonly unknown[] = [NO_TEXT, [NO_TEXT], null, [], 'x', 7, -1, true, '9'.repeat(400)]

const file = (name: string, bytes: Uint8Array) => bufferSource(name, bytes)
const json = (name: string, value: unknown) => file(name, new TextEncoder().encode(JSON.stringify(value)))
const half = (shape: number[]) => ({
  dtype: 'F16' as const,
  shape,
  data: new Uint8Array(shape[0]! * shape[1]! * 2),
})

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) ? error.code : String(error)
  }
}

const SETTINGS = [
  'quant_method',
  'checkpoint_format',
  'version',
  'format',
  'bits',
  'group_size',
  'config_groups',
]

test.each(SETTINGS)('a quantised folder with any value for %s opens or throws a typed error', async (key) => {
  const weights = file(
    'model.safetensors',
    safetensorsBytes({ 'x.qweight': { dtype: 'I32', shape: [4, 8], data: new Uint8Array(128) } }),
  )
  for (const method of ['gptq', 'awq', 'compressed-tensors', 'other']) {
    for (const value of FOREIGN) {
      const quantization_config = { quant_method: method, bits: 4, group_size: 32, [key]: value }
      const config = json('config.json', { quantization_config })
      expect(await codeOf(openModel([weights, config]))).toMatch(/^(none|format|unsupported)$/)
    }
  }
})

test('an index with any value as its map or file names opens or throws a typed error', async () => {
  const weights = file('model.safetensors', safetensorsBytes({ w: half([2, 2]) }))
  for (const value of FOREIGN) {
    for (const weight_map of [value, { w: value }]) {
      const index = json('model.safetensors.index.json', { weight_map })
      const work = openModel([weights, json('config.json', {}), index])
      expect(await codeOf(work)).toMatch(/^(none|format)$/)
    }
  }
})

const ADAPTER = ['peft_type', 'r', 'lora_alpha', 'use_rslora', 'use_dora', 'rank_pattern', 'alpha_pattern']

test.each(ADAPTER)('an adapter with any value for %s opens or throws a typed error', async (key) => {
  const name = 'base_model.model.q.lora_'
  const weights = file(
    'adapter_model.safetensors',
    safetensorsBytes({ [`${name}A.weight`]: half([2, 4]), [`${name}B.weight`]: half([4, 2]) }),
  )
  for (const value of FOREIGN) {
    const settings = { peft_type: 'LORA', r: 2, lora_alpha: 4, [key]: value }
    const work = openAdapter([weights, json('adapter_config.json', settings)], ALL_READERS)
    expect(await codeOf(work)).toMatch(/^(none|format|unsupported)$/)
  }
})

test.each<[string, 'string' | 'string[]' | 'u32', unknown, RegExp]>([
  ['general.type', 'string[]', ['adapter'], /it is \["adapter"\], "lora"/],
  ['adapter.type', 'u32', 3, /it is "adapter", 3/],
  ['adapter.lora.alpha', 'string', 'high', /alpha is "high" but must be a number/],
])('a GGUF LoRA whose %s is a %s opens or throws a typed error', async (key, type, value, sentence) => {
  const metadata = {
    'general.type': ['string', 'adapter'],
    'adapter.type': ['string', 'lora'],
    [key]: [type, value],
  } as Parameters<typeof ggufBytes>[0]['metadata']
  const work = openAdapter([file('lora.gguf', await ggufBytes({ metadata, tensors: [] }))], ALL_READERS)
  await expect(work).rejects.toThrow(sentence)
})

test.each(['model_type', 'text_config', 'vision_config', 'tie_word_embeddings'])(
  '%s of a vision model’s folder may be anything',
  async (key) => {
    for (const value of FOREIGN) {
      // Without text_config, model_type says whether the settings describe both models.
      const text_config = key === 'model_type' ? null : {}
      const config = { model_type: 'qwen2_vl', vision_config: {}, text_config, [key]: value }
      const weights = safetensorsBytes({ 'lm_head.weight': half([2, 2]) })
      const files = [json('config.json', config), file('model.safetensors', weights)]
      expect(await codeOf(openModel(files))).toMatch(/^(none|format|unsupported|architecture)$/)
    }
  },
)
