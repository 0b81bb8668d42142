// Evaluation. In: small data sets and a model defined by a table. Out: requests, windows, statistics, resumed
// runs, tables, and errors for files that are not data sets.
import { describe, expect, test } from 'vitest'
import { type EvaluatedModel, encodePair } from '../../engine/score/score.ts'
import { markdownTable } from './markdown.ts'
import { svgPlot } from './plot.ts'
import type { ModelReport } from './report.ts'
import { argmax, type ItemResult, mean, perplexityOf, runTask, type Task } from './task.ts'
import { arc, boolq, hellaswag, ownChoices, piqa, winogrande } from './tasks/choices.ts'
import {
  detokenizeWikitext,
  joinedRows,
  lambada,
  pagesOf,
  pageWindows,
  rollingWindows,
  windowTask,
} from './tasks/texts.ts'

const { signal } = new AbortController()

/** Ids are characters, but "ab" is one token. */
const tokenizer = {
  bosId: 1,
  eosId: 2,
  addsBos: true,
  encode: (text: string) => [...text.replaceAll('ab', '\u0100')].map((char) => char.charCodeAt(0)),
}
const model = (addBos = false): EvaluatedModel => ({
  tokenizer,
  addBos,
  maxTokens: 16,
  scheduler: { forward: () => Promise.reject(new Error('nothing is run')) },
  newSequence: () => {
    throw new Error('nothing is run')
  },
})

describe('requests', () => {
  const codes = (text: string) => [...text].map((char) => char.charCodeAt(0))

  test('spaces at the end of a context belong to the continuation', () => {
    expect(encodePair(model(), 'x  ', 'y')).toEqual({ context: codes('x'), continuation: codes('  y') })
  })

  test('a token across the boundary belongs to the context', () => {
    expect(encodePair(model(), 'xa', 'bc')).toEqual({ context: codes('xa'), continuation: codes('c') })
  })

  test('an empty context becomes BOS, and BOS precedes other contexts if the tokenizer adds it', () => {
    expect(encodePair(model(), '', ' y')).toEqual({ context: [1], continuation: codes(' y') })
    expect(encodePair(model(true), '', 'y')).toEqual({ context: [1], continuation: codes('y') })
    expect(encodePair(model(true), 'x', 'y')).toEqual({ context: [1, 120], continuation: codes('y') })
  })
})

test('a page begins with BOS after the prefix token, as in the harness, where the tokenizer adds it', () => {
  const page = [120, 121, 122]
  expect(pageWindows(model(true), 'xyz')).toEqual([{ context: [1], continuation: [1, ...page] }])
  expect(pageWindows(model(), 'xyz')).toEqual([{ context: [1], continuation: page }])
  const without = { ...model(true), tokenizer: { ...tokenizer, addsBos: false } }
  expect(pageWindows(without, 'xyz')).toEqual([{ context: [1], continuation: page }])
})

test('rolling windows score each token once, the last with as much context as fits', () => {
  const ids = Array.from({ length: 10 }, (_, i) => i)
  expect(rollingWindows(ids, 99, 4)).toEqual([
    { context: [99], continuation: [0, 1, 2, 3] },
    { context: [3], continuation: [4, 5, 6, 7] },
    { context: [5, 6, 7], continuation: [8, 9] },
  ])
  expect(rollingWindows([7], 99, 4)).toEqual([{ context: [99], continuation: [7] }])
  expect(rollingWindows([], 99, 4)).toEqual([])
})

test('statistics are means, weighted perplexities, and the first of equal maxima', () => {
  expect(mean([1, 0, 1, 1])).toEqual({
    value: 0.75,
    error: 0.25,
    influence: [0.0625, -0.1875, 0.0625, 0.0625],
  })
  expect(mean([1])).toEqual({ value: 1, error: undefined, influence: [0] })
  const even = perplexityOf([-2, -4], [1, 2])
  expect(even.value).toBeCloseTo(Math.exp(2), 12)
  expect(even.error).toBeCloseTo(0, 12)
  const odd = perplexityOf([-1, -3])
  expect(odd.error).toBeCloseTo((Math.exp(2) * Math.sqrt(2)) / Math.sqrt(2), 12)
  expect(argmax([1, 3, 3])).toBe(1)
})

/** Requests of a task's items, scored by a model that finds longer texts less likely. */
const askedOf = async (task: Task): Promise<ItemResult[]> => {
  const lengths = { ...model(), maxTokens: 4096 }
  return Promise.all(Array.from({ length: task.count }, (_, i) => task.score(lengths, i, signal)))
}

describe('data sets', () => {
  const of = (...lines: readonly unknown[]) => ({
    name: 'data.jsonl',
    text: lines.map((line) => JSON.stringify(line)).join('\n'),
  })

  test('WikiText is split into pages, cleaned and joined according to the published rules', async () => {
    const text =
      ' \n = One = \n \n A 1 @,@ 000 \u00b0 " b " ( c ) . \n \n = = Part = = \n text , end \n = Two = \n \n x \n'
    const pages = pagesOf(text)
    expect(pages).toHaveLength(2)
    expect(pages[0]).toMatch(/^ = One = \n[\s\S]*end $/)
    expect(detokenizeWikitext(pages[0]!)).toBe(' = One =\n\nA 1,000\u00b0"b" (c).\n\n== Part ==\ntext, end ')
    const joined: string[] = []
    for await (const piece of joinedRows([' \n = O', 'ne = \n a \n'])) joined.push(piece)
    expect(joined.join('')).toBe('\n\n = One = \n\n\n a \n')
  })

  test.each([
    [
      'a choice that does not exist',
      () => ownChoices(of({ query: 'a', choices: ['b', 'c'], gold: 2 })),
      /line 1 .*2 choices as 2/,
    ],
    [
      'a line without choices',
      () => ownChoices(of({ query: 'a', gold: 0 })),
      /line 1 needs a list of at least two strings under "choices"/,
    ],
    [
      'a line that is not JSON',
      () => lambada({ name: 'x', text: '{"text": "a b"}\nnot' }),
      /x: line 2 is not a JSON object/,
    ],
    ['a text of one word', () => lambada(of({ text: 'word' })), /line 1 has a text with only one word/],
    [
      'a missing gap',
      () => winogrande(of({ sentence: 'a', option1: 'b', option2: 'c', answer: '1' })),
      /without "_"/,
    ],
    [
      'an answer without a label',
      () =>
        arc(
          'arc_easy',
          of({ question: 'q', choices: { text: ['a', 'b'], label: ['A', 'B'] }, answerKey: 'E' }),
        ),
      /2 choices as "E"/,
    ],
    [
      'a wrong number of labels',
      () => piqa(of({ goal: 'g', sol1: 'a', sol2: 'b' }), { name: 'l', text: '0\n1\n' }),
      /l has 2 labels, and data\.jsonl has 1 items/,
    ],
    [
      'an answer other than yes or no',
      () => boolq(of({ question: 'q', passage: 'p', answer: 'maybe' })),
      /2 choices as "maybe"/,
    ],
    [
      'an incomplete item',
      () => hellaswag({ name: 'h', text: 'context\n1\na\nb\n' }),
      /h: line 1 starts an item with fewer than six/,
    ],
  ])('%s is rejected by name', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ code: 'format', message: expect.stringMatching(message) }))
  })

  test('a seed determines the order of the items, the same for all models', () => {
    const lines = of(
      ...Array.from({ length: 20 }, (_, gold) => ({ query: 'a', choices: ['b', 'c'], gold: gold % 2 })),
    )
    const likes = (seed?: number) => {
      const task = ownChoices(lines, seed)
      // The first choice is always picked, so an item is correct if its gold is 0.
      return Array.from({ length: 20 }, (_, at) => {
        const before = task.metrics(Array.from({ length: at }, () => [-1, -2]))['acc']!.value * at || 0
        return task.metrics(Array.from({ length: at + 1 }, () => [-1, -2]))['acc']!.value * (at + 1) - before
      }).map(Math.round)
    }
    const own = Array.from({ length: 20 }, (_, at) => 1 - (at % 2))
    expect(likes()).toEqual(own)
    expect(likes(1)).not.toEqual(own)
    expect(likes(1).toSorted()).toEqual(own.toSorted())
    expect(likes(1)).toEqual(likes(1))
    expect(likes(2)).not.toEqual(likes(1))
  })

  test('BoolQ asks no or yes after title and passage', async () => {
    const line = { question: 'is it', passage: 'It is.', title: 'It', answer: true }
    const task = boolq(of(line, { ...line, answer: false }))
    expect(task).toMatchObject({ count: 2, chance: 0.5 })
    const { acc, ...others } = task.metrics([
      [-2, -1],
      [-2, -1],
    ])
    expect(acc).toMatchObject({ value: 0.5 })
    expect(others).toEqual({})
  })

  test('a text shorter than a window is rejected with both numbers', () => {
    const rules = { name: 'windows', context: 8, ids: [1, 2, 3], forward: async () => undefined } as const
    expect(() => windowTask(rules)).toThrow(/3 tokens but one window needs 8/)
  })

  test('HellaSwag without JSON has six lines per item', async () => {
    const task = hellaswag({ name: 'h', text: 'c one\n1\na\nb\nc\nd\nc two\n0\na\nb\nc\nd\n' })
    expect(task).toMatchObject({ count: 2, chance: 0.25 })
    await expect(askedOf(task)).rejects.toThrow('nothing is run')
    expect(
      task.metrics([
        [-3, -1, -2, -4],
        [-1, -1, -2, -2],
      ]),
    ).toMatchObject({ acc: { value: 1 } })
  })
})

describe('a run', () => {
  const counting = (fail = Number.POSITIVE_INFINITY, seen: number[] = []): Task => ({
    name: 'squares',
    count: 200,
    unit: 'numbers',
    async score(_, index) {
      if (index >= fail) throw new Error('stopped')
      seen.push(index)
      return [index * index]
    },
    metrics: (results) => ({ acc: mean(results.map(([value]) => value!)) }),
  })

  test('continues from stored results to the same final result', async () => {
    const whole = await runTask(model(), counting(), { signal })
    expect(whole).toHaveLength(200)
    let kept: readonly ItemResult[] = []
    const keep = async (results: readonly ItemResult[]) => {
      kept = [...results]
    }
    await expect(runTask(model(), counting(150), { signal, keep })).rejects.toThrow('stopped')
    expect(kept).toHaveLength(128)
    const seen: number[] = []
    expect(await runTask(model(), counting(1000, seen), { signal, known: kept })).toEqual(whole)
    expect(seen[0]).toBe(128)
    expect(await runTask(model(), counting(), { signal, limit: 3, known: kept })).toHaveLength(3)
  })

  test('reports become a table and a plot, and special characters in names are escaped in both', () => {
    const report = (name: string, value: number): ModelReport => ({
      model: name,
      settings: {},
      tasks: [
        {
          task: 'piqa',
          items: 10,
          of: 20,
          unit: 'questions',
          chance: 0.5,
          seconds: 1,
          data: [],
          metrics: { acc: { value, error: 0.1 } },
        },
      ],
    })
    const reports = [report('a|b', 0.5), report('<c>', 0.75)]
    expect(markdownTable(reports).split('\n')[2]).toBe(
      '| piqa | 10 questions | acc, % | 50.0 ± 10.0 | 75.0 ± 10.0 | 50.0 |',
    )
    const svg = svgPlot(reports)
    expect(svg).toContain('&#60;c&#62;')
    expect(svg.match(/<rect x=/g)).toHaveLength(2)
    expect(svg).toContain('stroke-dasharray')
  })
})
