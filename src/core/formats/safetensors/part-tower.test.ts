// Folders of vision models. In: a configuration and tensor names. Out: the language model, and its tower
// if Halfbyte implements it.
import { expect, test } from 'vitest'
import { bufferSource } from '../../base/bytes.ts'
import type { TensorInfo } from '../tensors.ts'
import { partTower } from './part-tower.ts'

const tensorsOf = (names: readonly string[]) => {
  const source = bufferSource('model', new Uint8Array(4))
  const tensor = (name: string): TensorInfo => ({
    name,
    dtype: 'F32',
    shape: [1],
    offset: 0,
    byteLength: 4,
    source,
  })
  return new Map(names.map((name) => [name, tensor(name)]))
}
const NAMES = [
  'model.language_model.embed_tokens.weight',
  'model.language_model.layers.0.linear_attn.A_log',
  'model.visual.blocks.0.norm1.weight',
  'mtp.fc.weight',
]

const partsOf = (kind: string) =>
  partTower(
    'folder',
    {
      config: {
        model_type: kind,
        text_config: { model_type: `${kind}_text`, hidden_size: 8 },
        vision_config: {},
      },
      tensors: tensorsOf(NAMES),
    },
    undefined,
  )

test('the language model of Qwen3.5 is read without its draft layers', () => {
  const { tensors, metadata } = partsOf('qwen3_5')
  expect([...tensors.keys()]).toEqual(['model.embed_tokens.weight', 'model.layers.0.linear_attn.A_log'])
  expect(metadata.get('config')).toMatchObject({ architectures: ['Qwen3_5ForCausalLM'], hidden_size: 8 })
})

test.each(['gemma3n', 'gemma4'])('the language model of %s is separated from its towers', (kind) => {
  const names = [
    'model.language_model.embed_tokens_per_layer.weight',
    'model.language_model.layers.0.layer_scalar',
    'model.audio_tower.conformer.0.norm.weight',
    'model.embed_vision.embedding.weight',
    'model.embed_audio.embedding.weight',
  ]
  const config = { model_type: kind, text_config: { model_type: `${kind}_text` }, audio_config: {} }
  const parts = (count: number) =>
    partTower('folder', { config, tensors: tensorsOf(names.slice(0, count)) }, undefined)
  expect([...parts(5).tensors.keys()]).toEqual([
    'model.embed_tokens_per_layer.weight',
    'model.layers.0.layer_scalar',
  ])
  expect(parts(5).tower?.tensors.size).toBe(3)
  expect(parts(2).tower).toBeUndefined()
})

test('a language model keeps its tower', () => {
  expect(partsOf('gemma3').tower?.tensors.has('blocks.0.norm1.weight')).toBe(true)
})

test.each([
  ['ministral3', 'Ministral3ForCausalLM'],
  ['mistral', 'MistralForCausalLM'],
  ['cohere2', 'Cohere2ForCausalLM'],
  ['qwen3_vl_text', 'Qwen3ForCausalLM'],
  ['unheard_of', 'unheard_of'],
])('the language model %s has the class %s', (model_type, named) => {
  const config = { model_type: 'mistral3', vision_config: {}, text_config: { model_type, hidden_size: 64 } }
  const { metadata } = partTower('file', { config, tensors: new Map() }, undefined)
  expect(metadata.get('config')).toEqual({ model_type, hidden_size: 64, architectures: [named] })
})

test.each([
  ['the whole model ties it', true, false, [], true],
  ['only the language model ties it', false, true, [], true],
  ['the whole model ties it, but a matrix is stored', true, true, ['lm_head.weight'], false],
] as const)('the output matrix is tied as expected if %s', (_, tied, own, stored, expected) => {
  const text_config = { model_type: 'qwen2', tie_word_embeddings: own }
  const config = { model_type: 'internvl', vision_config: {}, text_config, tie_word_embeddings: tied }
  const { metadata } = partTower('file', { config, tensors: tensorsOf([...NAMES, ...stored]) }, undefined)
  expect(metadata.get('config')).toMatchObject({ tie_word_embeddings: expected })
})
