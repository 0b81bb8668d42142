// Killed workers. In: each pool, with each of its workers killed during each operation of an engine. Out:
// typed errors in time, no worker left, and a working next load.
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Engine } from '../../src/api/engine.ts'
import type { LoadOptions, Session } from '../../src/api/types.ts'
import { isHalfbyteError } from '../../src/base/errors.ts'
import { GOLDEN, GOLDEN_OPTIONS, GOLDEN_PROMPT, goldenFile, goldenReply } from '../testing/golden.ts'
import { openEngine } from '../testing/node-engine.ts'

/**
 * A shard's end is noticed at once. The end of a thread in the middle of a step is noticed only after the
 * barrier's timeout of 20 s, so one such case stands for all.
 */
const POOLS = [
  { pool: 'shared', threads: 2, mostMs: 40_000, dies: ['answer', 'fork', 'idle time'] },
  { pool: 'shards', threads: 3, mostMs: 10_000, dies: undefined },
] as const

/** Running workers of this process, in the order in which they were started. */
let workers: Worker[] = []
let onStart: (worker: Worker) => void = () => undefined
const noteWorker = (worker: Worker) => {
  workers.push(worker)
  worker.once('exit', () => {
    workers = workers.filter((one) => one !== worker)
  })
  onStart(worker)
}

beforeEach(() => void process.on('worker', noteWorker))
afterEach(() => {
  process.off('worker', noteWorker)
  onStart = () => undefined
})

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'resolved',
    (error) => (isHalfbyteError(error) ? error.code : `untyped: ${error}`),
  )

interface Talk {
  readonly engine: Engine
  readonly session: Session
  readonly file: Blob
}

interface Work {
  readonly done: Promise<unknown>
  /** The worker dies when this resolves; default: at once. */
  readonly underWay?: Promise<unknown>
}

const LONG = { ...GOLDEN_OPTIONS, maxTokens: 5000, speculation: 'off' } as const

function answer({ session }: Talk): Work {
  const running = session.send('and then', LONG)
  let chunks = 0
  const underWay = new Promise<void>((resolve) => {
    const read = async () => {
      for await (const _ of running) if (++chunks === 3) resolve()
    }
    read().catch(() => undefined)
  })
  return { done: running.result, underWay }
}

/**
 * Operations during which a worker dies, and their possible outcomes. An operation that does not need the
 * worker resolves.
 */
const OPERATIONS: readonly (readonly [string, (talk: Talk) => Work, readonly string[]])[] = [
  ['prompt', ({ session }) => ({ done: session.send(`why ${'a '.repeat(150)}`, LONG).result }), ['internal']],
  ['answer', answer, ['internal']],
  ['save', ({ session }) => ({ done: session.save() }), ['internal', 'resolved']],
  ['restore', ({ engine, file }) => ({ done: engine.restoreSession(file) }), ['internal', 'resolved']],
  ['fork', ({ session }) => ({ done: session.fork() }), ['resolved']],
  ['embedding', ({ engine }) => ({ done: engine.embed([GOLDEN_PROMPT.repeat(5)]) }), ['internal']],
  ['score', ({ engine }) => ({ done: engine.score(GOLDEN_PROMPT.repeat(4), [' sea']) }), ['internal']],
  ['idle time', () => ({ done: Promise.resolve() }), ['resolved']],
]

async function everyWorkerEnds(): Promise<void> {
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve))))
  expect(workers).toEqual([])
}

async function speaksAgain(options: LoadOptions): Promise<void> {
  const engine = await openEngine([await goldenFile(GOLDEN)], options)
  expect(await engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).text()).toBe(goldenReply(GOLDEN).text)
  await engine.dispose()
  await everyWorkerEnds()
}

for (const { pool, threads, mostMs, dies } of POOLS) {
  const operations = OPERATIONS.filter(([name]) => dies === undefined || dies.some((one) => one === name))
  const options = { pool, threads, contextLength: 512 } as const
  describe(`${pool} of ${threads}`, () => {
    for (const victim of Array.from({ length: threads - 1 }, (_, index) => index)) {
      test.each(operations)(`worker ${victim + 1} dies in %s`, async (_, begin, ends) => {
        const engine = await openEngine([await goldenFile(GOLDEN)], options)
        expect(workers).toHaveLength(threads - 1)
        const session = engine.createSession()
        await session.send(GOLDEN_PROMPT, GOLDEN_OPTIONS).result
        const file = await session.save()
        const start = performance.now()
        const { done, underWay } = begin({ engine, session, file })
        const outcome = outcomeOf(done)
        await underWay
        await workers[victim]!.terminate()
        expect(ends).toContain(await outcome)
        expect(['internal', 'disposed']).toContain(await outcomeOf(session.send('b', LONG).result))
        expect(await outcomeOf(engine.complete('c').result)).toBe('disposed')
        expect(await outcomeOf(engine.dispose())).toBe('resolved')
        expect(performance.now() - start).toBeLessThan(mostMs)
        await everyWorkerEnds()
      })

      test.each(['its start', 'convert', 'warmup'] as const)(
        `worker ${victim + 1} dies in a load, at %s, and the next load succeeds`,
        async (when) => {
          let isDead = false
          const kill = () => {
            const worker = workers[victim]
            if (isDead || worker === undefined) return
            isDead = true
            void worker.terminate()
          }
          if (when === 'its start') onStart = kill
          const onProgress: LoadOptions['onProgress'] = ({ phase }) => void (phase === when && kill())
          const start = performance.now()
          const loading = openEngine([await goldenFile(GOLDEN)], { ...options, onProgress })
          const outcome = await outcomeOf(loading)
          // Threads on shared memory start only once the weights are loaded.
          if (isDead) expect(outcome).toBe('internal')
          else await (await loading).dispose()
          expect(performance.now() - start).toBeLessThan(mostMs)
          await everyWorkerEnds()
          onStart = () => undefined
          await speaksAgain(options)
        },
      )
    }
  })
}
