// Parting a model that sees. In: a configuration of both models. Out: the language model's own.
import { expect, test } from 'vitest'
import { partTower } from './part-tower.ts'

test.each([
  ['ministral3', 'Ministral3ForCausalLM'],
  ['mistral', 'MistralForCausalLM'],
  ['cohere2', 'Cohere2ForCausalLM'],
  ['unheard_of', 'unheard_of'],
])('the language model %s is of the class %s', (model_type, named) => {
  const config = { model_type: 'mistral3', vision_config: {}, text_config: { model_type, hidden_size: 64 } }
  const { metadata } = partTower('file', { config, tensors: new Map() }, undefined)
  expect(metadata.get('config')).toEqual({ model_type, hidden_size: 64, architectures: [named] })
})
