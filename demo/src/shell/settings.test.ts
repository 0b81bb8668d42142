// In: stored settings, some damaged. Out: whether every setting ends up valid for the engine.
import { describe, expect, test } from 'vitest'
import { SAMPLER_DEFAULTS } from '../../../src/index.ts'
import {
  checkNumber,
  DEFAULT_SETTINGS,
  ENGINE_FIELDS,
  LENGTH_FIELD,
  parseSettings,
  RECOMMENDED,
  replyOptions,
  SAMPLER_FIELDS,
  sameEngineSettings,
  usualValue,
} from './settings.ts'

const fields = [LENGTH_FIELD, ...SAMPLER_FIELDS, ...ENGINE_FIELDS]

describe('the options of a reply', () => {
  const settings = { ...DEFAULT_SETTINGS, temperature: 0.3 }

  test('are the page’s settings if the model recommends nothing', () => {
    expect(replyOptions(settings, {})).toEqual({
      temperature: 0.3,
      topK: 40,
      topP: 0.9,
      minP: 0.05,
      repeatPenalty: 1,
      maxTokens: 512,
    })
  })

  test('come from the model where the user has not changed them and the model recommends any', () => {
    expect(replyOptions({ ...settings, seed: 7 }, { topK: 64 })).toEqual({
      temperature: 0.3,
      maxTokens: 512,
      seed: 7,
    })
  })
})

test('the default is the model’s own value, or the engine’s or the page’s if the model has none', () => {
  expect(usualValue('temperature', { temperature: 0.7 })).toBe(0.7)
  for (const key of RECOMMENDED) expect(usualValue(key, { mirostat: 0 })).toBe(SAMPLER_DEFAULTS[key])
  expect(usualValue('topP', {})).toBe(0.9)
})

describe('stored settings', () => {
  test('are read back unchanged', () => {
    const settings = { ...DEFAULT_SETTINGS, system: 'Be brief.', temperature: 0.3, seed: 7, threads: 2 }
    expect(parseSettings(JSON.stringify({ ...settings, weights: 'w4', theme: 'dark' }))).toEqual({
      ...settings,
      weights: 'w4',
      theme: 'dark',
    })
  })

  test('from an earlier release use the model’s values where they had the page’s defaults', () => {
    const stored = { temperature: 0.5, topK: 40, topP: 0.8, minP: 0.05, repeatPenalty: 1 }
    expect(parseSettings(JSON.stringify(stored))).toEqual({ ...DEFAULT_SETTINGS, topP: 0.8 })
    expect(parseSettings(JSON.stringify({ version: 2, ...stored }))).toMatchObject(stored)
  })

  test.each(['', 'null', '[]', '7', '{', '{"temperature":"hot","system":7,"theme":"red","weights":["w4"]}'])(
    'that are invalid become the defaults: %s',
    (text) => {
      expect(parseSettings(text)).toEqual(DEFAULT_SETTINGS)
    },
  )

  test('that are out of bounds become the defaults individually', () => {
    const settings = parseSettings('{"temperature":-1,"topK":1e9,"maxTokens":0,"contextLength":128}')
    expect(settings).toEqual({ ...DEFAULT_SETTINGS, contextLength: 128 })
  })

  test('with the name of an inherited object property are invalid', () => {
    expect(parseSettings('{"theme":"toString"}').theme).toBe('auto')
  })
})

test('the defaults lie within the bounds of their fields', () => {
  for (const field of fields) {
    const value = DEFAULT_SETTINGS[field.key]
    if (value === undefined) expect(field.empty, field.key).toBeDefined()
    else expect(checkNumber(field, value), field.key).toBe(value)
  }
})

test('fields that hold counts take whole numbers', () => {
  const topK = fields.find(({ key }) => key === 'topK')
  expect(topK && checkNumber(topK, 39.6)).toBe(40)
})

test('only threads, context, weights and memory require reloading the model', () => {
  const other = { ...DEFAULT_SETTINGS, temperature: 0, theme: 'dark' as const }
  expect(sameEngineSettings(DEFAULT_SETTINGS, other)).toBe(true)
  expect(sameEngineSettings(DEFAULT_SETTINGS, { ...other, threads: 1 })).toBe(false)
  expect(sameEngineSettings(DEFAULT_SETTINGS, { ...other, contextLength: 64 })).toBe(false)
  expect(sameEngineSettings(DEFAULT_SETTINGS, { ...other, weights: 'w8' })).toBe(false)
  expect(sameEngineSettings(DEFAULT_SETTINGS, { ...other, memory: 'int8' })).toBe(false)
})
