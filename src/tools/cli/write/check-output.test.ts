// Outputs of reports. In: paths. Out: an error before any work if the name or the place is wrong.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newProgram } from '../program.ts'
import { checkName, checkReport } from './check-output.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-output-'))
})
afterAll(() => rm(folder, { recursive: true }))

test.each([
  ['plot', 'a.png', 'a.png would be an SVG plot with the extension of another format; end it with .svg'],
  [
    'markdown',
    'a.csv',
    'a.csv would be a Markdown table with the extension of another format; end it with .md',
  ],
  [
    'numbers',
    'a.npy',
    'a.npy would be raw f32 numbers with the extension of another format; end it with .bin',
  ],
  ['json', 'a.md', 'a.md would be JSON with the extension of another format; end it with .json'],
  ['gptq', 'a.json', 'a.json would be a folder with the extension of another format; omit .json'],
  ['hbm', 'a.GGUF', /^a\.GGUF would be a \.hbm pack .*; end it with \.hbm \(halfbyte convert/],
] as const)('%s is not called %s', (kind, name, message) => {
  expect(() => checkName(name, kind)).toThrow(expect.objectContaining({ code: 'unsupported' }))
  expect(() => checkName(name, kind)).toThrow(message)
})

test('a name of the format, or of none, is accepted', async () => {
  for (const [kind, name] of [
    ['samples', 'a.json'],
    ['samples', 'a.JSONL'],
    ['plot', 'a.svg'],
    ['numbers', 'logits'],
    ['hbm', 'a.v2'],
  ] as const)
    checkName(name, kind)
  await checkReport(undefined, 'plot')
  await checkReport('/dev/null', 'plot')
  await writeFile(join(folder, 'old.svg'), '')
  await checkReport(join(folder, 'old.svg'), 'plot')
})

test('a place that cannot be written is named', async () => {
  await expect(checkReport(folder, 'json')).rejects.toThrow(`${folder} is a folder; give the name of a file`)
  const nowhere = join(folder, 'none/a.json')
  await expect(checkReport(nowhere, 'json')).rejects.toThrow(/none is not a folder; choose another place/)
})

test.each([
  ['eval', ['none.gguf', 'windows=none.txt', '--plot', 'a.png'], 'a.png'],
  ['eval', ['none.gguf', 'windows=none.txt', '--samples', 'a.md'], 'a.md'],
  ['compare', ['none.gguf', '--text', 'none.txt', '--output', 'a.json'], 'a.json'],
  ['calibrate', ['none.gguf', 'none.txt', '--output', 'a.npz'], 'a.npz'],
  ['logits', ['none.gguf', '--tokens', '1', '--output', 'a.npy'], 'a.npy'],
] as const)('%s %j is rejected before the model is looked for', async (name, typed, output) => {
  const run = newProgram().parseAsync([name, ...typed], { from: 'user' })
  await expect(run).rejects.toThrow(`${output} would be `)
})
