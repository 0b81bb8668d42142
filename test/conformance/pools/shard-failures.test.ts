// Failing shards. In: workers that die, aborts, disposed sessions. Out: typed errors, no hangs, and intact
// state.
import type { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import type { ComputePort } from '../../../src/core/runtime/host.ts'
import { ShardGroup } from '../../../src/core/runtime/shards/shard-group.ts'
import { buildModel } from '../../../src/engine/load/build-model.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { GOLDEN_CASES, GOLDEN_OPTIONS, GOLDEN_PROMPT, goldenFile } from '../testing/golden.ts'
import { openEngine } from '../testing/node-engine.ts'

const [F32] = GOLDEN_CASES
const file = () => goldenFile(F32!)
/** Drafts would change where a context is shifted, and therefore the text. */
const PLAIN = { ...GOLDEN_OPTIONS, speculation: 'off' } as const
const SHARDS = { pool: 'shards', threads: 2 } as const

/** A model on shards, and its workers. */
async function builtWith(start: (port: ComputePort) => ComputePort = (port) => port) {
  const host = nodeHost()
  const ports: ComputePort[] = []
  const startWorker = (): ComputePort => {
    const port = start(host.startWorker!())
    ports.push(port)
    return port
  }
  const prepared = await prepareModel(await openModel([blobSource('model', await file())]), {
    weights: 'auto',
  })
  const hooks = { signal: new AbortController().signal, onProgress: () => undefined }
  const built = await buildModel(
    prepared,
    { ...SHARDS, build: 'auto', host: { ...host, startWorker } },
    hooks,
  )
  return { built, ports }
}

const disposals: (() => void)[] = []
afterEach(() => {
  for (const dispose of disposals.splice(0)) dispose()
})

const forward = (built: Awaited<ReturnType<typeof buildModel>>, count: number, signal?: AbortSignal) => {
  const sequence = built.newSequence()
  sequence.setTokens(Array.from({ length: count }, (_, index) => 3 + (index % 200)))
  return built.scheduler.forward({ sequence, logits: 'last', onLogits: () => undefined, signal })
}

describe('shards', () => {
  test('reject running calls with internal when a worker dies, and later calls with disposed', async () => {
    const { built, ports } = await builtWith()
    disposals.push(() => void built.dispose())
    await forward(built, 40)
    const running = forward(built, 500)
    // The worker throws when it gets an invalid message.
    ports[0]!.postMessage({ type: 'weights', slot: 9999, offset: 0, bytes: new Uint8Array(4) })
    await expect(running).rejects.toMatchObject({ code: 'internal' })
    await expect(forward(built, 4)).rejects.toMatchObject({ code: 'disposed' })
  })

  test('fail the load with internal when a worker cannot be started', async () => {
    const broken = (port: ComputePort): ComputePort => ({
      ...port,
      onError: (listener) => queueMicrotask(() => listener(new Error('no such script'))),
      postMessage: () => undefined,
    })
    const ended: ComputePort[] = []
    await expect(
      builtWith((port) => {
        ended.push(port)
        return broken(port)
      }),
    ).rejects.toMatchObject({ code: 'internal', message: expect.stringContaining('no such script') })
    for (const port of ended) port.terminate()
  })

  test('fail the load with internal when a worker dies while weights are distributed', async () => {
    let weights = 0
    const dying = (port: ComputePort): ComputePort => ({
      ...port,
      postMessage: (message, transfer) => {
        if (message.type === 'weights' && ++weights === 5) port.terminate()
        port.postMessage(message, transfer)
      },
    })
    await expect(builtWith(dying)).rejects.toMatchObject({ code: 'internal' })
    expect(weights).toBe(5)
    const { built } = await builtWith()
    await forward(built, 4)
    await built.dispose()
  })

  test.each([
    ['does not report its end', () => undefined],
    ['reports its end', undefined],
  ])('fail with internal when one dies while rows are exchanged and %s', async (_, onError) => {
    const host = nodeHost()
    const ports: ComputePort[] = []
    const startWorker = () => {
      const port = host.startWorker!()
      ports.push(port)
      return onError === undefined ? port : { ...port, onError }
    }
    const module = await host.loadModule('simd128', 'plain')
    const watching: Worker[] = []
    const watch = (worker: Worker) => void watching.push(worker)
    process.on('worker', watch)
    const group = await ShardGroup.start(3, { module, startWorker, timeoutMs: 3000 })
    process.off('worker', watch)
    disposals.push(() => group.dispose())
    await group.meet(3, 64, () => performance.now())
    const meeting = group.meet(3, 64, () => performance.now())
    void watching[1]!.terminate()
    await expect(meeting).rejects.toMatchObject({ code: 'internal' })
    // Calls made after the death but before it is noticed fail in the same way.
    await expect(group.measure(2, 1)).rejects.toMatchObject({ code: 'internal' })
  })

  test('report both numbers if one has too little memory, during a load or a step', async () => {
    const neededBytes = expect.any(Number)
    const noRoom = { code: 'out-of-memory', detail: { neededBytes, grantedBytes: 2 ** 32 } }
    const large = (port: ComputePort): ComputePort => ({
      ...port,
      postMessage: (message, transfer) =>
        port.postMessage(
          message.type === 'plan' ? { ...message, plan: { ...message.plan, arenaBytes: 2 ** 32 } } : message,
          transfer,
        ),
    })
    await expect(builtWith(large)).rejects.toMatchObject(noRoom)
    // A block of keys and values that takes the whole memory limit.
    const greedy = (port: ComputePort): ComputePort => ({
      ...port,
      postMessage: (message, transfer) => {
        if (message.type !== 'plan') return port.postMessage(message, transfer)
        const { plan } = message
        const pools = plan.pools.map((pool) => ({ ...pool, bytes: 2 ** 32 }))
        port.postMessage({ ...message, plan: { ...plan, pools } }, transfer)
      },
    })
    await expect(builtWith(greedy)).rejects.toMatchObject(noRoom)
  })

  test('reject an aborted forward with its reason and continue', async () => {
    const { built } = await builtWith()
    disposals.push(() => void built.dispose())
    const abort = new AbortController()
    const running = forward(built, 500, abort.signal)
    abort.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    await forward(built, 10)
  })

  test('reject running calls with disposed when the model is unloaded', async () => {
    const { built } = await builtWith()
    const running = forward(built, 500)
    await new Promise((resolve) => setImmediate(resolve))
    await built.dispose()
    await expect(running).rejects.toMatchObject({ code: 'disposed' })
  })

  test('fork, continue, and drop their oldest tokens like one thread', async () => {
    const talk = async (options: Parameters<typeof openEngine>[1]) => {
      await using engine = await openEngine([await file()], { ...options, contextLength: 160 })
      const session = engine.createSession({ overflow: 'shift' })
      const texts = [await session.send(GOLDEN_PROMPT, PLAIN).text()]
      const fork = await session.fork()
      texts.push(await session.send('and then', PLAIN).text())
      texts.push(await fork.send('or else', PLAIN).text())
      texts.push(await session.send('at last', PLAIN).text())
      return texts
    }
    expect(await talk(SHARDS)).toEqual(await talk({ threads: 1 }))
  })
})
