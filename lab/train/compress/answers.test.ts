// Tests the script that generates training answers, on small data sets: lines end with the right choice, and
// errors name the item.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('answers.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'halfbyte-answers-'))
afterAll(() => rmSync(folder, { recursive: true }))

const PIQA = [
  { goal: 'Open a jar', sol1: 'Turn the lid.', sol2: 'Sing to it.', label: 0 },
  { goal: 'Dry a cup', sol1: 'Fill it', sol2: 'Wipe it', label: 1 },
]
const STEM = { stem: 'What is hot?', choices: ['ice', 'fire'].map((text, at) => ({ text, label: 'AB'[at] })) }
const PAGE = {
  activity_label: 'Roof  work',
  ctx_a: 'A man sits. [header] There',
  ctx_b: 'HE then',
  endings: ['sings', 'falls', 'is [step] pulling up  tiles. [title] Then he rests.', 'eats'],
  label: '2',
}
const FLAT = { text: ['a bird', 'a stone', 'mud'], label: ['1', '2', '3'] }

function file(name: string, values: readonly (object | string)[]): string {
  const path = join(folder, name)
  const lines = values.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

function run(...sets: readonly string[]) {
  const to = join(folder, 'made', 'answers.jsonl')
  const { status, stderr } = spawnSync(process.execPath, [SCRIPT, ...sets, '--to', to], { encoding: 'utf8' })
  if (status !== 0) return { stderr }
  return readFileSync(to, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .sort((left, right) => left.text.localeCompare(right.text))
}

test('each line is a question with its right choice', () => {
  const sets = [
    `piqa=${file('piqa.jsonl', PIQA)}`,
    `arc=${file('arc.jsonl', [
      { question: STEM, answerKey: 'B' },
      { question: 'What flies?', choices: FLAT, answerKey: '1' },
    ])}`,
    `winogrande=${file('w.jsonl', [{ sentence: 'Ann told Eve that _ was late.', option1: 'Ann', option2: 'Eve', answer: '2' }])}`,
    `hellaswag=${file('hellaswag.jsonl', [PAGE])}`,
    `boolq=${file('boolq.jsonl', [{ question: 'is it wet', passage: 'It rains.', answer: true }])}`,
  ]
  expect(run(...sets)).toEqual([
    { text: 'Ann told Eve that Eve was late.', answer: ' was late.' },
    { text: 'It rains.\nQuestion: is it wet?\nAnswer: yes', answer: ' yes' },
    { text: 'Question: Dry a cup\nAnswer: Wipe it', answer: ' Wipe it' },
    { text: 'Question: Open a jar\nAnswer: Turn the lid.', answer: ' Turn the lid.' },
    { text: 'Question: What flies?\nAnswer: a bird', answer: ' a bird' },
    { text: 'Question: What is hot?\nAnswer: fire', answer: ' fire' },
    {
      text: 'Roof work: A man sits. There He then is pulling up tiles.. Then he rests.',
      answer: ' is pulling up tiles.. Then he rests.',
    },
  ])
})

test('labels come from a separate file, and the first items are omitted', () => {
  const set = `piqa=${file('p.jsonl', PIQA)},${file('l.lst', ['1', '0'])}@1`
  expect(run(set)).toEqual([{ text: 'Question: Dry a cup\nAnswer: Fill it', answer: ' Fill it' }])
})

test.each([
  ['an item without its label', () => `piqa=${file('b.jsonl', [...PIQA, { goal: 'g', sol1: 'a', sol2: 'b' }])}`, /line 3 gives the right one/],
  ['an item whose label is none of its choices', () => `piqa=${file('e.jsonl', [{ ...PIQA[0], label: -1 }])}`, /line 1 gives the right one/],
  ['an item in another format', () => `arc=${file('f.jsonl', PIQA)}`, /line 1 has no question with choices/],
  ['labels from another file', () => `piqa=${file('c.jsonl', PIQA)},${file('c.lst', ['0'])}`, /has 1 labels, and .* 2 items/],
  ['too large a number', () => `piqa=${file('d.jsonl', PIQA)}@2`, /has 2 items, so none is left after 2/],
  ['another form', () => 'lambada=x', /forms arc, boolq, choices, hellaswag, piqa, winogrande/],
  ['a missing file', () => 'piqa=none.jsonl', /none\.jsonl/],
])('%s is named', (_, set, message) => {
  expect(run(set())).toEqual({ stderr: expect.stringMatching(message) })
})
