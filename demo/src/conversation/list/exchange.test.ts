// In: conversations, and files of other kinds. Out: whether what was exported can be imported, and nothing
// else.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../../src/index.ts'
import { newConversation, renamed, withMessages } from '../store/conversations.ts'
import { fileName, fromJson, MOST_BYTES, readFile, toJson, toMarkdown } from './exchange.ts'

const conversation = renamed(
  withMessages(newConversation(), [
    { role: 'user', content: 'Hello', others: [[{ role: 'user', content: 'Hi' }]] },
    { role: 'assistant', content: 'Good *day*', model: 'Tiny', ending: 'length' },
  ]),
  'A title',
)

const failure = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (isHalfbyteError(error)) return `${error.code}: ${error.message}`
    throw error
  }
  return undefined
}

test('an export can be imported with titles, versions and endings', () => {
  expect(fromJson(toJson([conversation]))).toEqual([conversation])
})

test('Markdown names the speakers', () => {
  expect(toMarkdown(conversation)).toBe('# A title\n\n## You\n\nHello\n\n## Tiny\n\nGood *day*\n')
})

test('a file of another kind is refused with what to do', () => {
  expect(failure(() => fromJson('# Title'))).toMatch(/^format: This file is not JSON/)
  expect(failure(() => fromJson('null'))).toMatch(/^format: This file holds no conversations/)
  const newer = toJson([conversation]).replace('"version": 1', '"version": 2')
  expect(failure(() => fromJson(newer))).toMatch(/version 2 and this page reads version 1/)
})

test('a file of which a part is damaged is refused as a whole', () => {
  const damaged = toJson([conversation, conversation]).replace('"assistant"', '"nobody"')
  expect(failure(() => fromJson(damaged))).toMatch(/1 of the 2 conversations in this file are damaged/)
})

test('a file that is too large is not read', async () => {
  const file = { size: MOST_BYTES + 1, text: () => Promise.reject(new Error('it was read')) }
  await expect(readFile(file as unknown as File)).rejects.toMatchObject({ code: 'format' })
})

test('file names hold no separators and are never empty', () => {
  expect(fileName('../a b/ç: "?"', 'md')).toBe('a-b-ç.md')
  expect(fileName('???', 'json')).toBe('chat.json')
})
