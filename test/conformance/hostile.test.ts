// Hostile input, end to end. In: files that are damaged, inconsistent or of the wrong kind. Out: a typed
// error, and an engine that loads the next model.
import { beforeAll, describe, expect, test } from 'vitest'
import { type ByteSource, bufferSource } from '../../src/core/base/bytes.ts'
import { HalfbyteError } from '../../src/core/base/errors.ts'
import { Engine } from '../../src/engine/api/engine.ts'
import { loadModel } from '../../src/engine/load/load-model.ts'
import { createService } from '../../src/engine/service.ts'
import { localConnection } from '../../src/engine/wire/connection.ts'
import { nodeHost } from '../../src/tools/cli/node-host.ts'
import { turns } from '../helpers/turns.ts'
import { ggufFile } from './testing/model-files.ts'
import { nodeService, openEngine } from './testing/node-engine.ts'
import { randomLlama } from './testing/random-llama.ts'
import { HOSTILE_MODELS } from './testing/writers/hostile-files.ts'

let good: File
beforeAll(async () => {
  good = await ggufFile(randomLlama({ seed: 9, speaks: true }))
})

async function saysSomething(service: ReturnType<typeof nodeService>): Promise<void> {
  await using engine = await openEngine([good], {}, service)
  const { text } = await engine.complete('hello', { temperature: 0, maxTokens: 5 }).result
  expect(text).toMatch(/^[a-z ]+$/)
}

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('the file was loaded'),
    (error: unknown) => error,
  )

test.each(HOSTILE_MODELS)(
  '$title is rejected as $code, and the next model loads',
  async ({ code, says, files }) => {
    const service = nodeService()
    const given = await files()
    const error = await errorOf(openEngine(given, {}, service))
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) })
    await saysSomething(service)
  },
)

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  'weights that are %s end each answer with an integrity error that names the file',
  async (value) => {
    const model = randomLlama({ seed: 9 })
    model.weights.get('model.norm.weight')?.values.fill(value)
    const service = nodeService()
    const engine = await openEngine([await ggufFile(model)], {}, service)
    for (const text of ['hello', 'world']) {
      expect(await errorOf(engine.complete(text, { maxTokens: 3 }).result)).toMatchObject({
        code: 'integrity',
        message: expect.stringMatching(/^\S.*: the logit of id \d+ is (NaN|Infinity).*download it again$/),
      })
    }
    expect(await errorOf(engine.embed(['a']))).toMatchObject({ code: 'integrity' })
    expect(await errorOf(engine.score('a', ['b']))).toMatchObject({ code: 'integrity' })
    await engine.dispose()
    await saysSomething(service)
  },
)

describe('an aborted load', () => {
  test('rejects with the reason before anything is read', async () => {
    const reason = new Error('changed my mind')
    const service = nodeService()
    const error = await errorOf(openEngine([good], { signal: AbortSignal.abort(reason) }, service))
    expect(error).toBe(reason)
    await saysSomething(service)
  })

  test('rejects with the reason while reading weights, stops reading and closes its files', async () => {
    const bytes = new Uint8Array(await good.arrayBuffer())
    const controller = new AbortController()
    const reason = { because: 'the tab was closed' }
    let reads = 0
    let closed: () => void
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve
    })
    // A source that ignores the signal, so the loader must stop by itself.
    const source: ByteSource = {
      ...bufferSource('random.gguf', bytes),
      async read(offset, length) {
        const whole = bufferSource('random.gguf', bytes)
        if (offset > bytes.length / 2) {
          reads += 1
          controller.abort(reason)
          await turns(50)
        }
        return whole.read(offset, length)
      },
    }
    let loading: Promise<unknown> | undefined
    const service = createService((request, hooks) => {
      const load = loadModel(request, hooks, nodeHost(), async () => ({
        sources: [source],
        close: async () => closed(),
      }))
      loading = load
      return load
    })
    const options = { threads: 1, signal: controller.signal }
    const error = await errorOf(Engine.open(localConnection(service), 'random', options))
    expect(error).toBe(reason)
    await isClosed
    expect(await errorOf(loading as Promise<unknown>)).toMatchObject({ name: 'AbortError' })
    // The read in progress and one read ahead.
    expect(reads).toBeLessThanOrEqual(2)
  })
})
