// In: an engine's facts and figures. Out: whether the report contains them all.
import { expect, test, vi } from 'vitest'
import type { Engine, EngineNote, MemoryUse } from '../../../../src/index.ts'
import type { Figures } from '../../conversation/answer.ts'
import { speak } from '../../words/words.ts'
import { answerRows, engineFacts, readRate, report } from './how-it-runs.ts'

const engine = {
  model: {
    id: 'tiny',
    architecture: 'llama',
    parameters: 2.4e6,
    contextLength: 512,
    sampling: {},
    templateArguments: [],
    readsTools: false,
    seesImages: false,
  },
  threads: 2,
  pool: 'shared',
  build: 'relaxed',
  notes: [
    { code: 'trained-context', text: 'the context is short', values: { tokens: 512, asked: 4096 } },
    { code: 'of-later', text: 'only two', values: {} } as unknown as EngineNote,
  ],
} as Partial<Engine> as Engine
const memory: MemoryUse = {
  weightsBytes: 5e6,
  stateBytes: 1e6,
  keptBytes: 0,
  arenaBytes: 2e6,
  totalBytes: 12e6,
}
const figures = (tokensPerSecond: number): Figures => ({
  tokensPerSecond,
  firstTokenMs: 12.4,
  contextUsed: 40,
  readTokens: 8,
  promptTokens: 30,
  writtenTokens: 10,
})

test('the newest answer comes first', () => {
  expect(answerRows([figures(50), figures(120)])).toEqual([
    ['120', '12 ms', '8 of 30', '10'],
    ['50.0', '12 ms', '8 of 30', '10'],
  ])
})

test('the report has model, engine, memory and answers', () => {
  const text = report(engine, memory, [figures(50)], [])
  for (const part of [
    'tiny, llama, 2.4 million',
    '2 of ',
    'shared',
    'relaxed',
    'the context is short',
    'only two',
    '12.0 MB',
    '| 50.0 |',
  ])
    expect(text).toContain(part)
  expect(report(engine, memory, [], [])).toContain('None yet.')
  expect(text).not.toContain('Ops compared')
})

test('notes are in the page’s language; those with an unknown code keep the library’s sentence', async () => {
  vi.stubGlobal('document', { documentElement: { lang: 'en', dir: 'ltr' } })
  const notes = () => engineFacts(engine).slice(-2)
  expect(notes()).toEqual([
    ['Note', 'the context is short'],
    ['Note', 'only two'],
  ])
  await speak('he')
  try {
    expect(notes()).toEqual([
      ['הערה', expect.stringMatching(/^ההקשר מכיל 512 אסימונים במקום 4096, .*\.$/)],
      ['הערה', 'only two'],
    ])
  } finally {
    await speak('en')
  }
})

test('weights are read once for each token', () => {
  expect(readRate(memory, [figures(50), figures(100)])).toBe(5e8)
  expect(readRate(memory, [figures(0)])).toBeUndefined()
})
