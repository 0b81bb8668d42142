// In: conversations, and files of other kinds. Out: whether exports, and only exports, can be imported.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../../src/index.ts'
import { newConversation, renamed, type StoredMessage, withMessages } from '../store/conversations.ts'
import { fileName, fromJson, MAX_BYTES, readFile, toJson, toMarkdown } from './exchange.ts'

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

test('an export can be imported with titles, versions and endings', async () => {
  expect(fromJson(await toJson([conversation]))).toEqual([conversation])
})

const file = new Blob([Uint8Array.of(0, 255, 7)], { type: 'image/png' })
const pictures = [{ name: 'fox.png', file }]
const sent: StoredMessage = { role: 'user', content: 'Hello', pictures }
const withPicture = withMessages(newConversation(), [{ ...sent, others: [[sent]] }])

test('images are exported, including those of versions', async () => {
  const [read] = fromJson(await toJson([withPicture]))
  const [message] = read?.messages ?? []
  for (const { pictures: back } of [message, message?.others?.[0]?.[0]].filter(
    (said) => said !== undefined,
  )) {
    expect(back).toMatchObject([{ name: 'fox.png', file: { type: 'image/png' } }])
    expect(await back?.[0]?.file.bytes()).toEqual(Uint8Array.of(0, 255, 7))
  }
  expect(message?.others).toHaveLength(1)
  expect(toMarkdown(withPicture)).toContain('(Picture: fox.png)\n\nHello')
})

test('a file with a damaged image is rejected as a whole', async () => {
  const json = await toJson([withPicture])
  for (const damaged of [json.replace('AP8H', 'A~8H'), json.replace('image/png', 'text/html')]) {
    expect(damaged).not.toBe(json)
    expect(failure(() => fromJson(damaged))).toMatch(/1 of the 1 conversations in this file are damaged/)
  }
})

test('Markdown names the speakers', () => {
  expect(toMarkdown(conversation)).toBe('# A title\n\n## You\n\nHello\n\n## Tiny\n\nGood *day*\n')
})

test('a file of a different kind is rejected, and the message says what to do', async () => {
  expect(failure(() => fromJson('# Title'))).toMatch(/^format: This file is not JSON/)
  expect(failure(() => fromJson('null'))).toMatch(/^format: This file contains no conversations/)
  const newer = (await toJson([conversation])).replace('"version": 1', '"version": 2')
  expect(failure(() => fromJson(newer))).toMatch(/version 2, and this page reads version 1/)
})

test('a file with a damaged part is rejected as a whole', async () => {
  const damaged = (await toJson([conversation, conversation])).replace('"assistant"', '"nobody"')
  expect(failure(() => fromJson(damaged))).toMatch(/1 of the 2 conversations in this file are damaged/)
})

test('a file that is too large is not read', async () => {
  const file = { size: MAX_BYTES + 1, text: () => Promise.reject(new Error('it was read')) }
  await expect(readFile(file as unknown as File)).rejects.toMatchObject({ code: 'format' })
})

test('file names contain no separators and are never empty', () => {
  expect(fileName('../a b/ç: "?"', 'md')).toBe('a-b-ç.md')
  expect(fileName('???', 'json')).toBe('chat.json')
})
