// Completion in the chat. In: lines and a folder. Out: what Tab offers.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { completeLine } from './complete-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'halfbyte-complete-'))
mkdirSync(join(folder, 'models'))
for (const name of ['a b.txt', 'a.png', 'chat.json', 'm.gguf', '.hidden'])
  writeFileSync(join(folder, name), '')
afterAll(() => rmSync(folder, { recursive: true }))

const names = (line: string): readonly string[] =>
  completeLine(line)[0].map((each) => each.replace(`${folder}/`, ''))

test('commands are completed, with a space if they need an argument', () => {
  expect(completeLine('/re')).toEqual([['/reset', '/retry'], '/re'])
  expect(completeLine('/im')).toEqual([['/image '], '/im'])
  expect(completeLine('/x')).toEqual([[], '/x'])
})

test.each([
  ['/file', ['a b.txt', 'a.png', 'chat.json', 'm.gguf', 'models/']],
  ['/image', ['a.png', 'models/']],
  ['/load', ['chat.json', 'models/']],
  ['/model', ['m.gguf', 'models/']],
])('%s offers files of its kind, and folders', (command, found) => {
  expect(names(`${command} ${folder}/`)).toEqual(found)
  expect(completeLine(`${command} ${folder}/`)[1]).toBe(`${folder}/`)
})

test('names with spaces, hidden files and missing folders', () => {
  expect(names(`/file ${folder}/a b`)).toEqual(['a b.txt'])
  expect(names(`/file ${folder}/.h`)).toEqual(['.hidden'])
  expect(names(`/file ${folder}/none/`)).toEqual([])
})

test('/model offers the names of models', () => {
  expect(names('/model smollm2-3')).toEqual(['smollm2-360m'])
  expect(names('/model embed')).toContain('embedded')
})

test.each(['hello', '/system be', '/stats x', '/file a\nb', ' /re'])('%j has no completions', (line) => {
  expect(completeLine(line)[0]).toEqual([])
})
