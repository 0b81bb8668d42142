// halfbyte eval. In: the real program on a tiny model and small data sets. Out: JSON, table and plot, also
// after a stop, and the messages for mistakes.
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { ended, halfbyte, model, path, start, testModels } from '../testing/program.ts'

testModels()

const data = path('choices.jsonl')
const text = path('eval.txt')
const few = [`second_halves=${text}`, `choices=${data}`, '--threads', '1', '--context', '32'] as const

beforeAll(async () => {
  const lines = Array.from({ length: 150 }, (_, i) => ({
    query: `q ${i}`,
    choices: ['yes', 'no, never'],
    gold: i % 2,
  }))
  await writeFile(data, lines.map((line) => JSON.stringify(line)).join('\n'))
  await writeFile(text, 'the cat and the hat. '.repeat(60))
})

test('writes JSON, a table and a plot, and shows an earlier model alongside', async () => {
  const json = path('a.json')
  const plot = path('a.svg')
  const samples = path('a.jsonl')
  const asked = ['eval', model, ...few, '--limit', '5'] as const
  const first = await halfbyte(
    ...asked,
    '--output',
    json,
    '--plot',
    plot,
    '--samples',
    samples,
    '--name',
    'one',
  )
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toMatch(/^\| task \| scored \| metric \| one \| chance \|$/m)
  expect(first.out).toMatch(/^\| choices \| 5 questions \| acc_norm, % \| [\d.]+ ± [\d.]+ \| 50\.0 \|$/m)
  expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({
    model: 'one',
    settings: { maxTokens: 32, bos: false },
    tasks: [
      { task: 'second_halves', items: 5, metrics: { perplexity: { value: expect.any(Number) } } },
      { task: 'choices', items: 5, of: 150, chance: 0.5, data: [{ file: 'choices.jsonl' }] },
    ],
  })
  expect((await readFile(samples, 'utf8')).trimEnd().split('\n')).toHaveLength(10)
  expect(await readFile(plot, 'utf8')).toContain('choices: acc_norm, %')
  const second = await halfbyte(...asked, '--beside', json, '--name', 'two', '--batch', '1')
  const [, , line = ''] = second.out.split('\n')
  const [, , , , one, two] = line.split('|')
  expect(two).toBe(one)
  expect(second.out).toMatch(/^Compared with one, paired by items:$/m)
  expect(second.out).toMatch(/^\| choices \| 5 questions \| acc, % \| \+0\.0 ± 0\.0 \|$/m)
}, 120_000)

test('resumes after Ctrl-C with the same result', async () => {
  const whole = path('whole.json')
  const output = path('stopped.json')
  expect((await halfbyte('eval', model, ...few, '--output', whole)).code).toBe(0)
  const child = start('eval', model, ...few, '--output', output)
  const watch = setInterval(() => {
    if (!existsSync(`${output}.work/1.json`)) return
    clearInterval(watch)
    child.kill('SIGINT')
  }, 2)
  const { code } = await ended(child)
  clearInterval(watch)
  // On a fast machine, the run may already have finished.
  if (code === 130) {
    expect(existsSync(output)).toBe(false)
    const refused = await halfbyte('eval', model, ...few, '--output', output)
    expect(refused.err).toMatch(/contains an unfinished job; add --resume/)
    expect((await halfbyte('eval', model, ...few, '--output', output, '--resume')).code).toBe(0)
  }
  const tasks = async (file: string) =>
    JSON.parse(await readFile(file, 'utf8')).tasks.map(({ metrics }: { metrics: unknown }) => metrics)
  expect(await tasks(output)).toEqual(await tasks(whole))
  expect(existsSync(`${output}.work`)).toBe(false)
}, 180_000)

test('samples name the line of each item, also if the items are shuffled', async () => {
  const samples = path('shuffled.jsonl')
  const asked = ['eval', model, `choices=${data}`, '--threads', '1', '--limit', '6'] as const
  const linesOf = async (...more: readonly string[]) => {
    expect(await halfbyte(...asked, '--samples', samples, ...more)).toMatchObject({ code: 0 })
    const items = (await readFile(samples, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    return new Map<number, number[]>(items.map(({ line, result }) => [line, result]))
  }
  const [plain, shuffled] = [await linesOf(), await linesOf('--seed', '9')]
  expect([...plain.keys()]).toEqual([1, 2, 3, 4, 5, 6])
  expect([...shuffled.keys()]).not.toEqual([1, 2, 3, 4, 5, 6])
  const all = path('all.jsonl')
  await halfbyte('eval', model, `choices=${data}`, '--threads', '1', '--samples', all)
  const whole = (await readFile(all, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  for (const [line, result] of shuffled) expect(whole[line - 1]).toMatchObject({ line, result })
}, 120_000)

test('replies are generated in conversations, scored, stored and listed', async () => {
  const gsm = path('gsm8k.jsonl')
  const json = path('replies.json')
  const samples = path('replies.jsonl')
  const lines = ['a', 'b', 'c'].map((question) => JSON.stringify({ question, answer: 'so\n#### 7' }))
  await writeFile(gsm, lines.join('\n'))
  const template = path('template.jinja')
  await writeFile(template, "{% for m in messages %}{{ m['content'] }}{% endfor %}")
  const asked = ['eval', model, `gsm8k=${gsm}`, '--threads', '1', '--shots', '1', '--seed', '3'] as const
  const options = ['--max-tokens', '4', '--output', json, '--samples', samples, '--name', 'one'] as const
  const ended = await halfbyte(...asked, ...options, '--chat-template', template)
  expect(ended).toMatchObject({ code: 0, err: '' })
  expect(ended.out).toMatch(/^\| gsm8k \| 2 replies \| exact_match, strict-match, % \| 0\.0 ± 0\.0 \|/m)
  expect(ended.out).toMatch(/^one, gsm8k: 2 of 2 replies were cut off at 4 tokens\.$/m)
  const items = (await readFile(samples, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  // The template renders only the texts of the examples and the question.
  const length = 'Question: c\nAnswer:so\n#### 7Question: a\nAnswer:'.length
  expect(items).toHaveLength(2)
  for (const { task, result } of items) {
    expect(task).toBe('gsm8k')
    expect(result).toMatchObject({ id: expect.stringMatching(/^line [12]$/), finishReason: 'length' })
    expect(result.promptTokens).toBeLessThanOrEqual(length + 1)
    expect(result.tokens).toHaveLength(4)
  }
  expect(JSON.parse(await readFile(json, 'utf8')).settings).toMatchObject({
    seed: 3,
    replyTokens: 4,
    shots: 1,
  })
}, 120_000)

test('mistakes have specific messages', async () => {
  const answers = [
    [['constructor=x'], 2, /give task=file with one of the tasks second_halves, windows/],
    [['squad=x'], 2, /give task=file with one of the tasks second_halves, windows/],
    [['bfcl_simple=x'], 2, /give bfcl_simple=questions,answers/],
    [[`ifeval=${data}`], 1, /^format: .*line 1 has no "instruction_id_list"/],
    [[`choices=${path('none')}`], 1, /^format: the text file .*none cannot be read/],
    [[`lambada=${data}`], 1, /^format: .*line 1 has no text under "text"/],
    [[`choices=${data}`, '--resume'], 1, /^unsupported: .*give --output FILE to resume/],
    [[`choices=${data}`, '--beside', data], 1, /^format: .* is not a result of halfbyte eval/],
  ] as const
  for (const [args, code, line] of answers)
    expect(await halfbyte('eval', model, ...args)).toMatchObject({ code, err: expect.stringMatching(line) })
}, 120_000)
