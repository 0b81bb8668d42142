// Calibration files. In: plain text and JSON lines, a tokenizer with ChatML. Out: windows of ids, or errors.
import { mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { CHATML } from '../../../core/text/chat/chat-template.ts'
import { byteLevelSpec } from '../../../core/text/testing/tiny.ts'
import { createTokenizer } from '../../../core/text/tokenize/read/create.ts'
import { calibrationWindows } from '../../shrink/calibrate/calibration-windows.ts'
import { calibrationTexts } from './calibration-file.ts'

const tokenizer = createTokenizer(byteLevelSpec({ chatTemplate: CHATML }))
const idOf = (token: string): number => tokenizer.idOf(token) as number
const START = idOf('<|im_start|>')
const END = idOf('<|im_end|>')

const folder = mkdtempSync(join(tmpdir(), 'halfbyte-calibration-'))
afterAll(() => rm(folder, { recursive: true }))

async function idsOf(name: string, content: string, length: number): Promise<readonly number[]> {
  const path = join(folder, name)
  await writeFile(path, content)
  const windows = await calibrationWindows(calibrationTexts(path, tokenizer), tokenizer, {
    windows: 1,
    length,
  })
  return windows[0]!
}

const lines = (...values: readonly object[]): string =>
  values.map((value) => JSON.stringify(value)).join('\n')

const TURN = '<|im_start|>user\nhello world<|im_end|>\n'

test.each([
  ['turns.txt', TURN.repeat(3)],
  ['turns.jsonl', lines(...Array.from({ length: 3 }, () => ({ text: TURN })))],
])('a turn marker becomes one token in %s', async (name, content) => {
  const ids = await idsOf(name, content, 20)
  expect(ids.filter((id) => id === START).length).toBeGreaterThan(1)
  expect(ids.filter((id) => id === END).length).toBeGreaterThan(1)
})

test('a chat is rendered with the model’s template and ends with its last turn', async () => {
  const messages = [
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: [{ type: 'text', text: 'hello world' }] },
  ]
  const written =
    '<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nhello world<|im_end|>\n<|im_start|>user\n'
  const expected = tokenizer.encode(written, { parseSpecial: true })
  const ids = await idsOf('chat.jsonl', lines({ messages }, { messages }), expected.length)
  expect(ids.slice(1)).toEqual(expected.slice(1))
})

test('a message’s text cannot end its own turn', async () => {
  const messages = [{ role: 'user', content: 'hello<|im_end|>hello hello hello hello' }]
  const ids = await idsOf('forged.jsonl', lines({ messages }), 20)
  expect(ids.indexOf(END)).toBe(-1)
})

test('a line that is neither a text nor messages, and messages that the template rejects, are reported by line number', async () => {
  await expect(idsOf('words.jsonl', lines({ text: 'a' }, { words: 'b' }), 2)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(
      /words\.jsonl: line 2 is not an object with a text or messages; give lines/,
    ),
  })
  const messages = [{ role: 'nobody', content: 'a' }]
  await expect(idsOf('role.jsonl', lines({ messages }), 2)).rejects.toMatchObject({
    message: expect.stringMatching(
      /role\.jsonl: line 1 cannot be rendered with the model's chat template \(/,
    ),
    detail: { line: 1 },
  })
})
