// The perf suite. In: a model that takes seconds to measure. Out: whether the suite measures Halfbyte in a
// browser, saves its results, and resumes from them.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from '@playwright/test'
import { ENGINES, OURS } from '../lab/bench/perf/engines.ts'
import { openSite } from '../lab/bench/perf/host/site.ts'
import { measureGroup } from '../lab/bench/perf/measure.ts'
import { loadResults } from '../lab/bench/perf/results.ts'
import { summarise } from '../lab/bench/perf/summary.ts'
import { markdown } from '../lab/bench/perf/tables.ts'
import { TINY } from '../lab/bench/shapes.ts'

test('the perf suite measures a small model, and a second run measures only the missing rounds', async () => {
  const kinds = ENGINES.filter(({ name }) => name === OURS)
  const out = await mkdtemp(join(tmpdir(), 'halfbyte-perf-'))
  const folder = pathToFileURL(`${out}/`)
  const site = await openSite()
  try {
    const order = { shape: TINY, threads: 1, kinds, site, machine: 'a machine', folder, seconds: 60 }
    const first = await measureGroup({
      ...order,
      limits: { prompts: [64], rounds: 1, decode: 8 },
      resume: false,
    })
    expect(first.samples).toHaveLength(1)
    const second = await measureGroup({
      ...order,
      limits: { prompts: [64], rounds: 2, decode: 8 },
      resume: true,
    })
    expect(second.samples[0]).toEqual(first.samples[0])
    expect(second.samples).toHaveLength(2)
    expect(second.samples[1]).toMatchObject({ engine: OURS, promptTokens: 64, decodedTokens: 8 })
    expect(second.limits).toHaveLength(2)
    expect(await loadResults(folder, TINY.name, 1)).toEqual(second)
    const text = markdown(summarise([second], 'npm run perf', '1.2.3'))
    // Speeds below 100 have decimals.
    expect(text).toMatch(
      /\| 1 \| 64 \| Halfbyte \| [\d.]+ \([\d.]+-[\d.]+\) \| [\d.]+ \([\d.]+-[\d.]+\) \| 2 \|/,
    )
  } finally {
    await site.close()
    await rm(out, { recursive: true })
  }
})
