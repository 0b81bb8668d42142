// Tests that medians, ratios, shares and tables match their samples, and that the docs show the summary.
import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { BEGIN, betweenMarkers, END, replaceBetweenMarkers } from './docs.ts'
import type { EngineName } from './engines.ts'
import { ownVersion, PAGE, readFigures } from './figures.ts'
import type { EngineRecord, GroupResults, Sample } from './results.ts'
import { summarise } from './summary.ts'
import { markdown } from './tables.ts'

const sample = (engine: EngineName, prompt: number, prefill: number, decode: number): Sample => ({
  engine,
  prompt,
  promptTokens: prompt,
  prefillMs: (1000 * prompt) / prefill,
  decodedTokens: 33,
  decodeMs: (1000 * 32) / decode,
  busy: 0,
  at: '2026-11-21T10:00:00.000Z',
})
const record: EngineRecord = { version: '3.8.1', fingerprint: 'x', loadMs: [1500, 2500], memoryBytes: [3e8] }

const GROUP: GroupResults = {
  shape: 'qwen2.5-0.5b',
  threads: 2,
  machine: '2 x M',
  browser: 'Chromium 1',
  stepBytes: { 64: 2.5e8 },
  engines: {
    halfbyte: { ...record, version: '', agreement: { same: 4, of: 4, reference: 'llama.cpp' } },
    'wllama-3': record,
    'llama.cpp': { ...record, loadMs: [], failure: 'it is not installed' },
  },
  turns: [
    { engine: 'halfbyte', history: 2000, readTokens: 40, ms: 100 },
    { engine: 'wllama-3', history: 2000, readTokens: 2040, ms: 8000 },
  ],
  samples: [
    ...[400, 360, 440].map((rate) => sample('halfbyte', 64, rate, rate / 4)),
    ...[10, 11].map((rate) => sample('wllama-3', 64, rate, rate / 2)),
  ],
  limits: [
    { readGigabytesPerSecond: 30, dotGigaopsPerSecond: 400 },
    { readGigabytesPerSecond: 20, dotGigaopsPerSecond: 380 },
  ],
}

test('ratios compare medians, the share is of what one read stream allows', () => {
  const { groups } = summarise([GROUP], 'npm run perf', '1.2.3')
  const [ours, peer] = groups[0]!.rows
  expect(ours!.prefill.median).toBeCloseTo(400)
  expect(ours!.decode).toMatchObject({ median: expect.closeTo(100), min: expect.closeTo(90) })
  expect(ours!.allowed).toBeCloseTo(25e9 / 2.5e8)
  expect(ours!.share).toBeCloseTo(1)
  expect(ours!.decodeRatio).toBeUndefined()
  expect(peer!.prefillRatio).toBeCloseTo(400 / 10.5)
  expect(peer!.decodeRatio).toBeCloseTo(100 / 5.25)
})

test('the tables have medians with their spread, load, memory, and missing engines with the reason', () => {
  const text = markdown(summarise([GROUP], 'npm run perf', '1.2.3'))
  expect(text).toContain('### qwen2.5-0.5b, 494 M weights')
  expect(text).toContain(
    '| 2 | 64 | wllama 3.8.1 | 10.5 (10.0-11.0) | 5.25 (5.00-5.50) | 2 | 38.1x | 19.0x |',
  )
  expect(text).toContain('| 2 | 64 | 25.0 (20.0-30.0) | 250 | 100.0 | 100.0 | 100 % |')
  expect(text).toContain('| 2 | 2000 | wllama 3.8.1 | 2040 | 8000 | 1.3 % |')
  expect(text).toContain('| 2 | Halfbyte | 2.0 | 300 | 4 of 4 |')
  expect(text).toContain('llama.cpp, native 3.8.1, 2 threads: skipped, it is not installed.')
})

test('a disturbed round is reported', () => {
  const samples = GROUP.samples.map((each, index) => (index === 0 ? { ...each, busy: 0.5 } : each))
  expect(markdown(summarise([{ ...GROUP, samples }], '', '1.2.3'))).toContain(
    '50 % of the machine was in use',
  )
})

test('without measurements there are no tables', () => {
  expect(markdown(summarise([], 'npm run perf', '1.2.3'))).toBe('Nothing has been measured.')
})

test('only the text between the markers is replaced', () => {
  const page = `before\n\n${BEGIN}\nold\n${END}\n\nafter\n`
  const replaced = replaceBetweenMarkers(page, 'new')
  expect(replaced).toBe(`before\n\n${BEGIN}\n\nnew\n\n${END}\n\nafter\n`)
  expect(betweenMarkers(replaced)).toBe('new')
  expect(() => replaceBetweenMarkers('no markers', 'new')).toThrow(BEGIN)
  expect(() => replaceBetweenMarkers(page + page, 'new')).toThrow(BEGIN)
})

test('lab/measurements/performance.md shows the figures of this version', async () => {
  const { shapes } = await readFigures()
  expect(betweenMarkers(await readFile(PAGE, 'utf8'))).toBe(markdown(shapes))
  expect(shapes.version).toBe(await ownVersion())
})
