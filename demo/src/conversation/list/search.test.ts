// In: conversations and search queries. Out: whether they are found, and the displayed passage.
import { expect, test } from 'vitest'
import { newConversation, withMessages } from '../store/conversations.ts'
import { excerptOf, matching } from './search.ts'

const chat = (title: string, ...contents: string[]) => ({
  ...withMessages(
    newConversation(),
    contents.map((content) => ({ role: 'user' as const, content })),
  ),
  title,
})

test('all words must occur, in the title or in any message, ignoring case and accents', () => {
  const cafe = chat('Café', 'Where IS it?')
  const other = chat('Other')
  expect(matching([cafe, other], ' cafe  where ')).toEqual([cafe])
  expect(matching([cafe, other], 'cafe other')).toEqual([])
  expect(matching([cafe, other], ' ')).toEqual([cafe, other])
})

test('all versions of a message are searched, the shown ones first', () => {
  const shown = chat('Story', 'Tell me of a fox', 'The fox ran.')
  const [question, answer] = shown.messages
  const other = [{ role: 'assistant' as const, content: 'The badger slept by the fox.' }]
  const versions = { ...shown, messages: [question!, { ...answer!, others: [other] }] }
  expect(matching([versions], 'badger')).toEqual([versions])
  expect(excerptOf(versions, 'badger')?.match).toBe('badger')
  expect(excerptOf(versions, 'fox')?.before).toBe('Tell me of a ')
})

test('the passage is the first with a word, split at the match', () => {
  const found = chat('Trips', 'Hello', 'By train\nto the sea,  and back', 'The train is late')
  expect(excerptOf(found, 'TRAIN late')).toEqual({
    before: 'By ',
    match: 'train',
    after: ' to the sea, and back',
  })
  expect(excerptOf(found, '')).toBeUndefined()
  expect(excerptOf(found, 'trip')).toBeUndefined()
  expect(excerptOf(found, 'trips sea')?.match).toBe('sea')
})

test('a passage far inside a long message is shortened on both sides', () => {
  const excerpt = excerptOf(chat('Long', `${'a '.repeat(500)}needle ${'b '.repeat(500)}`), 'needle')
  expect(excerpt).toEqual({ before: `…${'a '.repeat(12)}`, match: 'needle', after: ` ${'b '.repeat(39)}b` })
})

test.each([
  ['un café noir', 'cafe', 'café'],
  ['decomposed cafe\u0301 here', 'café', 'cafe\u0301'],
  ['die Straße hier', 'STRA', 'Stra'],
  ['half \ufb01sh', 'fish', '\ufb01sh'],
  ['😀😀 moon', 'moon', 'moon'],
])('in %j, %j is marked as %j', (content, query, match) => {
  expect(excerptOf(chat('x', content), query)?.match).toBe(match)
})
