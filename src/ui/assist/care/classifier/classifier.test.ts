// The classifier of need. In: weights, texts. Out: its stored form, and the language and passages of texts.
import { expect, test } from 'vitest'
import { CONCEPTS, languageOf, MEANINGS, passages, SURFACES, stemKey } from './features.ts'
import { pack, unpack } from './packed.ts'
import { TRAINED } from './trained.ts'

const { lexicon } = unpack(TRAINED)

test('weights and a lexicon are the same after they were stored, in steps of 0.1 and 0.5', () => {
  const weights = {
    biases: [-2, 0.1, 2.4],
    meanings: Array.from({ length: 3 * MEANINGS }, (_, index) => ((index % 9) - 4) / 10),
    surfaces: Array.from({ length: SURFACES }, (_, index) => [99, -99, 1.1][index % 3]!),
    surfaceUnit: 1,
  }
  const keys = Array.from({ length: CONCEPTS }, (_, concept) =>
    concept === 3 ? new Set<number>() : new Set([stemKey('en', `stem${concept}`), 7 * concept]),
  )
  const stored = unpack(pack(keys, weights))
  expect([...stored.lexicon].length).toBe(keys.reduce((sum, set) => sum + set.size, 0))
  keys.forEach((set, concept) => {
    for (const key of set) expect(stored.lexicon.get(key)).toBe(concept)
  })
  expect(stored.weights.biases[2]).toBeCloseTo(2.4, 6)
  expect(stored.weights.meanings[3 * MEANINGS - 1]).toBeCloseTo(weights.meanings.at(-1)!, 6)
  const { surfaces, surfaceUnit } = stored.weights
  expect(surfaces.length).toBe(SURFACES)
  expect([0, 1, 2].map((index) => surfaces[index]! * surfaceUnit)).toEqual([2, -2, 1])
})

test.each([
  ['my brother is on the roof', 'en'],
  ['mi hermano no quiere comer', 'es'],
  ['mein bruder kommt heute nicht', 'de'],
  ['брат сегодня не придёт', 'ru'],
  ['брат сьогодні не прийде, бо хворіє', 'uk'],
  ['弟弟今天不来了', 'zh'],
  ['弟は今日来ません', 'ja'],
])('%s: %s', (text, language) => {
  expect(languageOf(text, lexicon)?.code).toBe(language)
})

test('a long run of words is split into a bounded number of passages', () => {
  const english = languageOf('the cat and the dog', lexicon)!
  const words = 800
  expect(passages('word '.repeat(words), english, lexicon).length).toBeLessThanOrEqual(words / 14 + 1)
  expect(passages('... !!! ???', english, lexicon)).toEqual([])
})
