// In: text files and messages. Out: whether messages quote files so that both can be told apart again.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { areTexts, MOST_BYTES, MOST_FILES, readTexts, splitQuotes, withQuotes } from './attachments.ts'

const file = (name: string, content: BlobPart, type = '') => new File([content], name, { type })

test('a message with quoted files can be taken apart again', () => {
  const text = fc.stringMatching(/^[a-z`: ]{0,12}(\n[a-z`: ]{0,12}){0,4}$/)
  const files = fc.array(fc.record({ name: fc.stringMatching(/^[a-z .:]{1,9}$/), text }), { maxLength: 3 })
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z .]{1,20}$/), files, (said, attached) => {
      expect(splitQuotes(withQuotes(said, attached))).toEqual({ text: said, files: attached })
    }),
  )
  const alone = [{ name: 'a.txt', text: '```\nx\n```' }]
  expect(splitQuotes(withQuotes('', alone))).toEqual({ text: '', files: alone })
})

test('a message that only looks like one stays whole', () => {
  const content = 'Look:\n\n```\nlet a\n```\n\nWhat is it?'
  expect(splitQuotes(content)).toEqual({ text: content, files: [] })
})

test('large files, many files and files that are no text are refused with their numbers', async () => {
  const large = file('long.txt', 'x'.repeat(MOST_BYTES + 1))
  await expect(readTexts([large])).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('long.txt has 0.2 MB'),
    detail: { size: MOST_BYTES + 1, most: MOST_BYTES },
  })
  const many = Array.from({ length: MOST_FILES }, () => file('a.txt', 'a'))
  await expect(readTexts(many, 1)).rejects.toMatchObject({ code: 'unsupported', detail: { count: 9 } })
  for (const content of [Uint8Array.of(0xff, 0xfe, 0xfd), 'a\0b'])
    await expect(readTexts([file('a.txt', content)])).rejects.toMatchObject({ code: 'format' })
  expect(await readTexts([file('a b.txt', 'one\r\ntwo\n')])).toEqual([{ name: 'a b.txt', text: 'one\ntwo' }])
})

test('files of models are told from texts', () => {
  expect(areTexts([file('a.md', ''), file('b', '', 'text/plain')])).toBe(true)
  expect(areTexts([file('config.json', '')])).toBe(true)
  expect(areTexts([file('config.json', ''), file('model.safetensors', '')])).toBe(false)
  expect(areTexts([file('model.gguf', '')])).toBe(false)
  expect(areTexts([file('photo.png', '', 'image/png')])).toBe(false)
})
