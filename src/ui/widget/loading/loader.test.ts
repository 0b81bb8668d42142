// The phases of a model. In: plans, toy engines, fake responses. Out: the displayed phases, and the number of
// engines.
import { expect, test } from 'vitest'
import { turns } from '../../../../test/helpers/turns.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import { errorOf, openToy } from '../../../engine/api/testing/toy-engine.ts'
import { EnginePool, type LoadEngine } from './engine-pool.ts'
import { Loader, type Outside, type Phase } from './loader.ts'

const PLAN = { source: 'https://models.example/a.gguf', options: {} } as const

const REPORT = {
  fits: true,
  neededBytes: 9,
  grantedBytes: 99,
  contextLength: 64,
  downloadBytes: 5,
  prefillTokensPerSecond: 1,
  decodeTokensPerSecond: 1,
  suggestion: undefined,
}

/** A fake environment; `asked` records the requests in order. */
function outside({ load = () => openToy() as Promise<Engine>, report = REPORT, stored = 0 } = {}) {
  const asked: string[] = []
  const loads: LoadEngine = (_, options) => {
    asked.push(`load ${JSON.stringify(options.contextLength ?? '')}`)
    return load()
  }
  const it: Outside = {
    pool: new EnginePool(loads, 0),
    probe: async () => {
      asked.push('probe')
      return report
    },
    stored: async () => stored,
  }
  return { it, asked }
}

function loader(it: Outside) {
  const phases: Phase[] = []
  return {
    phases,
    names: () => phases.map(({ name }) => name),
    loader: new Loader(
      () => it,
      (phase) => phases.push(phase),
    ),
  }
}

test('consent for a download is asked for with its size, and the download starts with consent', async () => {
  const { it, asked } = outside()
  const { loader: own, phases, names } = loader(it)
  await own.begin(PLAN)
  expect(phases.at(-1)).toEqual({ name: 'consent', bytes: 5, fits: true })
  expect(asked).toEqual(['probe'])
  await own.load(PLAN)
  expect(names()).toEqual(['checking', 'consent', 'loading', 'ready'])
  expect(asked).toEqual(['probe', 'load ""'])
})

test('a size given by the page is not requested, and a stored model needs no consent', async () => {
  const fresh = outside()
  const first = loader(fresh.it)
  await first.loader.begin({ ...PLAN, bytes: 7 })
  expect(first.phases.at(-1)).toEqual({ name: 'consent', bytes: 7, fits: true })
  expect(fresh.asked).toEqual([])
  const second = loader(outside({ stored: 7 }).it)
  await second.loader.begin({ ...PLAN, bytes: 7 })
  expect(second.names()).toEqual(['checking', 'loading', 'ready'])
})

test('a model that would not fit is loaded with the settings suggested by the probe', async () => {
  const report = { ...REPORT, fits: false, suggestion: { contextLength: 32 } }
  const { it, asked } = outside({ report: report as unknown as typeof REPORT })
  const { loader: own } = loader(it)
  await own.begin(PLAN)
  await own.load(PLAN)
  expect(asked).toEqual(['probe', 'load 32'])
})

test('widgets with the same model share one engine, even while it loads, and joining makes no request', async () => {
  const { it, asked } = outside()
  const one = loader(it)
  const two = loader(it)
  const other = loader(it)
  const loading = one.loader.load(PLAN)
  await two.loader.begin(PLAN)
  await loading
  await other.loader.load({ ...PLAN, options: { contextLength: 9 } })
  expect(two.loader.engine).toBe(one.loader.engine)
  expect(other.loader.engine).not.toBe(one.loader.engine)
  expect(asked).toEqual(['load ""', 'load 9'])
})

test('an engine is disposed with its last user, but the page’s own is not', async () => {
  const { it } = outside()
  const one = loader(it)
  const two = loader(it)
  await Promise.all([one.loader.load(PLAN), two.loader.load(PLAN)])
  const { engine } = one.loader
  one.loader.leave()
  await turns(50)
  expect(await engine?.countTokens('a')).toBeGreaterThan(0)
  two.loader.leave()
  const asked = () => errorOf(engine?.countTokens('a') as Promise<number>)
  await expect.poll(asked, { timeout: 60_000 }).toMatchObject({ code: 'disposed' })
  const given = await openToy()
  one.loader.adopt(given)
  one.loader.leave()
  expect(one.loader.engine).toBe(given)
  expect(await given.countTokens('a')).toBeGreaterThan(0)
})

test('a failure is shown and the next try loads again, as it does after an engine failure', async () => {
  const error = new HalfbyteError('network', 'no answer')
  let count = 0
  const { it } = outside({ load: () => (count++ === 0 ? Promise.reject(error) : openToy()) })
  const { loader: own, phases } = loader(it)
  await own.load(PLAN)
  expect(phases.at(-1)).toEqual({ name: 'failed', error })
  await own.load(PLAN)
  const { engine } = own
  expect(engine).toBeDefined()
  own.fail(error)
  await own.load(PLAN)
  expect(own.engine).not.toBe(engine)
  expect(count).toBe(3)
})

test('a failed engine is disposed with its last user at once', async () => {
  const pool = new EnginePool(() => openToy(), 1e6)
  const { loader: own } = loader({ ...outside().it, pool })
  await own.load(PLAN)
  const { engine } = own
  own.fail(new HalfbyteError('internal', 'its worker failed'))
  await expect
    .poll(() => engine?.countTokens('a').catch((error: HalfbyteError) => error.code))
    .toBe('disposed')
})

test('cancelling aborts a load that nobody else waits for', async () => {
  let signal: AbortSignal | undefined
  const pool = new EnginePool((_, options) => {
    signal = options.signal
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal?.reason)))
  })
  const { loader: one } = loader({ ...outside().it, pool })
  const { loader: two } = loader({ ...outside().it, pool })
  void one.load(PLAN)
  void two.load(PLAN)
  one.cancel()
  expect([one.phase.name, two.phase.name, signal?.aborted]).toEqual(['idle', 'loading', false])
  two.cancel()
  expect([two.phase.name, signal?.aborted]).toEqual(['idle', true])
})

test('an invalid model fails with its own message', async () => {
  const { loader: own, phases } = loader(outside().it)
  await own.begin({ source: 7 as never, options: {} })
  expect(phases.at(-1)).toMatchObject({ name: 'failed', error: { code: 'unsupported' } })
})
