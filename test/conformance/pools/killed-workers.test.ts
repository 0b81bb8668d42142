// Killed workers. In: each pool, with each of its workers killed during each operation of an engine. Out:
// typed errors, without waiting for a timer if the pool learns of the worker's end, no leftover workers, and
// a next load that works.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { Generation, LoadOptions, Session } from '../../../src/engine/api/types.ts'
import { byteTokenizer } from '../onnx/byte-tokenizer.ts'
import { GOLDEN, GOLDEN_OPTIONS, GOLDEN_PROMPT, goldenFile, goldenReply } from '../testing/golden.ts'
import { ggufFile, safetensorsFiles } from '../testing/model-files.ts'
import { openEngine } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'
import { peftFiles, randomLora } from '../testing/writers/lora-files.ts'

const LLAMA = randomLlama({ seed: 12, headDim: 32 })
const LORA = randomLora(LLAMA.weights, /proj\.weight$/, 4, 5)
const EXPORT = join(import.meta.dirname, '../onnx/exports/mamba-channels/model.onnx')
const BYTES = byteTokenizer(96)

/**
 * The pool notices a shard's end at once, but the end of a thread in the middle of a step only after the
 * barrier's timeout of 20 s, so for threads only one operation with steps is tested.
 */
const POOLS = [
  { pool: 'shared', threads: 2, hears: false, dies: ['answer', 'fork', 'idle time'] },
  { pool: 'shards', threads: 3, hears: true, dies: undefined },
] as const

/** Timers of this length or more are for workers whose end is not reported. */
const LONG_MS = 5000
const timer = globalThis.setTimeout

/** Disables long timers from now on, so every rejection comes from a notification. */
function withoutLongTimers(): void {
  const short = (run: () => void, ms = 0) => (ms < LONG_MS ? timer(run, ms) : timer(run, 2 ** 31 - 1).unref())
  vi.stubGlobal('setTimeout', short)
}

/** Running workers of this process, in starting order. */
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
  vi.unstubAllGlobals()
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
  /** Resolves when the worker is to die. Default: at once. */
  readonly underWay?: Promise<unknown>
}

const LONG = { ...GOLDEN_OPTIONS, maxTokens: 5000, speculation: 'off' } as const

const answer = ({ session }: Talk): Work => reading(session.send('and then', LONG))

/** The worker dies after the third chunk. */
function reading(running: Generation): Work {
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
  [
    'an edit',
    ({ session }) => ({ done: session.edit(0, `why ${'b '.repeat(150)}`, LONG).result }),
    ['internal'],
  ],
  [
    'a second answer from its beginning',
    ({ session }) => reading(session.regenerate({ ...LONG, prefix: 'and then' })),
    ['internal'],
  ],
  [
    'a constrained reply',
    ({ session }) => reading(session.send('and then', { ...LONG, pattern: '[a-z ]{400,900}' })),
    ['internal'],
  ],
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

for (const { pool, threads, hears, dies } of POOLS) {
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
        if (hears) withoutLongTimers()
        const { done, underWay } = begin({ engine, session, file })
        const outcome = outcomeOf(done)
        await underWay
        await workers[victim]!.terminate()
        expect(ends).toContain(await outcome)
        expect(['internal', 'disposed']).toContain(await outcomeOf(session.send('b', LONG).result))
        expect(await outcomeOf(engine.complete('c').result)).toBe('disposed')
        expect(await outcomeOf(engine.dispose())).toBe('resolved')
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
          if (hears) withoutLongTimers()
          const loading = openEngine([await goldenFile(GOLDEN)], { ...options, onProgress })
          const outcome = await outcomeOf(loading)
          // Threads on shared memory start only once the weights are loaded.
          if (isDead) expect(outcome).toBe('internal')
          else await (await loading).dispose()
          await everyWorkerEnds()
          vi.unstubAllGlobals()
          onStart = () => undefined
          await speaksAgain(options)
        },
      )
    }
  })
}

/** Other files that a load may read, each with its own format. */
const LOADS: readonly (readonly [string, () => Promise<{ files: File[]; lora?: LoadOptions['lora'] }>])[] = [
  ['safetensors', async () => ({ files: safetensorsFiles(LLAMA) })],
  [
    'an export with recurrent layers',
    async () => ({
      files: [
        new File([await readFile(EXPORT)], 'model.onnx'),
        new File([(await BYTES.read(0, BYTES.size)) as BlobPart], 'tokenizer.json'),
      ],
    }),
  ],
  [
    'a model with two adapters',
    async () => ({
      files: [await ggufFile(LLAMA)],
      lora: [1, -0.5].map((scale) => ({ source: peftFiles(LORA), scale })),
    }),
  ],
]

describe('shards of 2', () => {
  test.each(LOADS)('a worker dies in the load of %s, and the next load succeeds', async (_, open) => {
    const { files, lora } = await open()
    const options = { pool: 'shards', threads: 2, contextLength: 256, lora } as const
    let isDead = false
    const onProgress: LoadOptions['onProgress'] = ({ phase }) => {
      if (isDead || phase !== 'convert') return
      isDead = true
      void workers[0]?.terminate()
    }
    expect(await outcomeOf(openEngine(files, { ...options, onProgress }))).toBe('internal')
    expect(isDead).toBe(true)
    await everyWorkerEnds()
    const engine = await openEngine(files, options)
    expect(engine.pool).toBe('shards')
    expect((await engine.complete('THE SEA', { temperature: 0, maxTokens: 4 }).result).tokens).toHaveLength(4)
    await engine.dispose()
    await everyWorkerEnds()
  })
})
