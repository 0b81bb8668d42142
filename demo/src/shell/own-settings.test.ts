// In: changes to settings, and stored records, some damaged. Out: the layer of each change, and the resulting
// settings.
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { type Change, keepForModel, modelSettings, ownPart, parseOwn, sorted } from './own-settings.ts'
import { DEFAULT_SETTINGS } from './settings.ts'

const NONE: Change = { page: DEFAULT_SETTINGS, model: {}, own: undefined }
const next = { ...DEFAULT_SETTINGS, system: 'Be brief.', temperature: 0.3, maxTokens: 64 }

describe('a change', () => {
  test('before the first message becomes the default for new conversations, for sampling with this model', () => {
    expect(sorted(NONE, DEFAULT_SETTINGS, next, false)).toEqual({
      page: { ...DEFAULT_SETTINGS, system: 'Be brief.', maxTokens: 64 },
      model: { temperature: 0.3 },
      own: undefined,
    })
  })

  test('in a conversation that has begun is its own, unless it is about the page', () => {
    expect(sorted(NONE, DEFAULT_SETTINGS, { ...next, threads: 3 }, true)).toEqual({
      page: { ...DEFAULT_SETTINGS, threads: 3 },
      model: {},
      own: { system: 'Be brief.', temperature: 0.3, maxTokens: 64 },
    })
  })

  test('resetting to the model’s own value is also a choice of the conversation', () => {
    const before: Change = { ...NONE, model: { temperature: 0.9 }, own: { topK: 5 } }
    const hold = { ...DEFAULT_SETTINGS, temperature: 0.9, topK: 5 }
    const { model, own } = sorted(before, hold, { ...hold, temperature: undefined }, true)
    expect(model).toEqual({ temperature: 0.9 })
    expect(own).toEqual({ topK: 5, temperature: undefined })
    expect(
      Object.hasOwn(own ?? {}, 'temperature'),
      'a conversation’s own setting overrides the model’s stored one',
    ).toBe(true)
  })

  test('back to the defaults empties every layer', () => {
    const before: Change = { page: next, model: { topK: 5 }, own: { topP: 0.1 } }
    const { page, model, own } = sorted(before, next, DEFAULT_SETTINGS, true)
    expect({ ...page, ...model, ...own }).toEqual(DEFAULT_SETTINGS)
  })
})

describe('stored records', () => {
  test('are read back unchanged, including what is left to the model', () => {
    const own = ownPart({ ...next, topK: undefined })
    const read = parseOwn(structuredClone(own))
    expect(read).toEqual(own)
    expect(Object.keys(read ?? {})).toHaveLength(9)
  })

  test.each([
    undefined,
    null,
    7,
    [],
    {},
    { system: 7, tools: 'toString', temperature: 9, topK: 'all', maxTokens: undefined },
  ])('that are invalid are ignored: %o', (record) => expect(parseOwn(record)).toBeUndefined())
})

describe('the settings stored for a model', () => {
  const items = new Map<string, string>()
  beforeEach(() => {
    items.clear()
    vi.stubGlobal('localStorage', {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => items.set(key, value),
      removeItem: (key: string) => items.delete(key),
    })
    return () => vi.unstubAllGlobals()
  })

  test('applies to no other model, and is removed once it is empty', () => {
    keepForModel('one', { temperature: 0.3 })
    keepForModel('other', { topK: 5 })
    expect(modelSettings('one')).toEqual({ temperature: 0.3 })
    expect(modelSettings('third')).toEqual({})
    keepForModel('one', { temperature: undefined })
    keepForModel('other', {})
    expect(items.size).toBe(0)
  })

  test('is limited to the 32 models set last', () => {
    for (let index = 0; index < 40; index++) keepForModel(`model ${index}`, { topK: index })
    expect(modelSettings('model 7')).toEqual({})
    expect(modelSettings('model 8')).toEqual({ topK: 8 })
  })
})
