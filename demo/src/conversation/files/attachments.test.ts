// In: text files and messages. Out: whether message and quoted files can be separated again.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { areAttached, areTexts, splitQuotes, withQuotes } from './attachments.ts'

const file = (name: string, content: BlobPart, type = '') => new File([content], name, { type })

test('a message with quoted files can be split again', () => {
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

test('a message that only looks as if it quoted files is not split', () => {
  const content = 'Look:\n\n```\nlet a\n```\n\nWhat is it?'
  expect(splitQuotes(content)).toEqual({ text: content, files: [] })
})

test('model files are distinguished from texts', () => {
  expect(areTexts([file('a.md', ''), file('b', '', 'text/plain')])).toBe(true)
  expect(areTexts([file('config.json', '')])).toBe(true)
  expect(areTexts([file('config.json', ''), file('model.safetensors', '')])).toBe(false)
  expect(areTexts([file('model.gguf', '')])).toBe(false)
  expect(areTexts([file('photo.png', '', 'image/png')])).toBe(false)
  expect(areAttached([file('photo.png', '', 'image/png')])).toBe(true)
  expect(areAttached([file('photo.png', '', 'image/png'), file('model.gguf', '')])).toBe(false)
})
