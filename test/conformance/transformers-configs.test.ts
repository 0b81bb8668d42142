// Configurations of transformers. In: the output of each config class with defaults, and files of earlier
// versions. Out: whether hyperparameters are the same with any key omitted, and from files of either version.
//
// transformers/make.py writes transformers/defaults.json and earlier.json.
import { describe, expect, test } from 'vitest'
import { hfClass, hfConfig } from '../../src/core/arch/config/config-hf.ts'
import { Fields } from '../../src/core/arch/config/fields.ts'
import { findFamily } from '../../src/core/arch/families.ts'
import { isObject, type JsonObject } from '../../src/core/base/values.ts'
import { withoutNulls } from '../../src/core/formats/json-files.ts'
import { nullsOf } from '../../src/core/formats/safetensors/open-safetensors.ts'
import published from './transformers/defaults.json' with { type: 'json' }
import earlier from './transformers/earlier.json' with { type: 'json' }

/** Values that activate other keys, or select a supported model. */
const STATED: JsonObject = {
  Ministral3ForCausalLM: { rope_parameters: { rope_type: 'default', rope_theta: 1_000_000 } },
  ApertusForCausalLM: { rope_parameters: { rope_type: 'default', rope_theta: 12_000_000 } },
  GptOssForCausalLM: { rope_parameters: { rope_type: 'default', rope_theta: 150_000 } },
  DeepseekV2ForCausalLM: { num_experts_per_tok: 6 },
  Dots1ForCausalLM: { n_routed_experts: 128, n_shared_experts: 2, num_experts_per_tok: 6 },
  Qwen2ForCausalLM: { use_sliding_window: true, sliding_window: 4096, layer_types: null },
  Qwen3ForCausalLM: { use_sliding_window: true, sliding_window: 4096, layer_types: null },
  Qwen3MoeForCausalLM: { use_sliding_window: true, sliding_window: 4096 },
  GraniteMoeHybridForCausalLM: { num_local_experts: 0, position_embedding_type: 'rope' },
  Phi3ForCausalLM: {
    rope_parameters: {
      rope_type: 'longrope',
      rope_theta: 10_000,
      partial_rotary_factor: 1,
      short_factor: [1],
      long_factor: [2],
    },
    max_position_embeddings: 131_072,
  },
}

/** Keys that a class requires, because these cases use a value other than the default. */
const NEEDED = new Set(['num_local_experts', 'position_embedding_type', 'use_sliding_window'])

const read = (config: JsonObject) => {
  const fields = Fields.of('model', withoutNulls(config))
  const family = findFamily(({ hf }) => Object.hasOwn(hf.classes, hfClass(fields))) as string
  return hfConfig('model', fields, { family, unset: nullsOf(config) })
}

const without = (config: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([each]) => each !== key))

test.each(earlier)('reads files of earlier versions: $name', ({ given, written }) => {
  expect(read(given)).toEqual(read(written))
})

describe.each(Object.entries(published))('%s', (name, written: JsonObject) => {
  const config = { ...written, ...(STATED[name] as JsonObject | undefined) }
  const keys = Object.keys(written).filter((key) => key !== 'architectures' && !NEEDED.has(key))

  test.each(keys)('uses its default for %s', (key) => {
    if (STATED[name] !== undefined && key in (STATED[name] as JsonObject) && key !== 'sliding_window') return
    expect(read(without(config, key))).toEqual(read(config))
  })

  test('uses its defaults for missing keys of a RoPE object', () => {
    const rope = config['rope_parameters']
    if (!isObject(rope)) return
    const lists = ['short_factor', 'long_factor', 'rope_type']
    for (const key of Object.keys(rope).filter((each) => !lists.includes(each))) {
      expect(read({ ...config, rope_parameters: without(rope, key) })).toEqual(read(config))
      const kind = rope[key]
      if (!isObject(kind)) continue
      const shorter = { ...rope, [key]: without(kind, 'rope_theta') }
      expect(read({ ...config, rope_parameters: shorter })).toEqual(read(config))
    }
  })

  test('needs only its class', () => {
    const needed = Object.entries(config).filter(
      ([key]) => NEEDED.has(key) || key in ((STATED[name] as JsonObject) ?? {}),
    )
    expect(read({ architectures: [name], ...Object.fromEntries(needed) })).toEqual(read(config))
  })
})

test('OLMo Hybrid does not rotate if its theta is null', () => {
  const config = published.OlmoHybridForCausalLM as JsonObject
  const rope_parameters = { rope_type: 'default', rope_theta: null }
  expect(read(config)).toMatchObject({ rope: { dims: 128, theta: 10_000 } })
  expect(read({ ...config, rope_parameters })).toMatchObject({ rope: { dims: 0 } })
})
