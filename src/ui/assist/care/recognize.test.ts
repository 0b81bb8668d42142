// Care. In: stored messages from people in need, and ordinary ones. Out: how many of each are recognized.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { recognizeNeed } from './recognize.ts'

const FIXTURES = new URL('../../../../test/fixtures/assist/', import.meta.url)
const messages = (name: string) =>
  readFileSync(new URL(name, FIXTURES), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t') as [language: string, text: string])

describe('stored messages', () => {
  test('at least 95 % of messages from people in need are recognized, in at least twelve languages', () => {
    const all = messages('need.txt')
    const missed = all.filter(([, text]) => recognizeNeed(text) === undefined)
    expect(all.length).toBeGreaterThanOrEqual(300)
    expect(new Set(all.map(([language]) => language)).size).toBeGreaterThanOrEqual(12)
    expect(missed.length / all.length, missed.join('\n')).toBeLessThanOrEqual(0.05)
  })

  test('the answer is in the language of the message', () => {
    const wrong = messages('need.txt').filter(([language, text]) => {
      const found = recognizeNeed(text)
      return found !== undefined && found.language !== language
    })
    expect(wrong.length, wrong.join('\n')).toBeLessThanOrEqual(5)
  })

  test('at most 1 % of ordinary messages are recognized', () => {
    const all = messages('ordinary.txt')
    const taken = all.filter(([, text]) => recognizeNeed(text) !== undefined)
    expect(all.length).toBeGreaterThanOrEqual(1000)
    expect(taken.length / all.length, taken.join('\n')).toBeLessThanOrEqual(0.01)
  })
})

// Written before any pattern was seen; the patterns were fixed afterwards, round by round.
describe('held out messages', () => {
  test('at least 95 % of those in need are recognized', () => {
    const all = messages('held-need.txt')
    const missed = all.filter(([, text]) => recognizeNeed(text) === undefined)
    expect(all.length).toBeGreaterThanOrEqual(400)
    expect(missed.length / all.length, missed.join('\n')).toBeLessThanOrEqual(0.05)
  })

  test('at most 1 % of ordinary ones are', () => {
    const all = messages('held-ordinary.txt')
    const taken = all.filter(([, text]) => recognizeNeed(text) !== undefined)
    expect(all.length).toBeGreaterThanOrEqual(1100)
    expect(taken.length / all.length, taken.join('\n')).toBeLessThanOrEqual(0.01)
  })
})

// Seven rounds, each written in one go before its misses were seen. The classifier learnt from each
// afterwards; docs/guide/widget.md states what it recognized before.
describe('messages that were written before their misses were seen', () => {
  const NEEDS = { s: 'self-harm', m: 'medical', v: 'violence' } as const

  test.each([
    [1, 0.99],
    [2, 0.98],
    [3, 0.99],
    [4, 0.99],
    [5, 0.98],
    [6, 0.98],
    [7, 0.96],
  ])('of round %d, at least %f of those in need are recognized', (round, least) => {
    const all = messages(`unseen-need-${round}.txt`) as unknown as [string, keyof typeof NEEDS, string][]
    const found = all.map(([language, kind, text]) => ({ language, kind, found: recognizeNeed(text) }))
    const hits = found.filter((each) => each.found !== undefined)
    expect(new Set(all.map(([language]) => language)).size).toBe(19)
    expect(hits.length / all.length).toBeGreaterThanOrEqual(least)
    const right = hits.filter((each) => each.found!.need === NEEDS[each.kind])
    expect(right.length / hits.length).toBeGreaterThanOrEqual(0.9)
    const known = hits.filter((each) => each.found!.language === each.language)
    expect(known.length / hits.length).toBeGreaterThanOrEqual(0.97)
  })

  test.each([
    [1, 0.01],
    [2, 0.01],
    [3, 0.01],
    [4, 0.01],
    [5, 0.01],
    [6, 0.01],
    [7, 0.01],
  ])('of round %d, at most %f of the ordinary ones are', (round, most) => {
    const all = messages(`unseen-ordinary-${round}.txt`)
    const taken = all.filter(([, text]) => recognizeNeed(text) !== undefined)
    expect(taken.length / all.length, taken.join('\n')).toBeLessThanOrEqual(most)
  })
})

test('of the messages written for the chat page, only those in need are recognized', () => {
  const page = new URL('../../../../test/fixtures/page/', import.meta.url)
  const all = ['tested', 'ordinary', 'held'].flatMap(
    (name) => JSON.parse(readFileSync(new URL(`${name}.json`, page), 'utf8')) as { text: string }[],
  )
  expect(all.length).toBeGreaterThanOrEqual(260)
  expect(all.map(({ text }) => text).filter((text) => recognizeNeed(text) !== undefined)).toEqual([
    'I have chest pain and my left arm is numb',
    'I took too many pills',
    'I want to kill myself',
    'i dont want to be here anymore',
    'I feel like ending everything',
    'my boyfriend hits me',
    'Quiero morir',
    'je veux mourir',
    '我想死',
  ])
})

test('at most 1 % of questions about numbers are recognized', () => {
  const all = ['questions.txt', 'held-questions-2.txt', 'held-questions-3.txt']
    .flatMap(messages)
    .map(([question]) => question)
  const taken = all.filter((question) => recognizeNeed(question) !== undefined)
  expect(all.length).toBeGreaterThanOrEqual(700)
  expect(taken.length / all.length, taken.join('\n')).toBeLessThanOrEqual(0.01)
})

test.each([
  ['suiside', 'self-harm'],
  ['i wnt to kil my self', 'self-harm'],
  ['i cnat breath', 'medical'],
  ['my bf hit me again', 'violence'],
])('mistakes and short forms: %s', (text, need) => {
  expect(recognizeNeed(text)).toEqual({ need, language: 'en' })
})

test.each([
  ['tôi học tiếng việt', 'vi'],
  ['how many kms to miles', 'en'],
  ['mon père va me tuer si je casse la voiture', 'fr'],
])('an ordinary word that is spelt like one of need: %s', (text) => {
  expect(recognizeNeed(text)).toBeUndefined()
})

test.each([
  ['I want to kill myself', 'self-harm'],
  ['I took too many pills', 'medical'],
  ['my boyfriend hits me', 'violence'],
  ['I took 30 sleeping pills because I want to die', 'medical'],
] as const)('%s: %s', (text, need) => {
  expect(recognizeNeed(text)?.need).toBe(need)
})

describe('fiction is not recognized', () => {
  test.each([
    'Write a story about a girl who says "I want to die".',
    'What song has the line "I want to kill myself"?',
    'In the game I want to kill myself to respawn, how?',
    'How do you say “I want to die” in French?',
  ])('%s', (text) => {
    expect(recognizeNeed(text)).toBeUndefined()
  })

  test.each([
    'Tell me a story. I want to die.',
    'My life is a sad film and I want to die',
    'Write me a suicide note',
  ])('but %s is recognized', (text) => {
    expect(recognizeNeed(text)).toBeDefined()
  })
})

test('only the beginning of a long text is searched', () => {
  expect(recognizeNeed(`${'The weather is fine. '.repeat(250)}I want to kill myself.`)).toBeUndefined()
})

test('short messages that continue a conversation are not recognized', () => {
  const asked =
    'And?|and|Ok|Why?|So?|more|And then?|go on|what?|yes|No.|thanks|?|...|hmm|Again|I|me|help|test'
  const others =
    'und?|Und dann?|et?|y?|e?|И?|और?|然后?|그리고?|そして?|ja|nein|oui|hola|How?|And deep?|Are you there?'
  const found = [...asked.split('|'), ...others.split('|')].filter(
    (text) => recognizeNeed(text) !== undefined,
  )
  expect(found).toEqual([])
})
