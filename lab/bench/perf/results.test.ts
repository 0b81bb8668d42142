// Tests that a later run keeps exactly those earlier results that are still valid.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type { EngineName } from './engines.ts'
import { carriedOver, type GroupResults, loadResults, type Sample, saveResults } from './results.ts'

const sample = (engine: EngineName): Sample => ({
  engine,
  prompt: 64,
  promptTokens: 64,
  prefillMs: 1,
  decodedTokens: 2,
  decodeMs: 1,
  busy: 0,
  at: '',
})
const record = (fingerprint: string) => ({ version: '1', fingerprint, loadMs: [1], memoryBytes: [] })
const EARLIER: GroupResults = {
  shape: 'tiny',
  threads: 1,
  machine: 'm',
  browser: 'b',
  stepBytes: { 64: 1 },
  engines: { halfbyte: record('old'), 'wllama-3': record('3'), 'wllama-2': record('2') },
  samples: [sample('halfbyte'), sample('wllama-3'), sample('wllama-2')],
  limits: [{ readGigabytesPerSecond: 1, dotGigaopsPerSecond: 1 }],
  turns: (['halfbyte', 'wllama-3'] as const).map((engine) => ({ engine, history: 9, readTokens: 1, ms: 1 })),
}
const now = { machine: 'm', browser: 'b' }

test('an engine that changed is measured again; results of an engine that does not take part are kept', () => {
  const fingerprints = new Map<EngineName, string>([
    ['halfbyte', 'new'],
    ['wllama-3', '3'],
  ])
  const kept = carriedOver(EARLIER, { ...now, fingerprints })
  expect(kept.samples.map(({ engine }) => engine)).toEqual(['wllama-3', 'wllama-2'])
  expect(Object.keys(kept.engines)).toEqual(['wllama-3', 'wllama-2'])
  expect(kept.limits).toEqual(EARLIER.limits)
  expect(kept.turns?.map(({ engine }) => engine)).toEqual(['wllama-3'])
})

test.each([{ machine: 'another' }, { browser: 'another' }])('%o: no results are kept', (change) => {
  const kept = carriedOver(EARLIER, { ...now, ...change, fingerprints: new Map() })
  expect(kept).toEqual({ engines: {}, samples: [], limits: [], turns: [] })
})

test('saved results are read back, and unsaved ones are missing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-perf-'))
  try {
    const url = pathToFileURL(`${folder}/`)
    await saveResults(url, EARLIER)
    expect(await loadResults(url, 'tiny', 1)).toEqual(EARLIER)
    expect(await loadResults(url, 'tiny', 2)).toBeUndefined()
    expect(await readdir(folder)).toEqual(['tiny-1t.json'])
  } finally {
    await rm(folder, { recursive: true })
  }
})
