import { expect, test } from 'vitest'
import { samplingDefaults } from './prepare.ts'

test('a model without settings recommends nothing', () => {
  expect(samplingDefaults(undefined)).toEqual({ sampling: {}, refused: [] })
  expect(samplingDefaults({ eos_token_id: [1, 2], transformers_version: '4.45.0' })).toEqual({
    sampling: {},
    refused: [],
  })
})

test('single values replace only their own defaults', () => {
  const { sampling } = samplingDefaults({ temperature: 0.6, top_k: 20, min_p: 0.1, penalty_last_n: -1 })
  expect(sampling).toEqual({ temperature: 0.6, topK: 20, minP: 0.1, repeatLastN: Number.POSITIVE_INFINITY })
})

test('if do_sample is true, absent values are transformers’ defaults', () => {
  const qwen = { do_sample: true, temperature: 0.7, top_p: 0.8, top_k: 20, repetition_penalty: 1.1 }
  expect(samplingDefaults(qwen).sampling).toEqual({
    temperature: 0.7,
    topK: 20,
    topP: 0.8,
    minP: 0,
    repeatPenalty: 1.1,
    repeatLastN: Number.POSITIVE_INFINITY,
  })
})

test('if do_sample is false, decoding is greedy, whatever the temperature', () => {
  expect(samplingDefaults({ do_sample: false, temperature: 0.7 }).sampling).toEqual({ temperature: 0 })
})

test.each([
  [{ temperature: -1 }, 'temperature -1'],
  [{ temperature: 'hot' }, 'temperature "hot"'],
  [{ top_k: 1.5 }, 'top_k 1.5'],
  [{ top_p: Number.NaN }, 'top_p NaN'],
  [{ mirostat: 3 }, 'mirostat 3'],
  [{ repetition_penalty: 0 }, 'repetition_penalty 0'],
])('%o is dropped and named', (generation, refused) => {
  expect(samplingDefaults(generation)).toEqual({ sampling: {}, refused: [refused] })
})

test('names of inherited properties are not settings', () => {
  expect(samplingDefaults(Object.create({ temperature: 0 }))).toEqual({ sampling: {}, refused: [] })
})
