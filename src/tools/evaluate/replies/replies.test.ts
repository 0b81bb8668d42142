// Reply tasks. In: small data sets, replies and calls. Out: questions, scores, skipped items, sampled orders,
// and errors for files that are not datasets.
import { describe, expect, test } from 'vitest'
import { runTask } from '../task.ts'
import { bfcl, bfclIrrelevance } from './bfcl.ts'
import { gsm8k } from './gsm8k.ts'
import { ifeval } from './ifeval.ts'
import { instructionCheck } from './instructions.ts'
import { matchesCall } from './match-call.ts'
import type { Question, RepliedCall, Reply, ReplyModel } from './reply-task.ts'

const { signal } = new AbortController()

const of = (...lines: readonly unknown[]) => ({
  name: 'data.jsonl',
  pieces: () => lines.map((line) => JSON.stringify(line)).join('\n'),
})
const reply = (text: string, toolCalls: readonly RepliedCall[] = [], finishReason = 'stop'): Reply => ({
  text,
  toolCalls,
  finishReason,
  promptTokens: 1,
  tokens: [],
})
/** A model that always gives the same answer, and records its prompts. */
const saying = (said: Reply) => {
  const asked: Question[] = []
  const model: ReplyModel = {
    answer: async (question) => {
      asked.push(question)
      return said
    },
  }
  return { model, asked }
}

describe('gsm8k', () => {
  const lines = ['one', 'two', 'three'].map((question, at) => ({ question, answer: `so\n#### ${at}` }))

  test('without examples the question specifies the answer format', async () => {
    const { model, asked } = saying(reply('I think 1, no:\n#### 2\nor 3'))
    const task = await gsm8k(of(...lines), undefined, {})
    const results = await runTask(model, task, { signal })
    expect(asked).toHaveLength(3)
    expect(asked[0]!.messages).toEqual([
      { role: 'user', content: expect.stringMatching(/^Question: one\n.*####/) },
    ])
    expect(task.metrics(results)).toMatchObject({
      'exact_match, strict-match': { value: 1 / 3 },
      'exact_match, flexible-extract': { value: 0 },
    })
    expect(results[2]).toMatchObject({ id: 'line 3', text: 'I think 1, no:\n#### 2\nor 3' })
  })

  test('examples are earlier turns, and lines of the data that serve as examples are not used as items', async () => {
    const task = await gsm8k(of(...lines), undefined, { shots: 2 })
    expect(task.count).toBe(1)
    expect(task.items[0]!.question.messages.map(({ content }) => content)).toEqual([
      'Question: two\nAnswer:',
      'so\n#### 1',
      'Question: three\nAnswer:',
      'so\n#### 2',
      'Question: one\nAnswer:',
    ])
    const apart = await gsm8k(of(...lines), of(...lines), { shots: 2 })
    expect(apart.count).toBe(3)
    expect(apart.items[2]!.question.messages.map(({ content }) => content)).toEqual([
      'Question: one\nAnswer:',
      'so\n#### 0',
      'Question: two\nAnswer:',
      'so\n#### 1',
      'Question: three\nAnswer:',
    ])
    await expect(gsm8k(of(...lines), undefined, { shots: 3 })).rejects.toThrow(
      /line 3 is the last line, too few for 3/,
    )
    await expect(gsm8k(of(...lines), of(lines[0]), { shots: 3 })).rejects.toThrow(
      /line 1 is the last line, too few for 3/,
    )
  })

  test('a seed gives the same order each time, and another seed a different one', async () => {
    const many = of(...Array.from({ length: 40 }, (_, at) => ({ question: `q${at}`, answer: '#### 1' })))
    const order = async (seed?: number) => (await gsm8k(many, undefined, { seed })).items.map(({ id }) => id)
    expect(await order(1)).toEqual(await order(1))
    expect(await order(1)).not.toEqual(await order(2))
    expect((await order(1)).sort()).toEqual((await order()).sort())
  })
})

describe('ifeval', () => {
  const item = (ids: readonly string[], kwargs: readonly object[]) => ({
    key: 7,
    prompt: 'p',
    instruction_id_list: ids,
    kwargs,
  })
  const marksOf = async (text: string, ids: readonly string[], kwargs: readonly object[]) =>
    (await ifeval(of(item(ids, kwargs)), {})).items[0]!.mark(reply(text))

  test('strict scores use the reply unchanged, loose ones also try it without its first and last lines and asterisks', async () => {
    const ids = ['punctuation:no_comma', 'startend:quotation']
    expect(await marksOf('Sure, here:\n*"no comma"*', ids, [{}, {}])).toEqual({
      prompt_level_strict_acc: [false],
      inst_level_strict_acc: [false, false],
      prompt_level_loose_acc: [true],
      inst_level_loose_acc: [true, true],
    })
    expect((await marksOf('', ids, [{}, {}]))['inst_level_loose_acc']).toEqual([false, false])
  })

  test('a language that shares its script is skipped, and so is the prompt', async () => {
    const file = of(item(['language:response_language', 'punctuation:no_comma'], [{ language: 'de' }, {}]))
    const task = await ifeval(file, { maxTokens: 9 })
    const results = await runTask(saying(reply('ja', [], 'length')).model, task, { signal })
    expect(results[0]!.marks).toMatchObject({ prompt_level_strict_acc: [], inst_level_strict_acc: [true] })
    expect(task.notes!(results)).toEqual([
      '1 of 1 replies were cut off at 9 tokens',
      '1 instructions about a language that cannot be identified by its script were skipped',
    ])
    expect(await marksOf('나는 간다', ['language:response_language'], [{ language: 'ko' }])).toMatchObject({
      prompt_level_strict_acc: [true],
    })
  })

  const cases: readonly (readonly [id: string, kwargs: object, follows: string, not: string])[] = [
    ['change_case:english_capital', {}, 'ALL, 1!', 'All'],
    ['change_case:english_lowercase', {}, 'all, 1!', '1!'],
    [
      'change_case:capital_word_frequency',
      { capital_relation: 'less than', capital_frequency: 2 },
      'A b',
      'A B',
    ],
    ['combination:repeat_prompt', { prompt_to_repeat: 'Say It. ' }, 'say it. Yes', 'Yes. say it.'],
    ['combination:two_responses', {}, 'a\n******\nb', 'a\n******\na'],
    ['detectable_content:number_placeholders', { num_placeholders: 2 }, '[a] [b]', '[a\nb] [c]'],
    ['detectable_content:postscript', { postscript_marker: 'P.P.S' }, 'x\np. p.s y', 'P.S. y'],
    ['detectable_format:constrained_response', {}, 'Well. My answer is no.', 'My answer is No'],
    ['detectable_format:json_format', {}, '```json\n{"a": 1}\n```', 'Here: {"a": 1}'],
    [
      'detectable_format:multiple_sections',
      { section_spliter: 'Day', num_sections: 2 },
      'Day 1 a\nDay2',
      'Day 1',
    ],
    ['detectable_format:number_bullet_lists', { num_bullets: 2 }, '* a\n - b', '* a\n** b'],
    ['detectable_format:number_highlighted_sections', { num_highlights: 2 }, '*a* *b*', '*a* * *'],
    ['detectable_format:title', {}, '<<T>>', '<< >>'],
    ['keywords:existence', { keywords: ['cat', 'Dog'] }, 'Cats, dogs', 'cats'],
    ['keywords:forbidden_words', { forbidden_words: ['cat'] }, 'cats', 'a CAT.'],
    ['keywords:frequency', { keyword: 'cat', relation: 'at least', frequency: 2 }, 'Cat cats', 'cat'],
    ['keywords:letter_frequency', { letter: 'A', let_relation: 'less than', let_frequency: 2 }, 'ab', 'aA'],
    [
      'length_constraints:nth_paragraph_first_word',
      { num_paragraphs: 2, nth_paragraph: 2, first_word: 'Two' },
      'one\n\n"two" words',
      'two\n\none',
    ],
    ['length_constraints:number_paragraphs', { num_paragraphs: 2 }, 'a\n***\nb\n***', 'a\n\nb'],
    [
      'length_constraints:number_sentences',
      { relation: 'less than', num_sentences: 2 },
      'Mr. A is.',
      'One. Two.',
    ],
    ['length_constraints:number_words', { relation: 'at least', num_words: 3 }, "it's on", 'two words'],
    ['punctuation:no_comma', {}, 'a; b', 'a, b'],
    ['startend:end_checker', { end_phrase: 'The End.' }, 'It is the end."', 'The end. Or not'],
    ['startend:quotation', {}, ' "a" ', '"'],
  ]

  test.each(cases)('%s %j', (id, kwargs, follows, not) => {
    const check = instructionCheck(id, kwargs as Record<string, unknown>)
    if (typeof check !== 'function') throw new Error(`${id} is ${check}`)
    expect([check(follows), check(not)]).toEqual([true, false])
    if (Object.keys(kwargs).length > 0) expect(instructionCheck(id, {})).toBe('unknown')
  })

  test.each([
    ['an unknown instruction', { instruction_id_list: ['a:b'], kwargs: [{}] }, /the instruction "a:b"/],
    [
      'a missing argument',
      { instruction_id_list: ['keywords:existence'], kwargs: [{}] },
      /is missing an argument/,
    ],
    [
      'too few arguments',
      { instruction_id_list: ['punctuation:no_comma'], kwargs: [] },
      /the same number of "kwargs"/,
    ],
  ])('%s is rejected with its line', async (_, fields, message) => {
    await expect(ifeval(of({ key: 1, prompt: 'p', ...fields }), {})).rejects.toThrow(
      expect.objectContaining({ code: 'format', message: expect.stringMatching(message) }),
    )
  })
})

describe('bfcl', () => {
  const described = {
    name: 'geo.area',
    description: 'Area',
    parameters: {
      type: 'dict',
      properties: {
        base: { type: 'float' },
        type: { type: 'string' },
        sides: { type: 'array', items: { type: 'integer' } },
      },
      required: ['base'],
    },
  }
  const question = { id: 'x_0', question: [[{ role: 'user', content: 'q' }]], function: [described] }
  const truth = {
    id: 'x_0',
    ground_truth: [{ 'geo.area': { base: [10], type: ['Right, triangle', ''], sides: [''] } }],
  }
  const call = (given: RepliedCall['arguments'], name = 'geo.area') => ({ name, arguments: given })

  test('tools have JSON Schema types, even if a property is called type', async () => {
    const [item] = (await bfcl('bfcl_simple', of(question), of(truth), {})).items
    expect(item!.question.tools).toEqual([
      {
        name: 'geo.area',
        description: 'Area',
        parameters: {
          type: 'object',
          properties: {
            base: { type: 'number' },
            type: { type: 'string' },
            sides: { type: 'array', items: { type: 'integer' } },
          },
          required: ['base'],
        },
      },
    ])
  })

  test.each<[string, readonly RepliedCall[], boolean]>([
    ['the right call', [call({ base: 10 })], true],
    ['a text that differs in case and punctuation', [call({ base: 10, type: 'right triangle.' })], true],
    ['a wrong text', [call({ base: 10, type: 'square' })], false],
    ['a number as text', [call({ base: '10' })], false],
    ['a wrong number', [call({ base: 11 })], false],
    ['a missing required argument', [call({ type: 'right triangle' })], false],
    ['an unknown argument', [call({ base: 10, more: 1 })], false],
    ['an empty list for an optional one', [call({ base: 10, sides: [] })], true],
    ['another function', [call({ base: 10 }, 'geo.size')], false],
    ['two calls', [call({ base: 10 }), call({ base: 10 })], false],
    ['no call', [], false],
  ])('%s', async (_, calls, isRight) => {
    const [item] = (await bfcl('bfcl_multiple', of(question), of(truth), {})).items
    expect(item!.mark(reply('', calls))).toEqual({ accuracy: [isRight] })
  })

  test.each<[string, unknown, object, readonly unknown[], boolean]>([
    ['a whole number in place of a float', 5, { type: 'float' }, [5], true],
    ['a fraction in place of a whole number', 5.5, { type: 'integer' }, [5], false],
    ['a truth value is not a number', true, { type: 'integer' }, [1], false],
    ['a variable in place of a number', 'x_1', { type: 'integer' }, ['x_1'], true],
    ['a variable is compared unchanged', 'X1', { type: 'integer' }, ['x_1'], false],
    [
      'lists in the same order',
      ['B.', 'a'],
      { type: 'array', items: { type: 'string' } },
      [['b', 'A']],
      true,
    ],
    [
      'lists in a different order',
      ['a', 'b'],
      { type: 'array', items: { type: 'string' } },
      [['b', 'a']],
      false,
    ],
    [
      'an object by its allowed values',
      { k: 'V1' },
      { type: 'dict' },
      [{ k: ['v-1', 'w'], o: ['', 2] }],
      true,
    ],
    ['an object with an unknown key', { k: 'v', z: 1 }, { type: 'dict' }, [{ k: ['v'] }], false],
    ['an object without a key', {}, { type: 'dict' }, [{ k: ['v'] }], false],
    ['a list of objects', [{ k: 1 }], { type: 'array', items: { type: 'dict' } }, [[{ k: [1, 2] }]], true],
    ['too few objects', [], { type: 'array', items: { type: 'dict' } }, [[{ k: [1] }]], false],
    ['a list of lists', [[1, 2]], { type: 'array', items: { type: 'array' } }, [[[1, 2]]], true],
  ])('%s: %j', (_, value, type, answers, isRight) => {
    const callable = { properties: { a: type as { type: string } }, required: ['a'] }
    expect(matchesCall({ a: value }, callable, { name: 'f', values: { a: answers } })).toBe(isRight)
  })

  test('irrelevance expects no call, not even of an unknown function', async () => {
    const [item] = (await bfclIrrelevance(of(question), {})).items
    const marks = [
      reply('I cannot.'),
      reply('', [call({ base: 1 })]),
      reply('<tool_call>{"name": "other"}</tool_call>'),
    ].map((each) => item!.mark(each)['accuracy'])
    expect(marks).toEqual([[true], [false], [false]])
  })

  test.each([
    [
      'an item without an answer',
      () => bfcl('bfcl_simple', of({ ...question, id: 'y' }), of(truth), {}),
      /"y", which/,
    ],
    [
      'an unknown type',
      () =>
        bfclIrrelevance(
          of({ ...question, function: [{ name: 'f', parameters: { properties: { a: { type: 'set' } } } }] }),
          {},
        ),
      /parameter "a" without one of the types dict/,
    ],
    [
      'an answer of two calls',
      () => bfcl('bfcl_simple', of(question), of({ id: 'x_0', ground_truth: [{}, {}] }), {}),
      /exactly one call/,
    ],
    [
      'a turn without content',
      () => bfclIrrelevance(of({ ...question, question: [[{ role: 'user' }]] }), {}),
      /without content/,
    ],
  ])('%s is rejected with its line', async (_, make, message) => {
    await expect(make()).rejects.toThrow(
      expect.objectContaining({ code: 'format', message: expect.stringMatching(message) }),
    )
  })
})
