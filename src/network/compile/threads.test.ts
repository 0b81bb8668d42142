// Threads. In: random graphs, and an encoder in f32 and 8 bits. Out: whether two and three threads give the
// same bits as one, and what happens after errors.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { bertBytes } from '../../../lab/bench/graphs/bert.ts'
import { Random } from '../../../test/helpers/random.ts'
import { bufferSource } from '../../core/base/bytes.ts'
import type { StepFunction } from '../../core/runtime/functions/step-list.ts'
import type { ComputePort, WorkerReply, WorkerRequest } from '../../core/runtime/host.ts'
import { nodeHost } from '../../tools/cli/node-host.ts'
import type { Graph } from '../onnx/ir/graph.ts'
import { type Tensor, tensorOf } from '../onnx/ir/tensor.ts'
import { readModel } from '../onnx/read-model.ts'
import { CompiledGraph, type CompileOptions } from './compiled-graph.ts'
import { PARAMETERS } from './emit/emit.ts'
import { codesOfMeans, randomNetwork } from './testing/random-codes.ts'
import { randomGraph } from './testing/random-graph.ts'
import { randomDynamicNetwork, randomRows } from './testing/random-sums.ts'

/** HALFBYTE_SEED draws different graphs, HALFBYTE_GRAPHS draws more of them. */
const SEED = Number(process.env['HALFBYTE_SEED'] ?? 21)
const GRAPHS = Number(process.env['HALFBYTE_GRAPHS'] ?? 8)
const SHAPE = { layers: 2, hidden: 96, heads: 4, intermediate: 160, vocabulary: 50, positions: 64 }

const host = nodeHost()

function open(
  graph: Graph,
  threads: number,
  weights: CompileOptions['weights'] = 'f32',
  start = host.startWorker!,
  leastSteps?: number,
  waitMs?: number,
): CompiledGraph {
  return new CompiledGraph(graph, {
    fuse: true,
    weights,
    loadKernels: () => host.loadModule('relaxed', threads > 1 ? 'shared' : 'plain'),
    workers: threads > 1 ? { threads, start, leastSteps, waitMs } : undefined,
  })
}

const ids = (dims: readonly number[], below: number) =>
  tensorOf(
    'i64',
    dims,
    Float64Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, at) => (at * 13) % below),
  )

const feedsOf = (batch: number, tokens: number, vocabulary: number): ReadonlyMap<string, Tensor> =>
  new Map([
    ['input_ids', ids([batch, tokens], vocabulary)],
    ['attention_mask', tensorOf('i64', [batch, tokens], new Float64Array(batch * tokens).fill(1))],
    ['token_type_ids', ids([batch, tokens], 2)],
  ])

const encoder = async () => (await readModel(bufferSource('bert.onnx', bertBytes(SHAPE)))).graph

test.each([2, 3])(
  `%d threads compute random graphs as one thread does (seed ${SEED}, ${GRAPHS} graphs)`,
  {
    timeout: 3_600_000,
  },
  async (threads) => {
    for (let index = 0; index < GRAPHS; index++) {
      const { graph, feeds } = randomGraph(SEED, index)
      const alone = open(graph, 1)
      const wanted = await alone.run(feeds)
      // All steps shared, only long ones, and about half of them.
      for (const leastSteps of [0, undefined, 400]) {
        const together = open(graph, threads, 'f32', host.startWorker!, leastSteps)
        for (let run = 0; run < 2; run++) expect(await together.run(feeds)).toEqual(wanted)
        expect(together.machine.threads).toBe(threads)
        together.dispose()
      }
    }
  },
)

test.each(['f32', 'w8', 'w4'] as const)(
  'two threads compute an encoder in %s as one thread does',
  async (weights) => {
    const graph = await encoder()
    const alone = open(graph, 1, weights)
    const together = open(graph, 2, weights)
    // Several lengths, so that memory grows and programs change between runs.
    for (const [batch, tokens] of [
      [1, 3],
      [2, 40],
      [1, 3],
      [3, 17],
    ] as const) {
      const feeds = feedsOf(batch, tokens, SHAPE.vocabulary)
      const wanted = await alone.run(feeds)
      for (let again = 0; again < 3; again++) expect(await together.run(feeds)).toEqual(wanted)
    }
    together.dispose()
  },
)

test('two threads compute networks of codes as one thread does', async () => {
  const x = tensorOf(
    'f32',
    [1, 3, 9, 9],
    Float32Array.from({ length: 243 }, (_, at) => Math.sin(at)),
  )
  const given = Array.from({ length: GRAPHS }, (_, index) => [
    { graph: randomNetwork(new Random(SEED, index)).graph, feeds: new Map([['x', x]]) },
    randomDynamicNetwork(new Random(SEED, index)),
    randomRows(new Random(SEED, index)),
  ]).flat()
  for (const { graph, feeds } of given) {
    const wanted = await open(graph, 1, 'auto').run(feeds)
    const together = open(graph, 2, 'auto', host.startWorker!, 0)
    for (let run = 0; run < 3; run++) expect(await together.run(feeds)).toEqual(wanted)
    together.dispose()
  }
})

test('the units of a step may be computed in any order', async () => {
  const floats = (count: number) => Float32Array.from({ length: count }, (_, at) => Math.sin(at))
  const given = [
    { graph: codesOfMeans(37), x: tensorOf('f32', [1, 37, 5], floats(185)) },
    ...Array.from({ length: GRAPHS }, (_, index) => ({
      graph: randomNetwork(new Random(SEED, index)).graph,
      x: tensorOf('f32', [1, 3, 9, 9], floats(243)),
    })),
  ]
  for (const { graph, x } of given) {
    const feeds = new Map([['x', x]])
    const wanted = await open(graph, 1).run(feeds)
    const found = await backwards(() => open(graph, 1).run(feeds))
    expect(found).toEqual(wanted)
  }
})

/** Runs `act` with compiled functions that compute their units one by one, the last one first. */
async function backwards<T>(act: () => Promise<T>): Promise<T> {
  const Own = WebAssembly.Instance
  WebAssembly.Instance = new Proxy(Own, {
    construct(_, args: ConstructorParameters<typeof Own>) {
      const { exports } = new Own(...args)
      const turned = Object.entries(exports as Record<string, StepFunction>).map(([name, run]) => [
        name,
        (record: number, first: number, last: number) => {
          for (let unit = last - 1; unit >= first; unit--) run(record, unit, unit + 1)
        },
      ])
      // Functions that lay constants out have other parameters.
      const isOfSteps = Object.values(exports).every((run) => (run as StepFunction).length === PARAMETERS)
      return { exports: isOfSteps ? Object.fromEntries(turned) : exports }
    },
  })
  try {
    return await act()
  } finally {
    WebAssembly.Instance = Own
  }
}

test('an id outside its table causes an error on any thread, and the next run gives the right result', async () => {
  const graph = await encoder()
  const alone = open(graph, 1)
  const together = open(graph, 2)
  const wrong = feedsOf(2, 30, SHAPE.vocabulary + 7)
  await expect(together.run(wrong)).rejects.toMatchObject({ code: 'format' })
  const right = feedsOf(2, 30, SHAPE.vocabulary)
  expect(await together.run(right)).toEqual(await alone.run(right))
  together.dispose()
  await expect(together.run(right)).rejects.toMatchObject({ code: 'disposed' })
})

/** Longer than this test file may take: workers return to their messages only if they must. */
const EVER_MS = 1e9

/** A compute worker, and the requests that it was sent. */
function startObserved() {
  const worker = new Worker(new URL('../../tools/cli/compute-worker.ts', import.meta.url))
  const requests: WorkerRequest['type'][] = []
  const port: ComputePort = {
    postMessage(request) {
      requests.push(request.type)
      worker.postMessage(request)
    },
    onMessage: (listener) => void worker.on('message', (reply: WorkerReply) => listener(reply)),
    onError: (listener) => void worker.on('exit', (code) => listener(new Error(`it ended with ${code}`))),
    terminate: () => void worker.terminate(),
  }
  return { worker, requests, port }
}

test('workers that wait for the next run get it without a message, and new functions with one', async () => {
  const graph = await encoder()
  const alone = open(graph, 1)
  const observed = startObserved()
  const together = open(graph, 2, 'f32', () => observed.port, 0, EVER_MS)
  // A text of one token has other loops than longer ones.
  for (const tokens of [5, 1]) {
    const feeds = feedsOf(2, tokens, SHAPE.vocabulary)
    const wanted = await alone.run(feeds)
    for (let run = 0; run < 20; run++) expect(await together.run(feeds)).toEqual(wanted)
  }
  const sent = (wanted: string) => observed.requests.filter((type) => type === wanted).length
  expect(sent('steps')).toBe(1)
  expect(sent('code')).toBe(2)
  // An abort leaves the worker as it is.
  const feeds = feedsOf(2, 5, SHAPE.vocabulary)
  const reason = new Error('no longer wanted')
  await expect(together.run(feeds, AbortSignal.abort(reason))).rejects.toBe(reason)
  expect(await together.run(feeds)).toEqual(await alone.run(feeds))
  const ended = once(observed.worker, 'exit')
  together.dispose()
  await ended
})

test('workers that do not wait are sent a message for each run', async () => {
  const graph = await encoder()
  const feeds = feedsOf(2, 5, SHAPE.vocabulary)
  const wanted = await open(graph, 1).run(feeds)
  const observed = startObserved()
  const together = open(graph, 2, 'f32', () => observed.port, 0, 0)
  const sent = () => observed.requests.filter((type) => type === 'steps').length
  for (let last = 0; last < 3; last = sent()) {
    // A worker that is still at the last run needs no message.
    while (sent() === last) expect(await together.run(feeds)).toEqual(wanted)
  }
  together.dispose()
})

test('a worker that dies while it waits ends the threads', async () => {
  const graph = await encoder()
  const feeds = feedsOf(2, 5, SHAPE.vocabulary)
  const { worker, port } = startObserved()
  const together = open(graph, 2, 'f32', () => port, 0, EVER_MS)
  await together.run(feeds)
  await worker.terminate()
  await expect(together.run(feeds)).rejects.toMatchObject({ code: 'internal' })
  await expect(together.run(feeds)).rejects.toMatchObject({ code: 'disposed' })
})

test('a worker that does not start rejects the run, and one that dies ends the threads', async () => {
  const graph = await encoder()
  const feeds = feedsOf(1, 5, SHAPE.vocabulary)
  const broken = open(graph, 2, 'f32', () => {
    const port = host.startWorker!()
    return { ...port, postMessage: () => port.postMessage({ type: 'code', code: undefined as never }) }
  })
  await expect(broken.run(feeds)).rejects.toMatchObject({ code: 'internal' })
  const ports: ComputePort[] = []
  const start = () => {
    ports.push(host.startWorker!())
    return ports.at(-1)!
  }
  const dying = open(graph, 2, 'f32', start, undefined, 0)
  await dying.run(feeds)
  ports[0]!.postMessage({ type: 'code', code: undefined as never })
  // No run waits for a dead worker, so runs succeed until its error arrives.
  const runOn = async () => {
    for (;;) {
      await dying.run(feeds)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await expect(runOn()).rejects.toMatchObject({ code: 'internal' })
  dying.dispose()
})
