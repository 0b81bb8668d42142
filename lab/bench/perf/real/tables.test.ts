// Speeds in documents. In: measured rows. Out: tables and ratios; and the README's figures are those of
// lab/measurements/performance.json, of this version.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { betweenMarkers } from '../docs.ts'
import { ownVersion, PAGE, readFigures } from '../figures.ts'
import { type RealResults, type RealRow, stillValid } from './results.ts'
import { leastDecodeRatio, markdown, REAL_DOCS, readmeText, withLeastRatio } from './tables.ts'

const README = new URL('../../../../README.md', import.meta.url)

const about = { model: 'smollm2', threads: 1, prompt: 64 }
const OURS: RealRow = {
  ...about,
  engine: 'halfbyte',
  title: 'Halfbyte',
  prefill: [200, 100],
  decode: [90, 60],
}
const WLLAMA: RealRow = {
  ...about,
  engine: 'wllama-3',
  title: 'wllama 3.13.0',
  loadMs: 1234,
  memoryBytes: 2e6,
  prefill: [20, 20],
  decode: [10, 20],
}
const FAILED: RealRow = {
  ...WLLAMA,
  engine: 'llama.cpp',
  title: 'llama.cpp, native 3',
  prefill: [],
  decode: [],
  failure: 'x',
}
const RESULTS: RealResults = {
  version: '1.2.3',
  fingerprint: 'f',
  machine: 'm',
  browser: 'Chromium 156.0.1',
  date: '2026-11-30T10:00:00Z',
  command: 'c',
  rows: [OURS, WLLAMA, FAILED],
}

test('ratios are medians of the ratios within rounds', () => {
  expect(leastDecodeRatio(RESULTS)).toBe(6)
  expect(markdown(RESULTS)).toContain(
    '| 1 | wllama 3.13.0 | 20.0 (20.0-20.0) | 15.0 (10.0-20.0) | 7.50x | 6.00x | 1.2 | 2 |',
  )
})

test('an engine that failed has no ratios', () => {
  expect(markdown(RESULTS)).toContain('| 1 | llama.cpp, native 3 | failed | failed |  |  | 1.2 | 2 |')
  expect(readmeText(RESULTS)).toContain('| SmolLM2-135M-Instruct, Q4_1 | 1 | 150, 75.0 | 20.0, 15.0 | - |')
})

test('rows of other code, another machine or another browser are measured again', () => {
  const now = { fingerprint: 'f', machine: 'm', browser: 'Chromium 156.0.1' }
  expect(stillValid(RESULTS, now)).toEqual(RESULTS.rows)
  for (const change of [{ fingerprint: 'g' }, { machine: 'n' }, { browser: 'b' }])
    expect(stillValid(RESULTS, { ...now, ...change })).toEqual([])
})

test('the documents have the figures of this version', async () => {
  const { models: measured } = await readFigures()
  expect(measured.version).toBe(await ownVersion())
  const readme = readFileSync(README, 'utf8')
  expect(betweenMarkers(readme, REAL_DOCS)).toBe(readmeText(measured))
  expect(withLeastRatio(readme, measured)).toBe(readme)
  expect(betweenMarkers(readFileSync(PAGE, 'utf8'), REAL_DOCS)).toBe(markdown(measured))
})

test('a README without the sentence is rejected', () => {
  expect(() => withLeastRatio('It is fast.', RESULTS)).toThrow(/must say/)
})
