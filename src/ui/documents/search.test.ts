// In: questions, passages, an encoder. Out: which passages are nearest, and how many of them a model reads.
import { expect, test } from 'vitest'
import { QUESTIONS, ranksOf, recallAt } from '../../../test/conformance/testing/documents/questions.ts'
import type { Encoder } from '../chat/encoder-slot.ts'
import { chosenPassages, readsDocuments } from './choose.ts'
import { DocumentSearch, searchIn } from './search.ts'
import { termsOf } from './terms.ts'
import { WordIndex } from './word-index.ts'

const file = (text: string, name = 'a.md') => ({ name, text })
const SECTIONS = file(
  ['# Tea\n\nThe kettle sings.', '# Light\n\nLanterns glow at night.', '# Post\n\nParcels take days.'].join(
    '\n\n',
  ),
)

test('for 40 questions on four documents, words find 80 % of the answers first and 92 % in three passages', async () => {
  expect(QUESTIONS).toHaveLength(40)
  const ranks = await ranksOf((search, text) => search.nearest({ text }))
  expect(recallAt(ranks, 1)).toBeGreaterThanOrEqual(0.8)
  expect(recallAt(ranks, 3)).toBeGreaterThanOrEqual(0.92)
})

test.each([
  ['The CAFÉ', 'cafe'],
  ['12,500 people', '12500'],
  ['Größe', 'grosse'],
  ['İstanbul ılık', 'ilik'],
  ['Łódź', 'lodz'],
  ['शब्द हिन्दी', 'हिन्दी'],
  ['מִלָּה', 'מלה'],
  ['杜甫是诗人', '诗人'],
  ['ภาษาไทย', 'ไท'],
  ['카페에서', '카페'],
])('the terms of %j contain %j', (text, term) => {
  expect(termsOf(text)).toContain(term)
})

test('inflected words, ideographs and rare words are found', () => {
  const index = new WordIndex([
    'the house is old',
    'two lanterns in the house',
    '东京是日本的首都',
    '北京是中国的首都',
  ])
  const first = (question: string, earlier?: string) => {
    const scores = index.scores(question, earlier)
    return scores.indexOf(Math.max(...scores))
  }
  expect([first('the lantern'), first('日本的首都'), first('is it old?')]).toEqual([1, 2, 0])
  expect(first('And in the house?', 'How many lanterns are there?')).toBe(1)
})

test('a heading counts as a part of its passage', async () => {
  const search = new DocumentSearch([SECTIONS])
  expect((await search.nearest({ text: 'What about the post?' }))[0]).toBe(2)
})

test('without a common word, texts are read from their beginning', async () => {
  expect(await new DocumentSearch([SECTIONS]).nearest({ text: 'Summarize!' })).toEqual([0, 1, 2])
})

/** An encoder for which "illumination" means light. */
function encoderOf(embedded: string[]): Encoder {
  return {
    embed: async (texts) => {
      embedded.push(...texts)
      const vectors = texts.map((text) => Float32Array.of(/illumination|Lanterns/.test(text) ? 1 : 0, 0.1))
      return { vectors, tokens: texts.map(() => 1), truncated: [] }
    },
  }
}

test('an encoder finds paraphrases, words still count, and passages are read once', async () => {
  const embedded: string[] = []
  const encoder = encoderOf(embedded)
  const search = new DocumentSearch([SECTIONS])
  const progress: number[] = []
  const options = { encoder, onProgress: (done: number) => progress.push(done) }
  expect((await search.nearest({ text: 'Any illumination?' }, options))[0]).toBe(1)
  expect((await search.nearest({ text: 'When do parcels come?' }, options))[0]).toBe(2)
  expect(embedded).toHaveLength(3 + 2)
  expect(progress).toEqual([0])
})

test('a stop ends the reading, and what was read stays', async () => {
  const long = file(Array.from({ length: 40 }, (_, index) => `# ${index}\n\nLine ${index}.`).join('\n\n'))
  const search = new DocumentSearch([long])
  const embedded: string[] = []
  const encoder = encoderOf(embedded)
  const stop = new AbortController()
  const onProgress = (done: number) => {
    if (done > 0) stop.abort(new Error('stopped'))
  }
  await expect(search.nearest({ text: 'x' }, { encoder, signal: stop.signal, onProgress })).rejects.toThrow(
    'stopped',
  )
  await search.nearest({ text: 'x' }, { encoder })
  expect(embedded.filter((text) => text === 'a.md\n0\nLine 0.')).toHaveLength(1)
})

test('the same documents are indexed once', () => {
  const search = searchIn([SECTIONS])
  expect(searchIn([{ ...SECTIONS }])).toBe(search)
  expect(searchIn([{ ...SECTIONS, name: 'b.md' }])).not.toBe(search)
})

test('as many passages as fit are read, in text order, and at least one', async () => {
  const search = new DocumentSearch([SECTIONS])
  const within = (most: number) =>
    chosenPassages(search, { text: 'Summarize!' }, async (passages) => passages.length <= most)
  expect((await within(2)).map(({ text }) => text)).toEqual(['The kettle sings.', 'Lanterns glow at night.'])
  expect(await within(9)).toHaveLength(3)
  expect(await within(0)).toHaveLength(1)
  expect(await chosenPassages(new DocumentSearch([]), { text: 'x' }, async () => true)).toEqual([])
})

test('a model reads documents if its context is long enough and it was trained to', () => {
  expect([readsDocuments(512), readsDocuments(4096), readsDocuments(4096, false)]).toEqual([
    false,
    true,
    false,
  ])
})
