// Engines. In: a toy model behind the real service, wire and client, in one thread. Out: loading, disposal
// and errors as callers see them.
import { describe, expect, expectTypeOf, test } from 'vitest'
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import type { GenerationResult, LoadProgress, Message, SaidMessage, Session, TextChunk } from '../../index.ts'
import type { ModelLoader } from '../load/loaded-model.ts'
import { createService } from '../service.ts'
import { DEAD_POOL, NAN_LOGITS, toyModel } from '../testing/toy-model.ts'
import { localConnection } from '../wire/connection.ts'
import { Engine } from './engine.ts'
import { connectToy, errorOf, GREEDY, openToy } from './testing/toy-engine.ts'

describe('errors', () => {
  test('keep class, code and detail across threads', async () => {
    const session = (await openToy(toyModel({ contextLength: 64 }))).createSession()
    const error = await errorOf(session.send('x'.repeat(100), GREEDY).result)
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code: 'context-overflow', detail: { needed: 119, contextLength: 64 } })
    expect(session.messages).toEqual([])
  })

  test('from a call keep class, code and detail too', async () => {
    const engine = await openToy()
    const role = 'critic' as 'user'
    const error = await errorOf(engine.countTokens([{ role, content: '' }]))
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code: 'unsupported' })
  })

  test('about NaN logits end only one generation', async () => {
    const session = (await openToy()).createSession()
    expect(await errorOf(session.send(`a${NAN_LOGITS}`, GREEDY).result)).toMatchObject({ code: 'integrity' })
    expect(await session.send('b', GREEDY).text()).toBe('You said b')
  })

  test('about a dead pool end everything that runs', async () => {
    const engine = await openToy()
    const other = engine.complete('a', GREEDY)
    for await (const _ of other) {
      const fatal = engine.createSession().send(DEAD_POOL, GREEDY)
      expect(await errorOf(fatal.result)).toMatchObject({ code: 'internal' })
      break
    }
    expect(await errorOf(engine.complete('b', GREEDY).result)).toMatchObject({ code: 'disposed' })
  })

  test.each<[object, RegExp]>([
    [{ topP: 2 }, /topP is 2/],
    [{ maxTokens: 0 }, /maxTokens is 0/],
    [{ stop: [''] }, /a string in stop is "" but must be a non-empty string/],
    [{ stop: 'END' as never }, /stop is "END" but must be a list/],
    [{ stop: [3] as never }, /a string in stop is 3/],
    [{ stop: null as never }, /stop is null/],
    [
      { priority: ['foreground'] as never },
      /priority is \["foreground"\] but must be foreground or background/,
    ],
    [{ negativePrompt: 3 as never }, /negativePrompt is 3 but must be a text/],
    [{ choices: 'yes' as never }, /choices is "yes" but must be a list of strings/],
    [{ pattern: /a+/i }, /pattern is "\/a\+\/i" but must be a regular expression without the flags/],
    [{ pattern: 7 as never }, /pattern is 7 but must be a text/],
    [{ schema: { check() {} } }, /only accepts plain data: .*check/],
    [{ colour: 1 }, /colour is not one of the options/],
  ])('name what is wrong with %o', async (options, message) => {
    const error = await errorOf((await openToy()).complete('a', options).result)
    expect(error).toMatchObject({ code: 'unsupported', message: expect.stringMatching(message) })
  })
})

describe('a load', () => {
  const load = (loader: ModelLoader, options = {}) =>
    Engine.open(localConnection(createService(loader)), 'toy', options)

  test('reports progress and what was loaded', async () => {
    const seen: LoadProgress[] = []
    const toy = toyModel()
    const engine = await load(
      async (_, { onProgress }) => {
        onProgress({ phase: 'download', loaded: 1, total: 2, cached: false })
        onProgress({ phase: 'warmup' })
        return toy
      },
      { onProgress: (progress: LoadProgress) => seen.push(progress) },
    )
    expect(seen.map(({ phase }) => phase)).toEqual(['download', 'warmup'])
    expect(engine).toMatchObject({ model: { id: 'toy' }, threads: 1, build: 'simd128' })
    expect(await engine.memory()).toEqual(toy.memory())
    await engine.dispose()
    expect(toy.isDisposed()).toBe(true)
  })

  test('that fails rejects with the typed error', async () => {
    const error = await errorOf(
      load(async () => {
        throw new HalfbyteError('architecture', 'what is gpt-9?', { architecture: 'gpt-9' })
      }),
    )
    expect(error).toBeInstanceOf(HalfbyteError)
    expect(error).toMatchObject({ code: 'architecture', detail: { architecture: 'gpt-9' } })
  })

  test('that is aborted rejects with the reason and reaches the loader', async () => {
    const controller = new AbortController()
    let seen: Promise<unknown> | undefined
    const loading = load(
      (_, { signal }) => {
        const loaded = new Promise<never>((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        })
        seen = loaded.catch((reason: unknown) => reason)
        controller.abort('stop')
        return loaded
      },
      { signal: controller.signal },
    )
    await expect(loading).rejects.toBe('stop')
    expect(await seen).toMatchObject({ name: 'AbortError' })
  })

  test('passes on a DOMException as a DOMException', async () => {
    const error = await errorOf(
      load(async () => {
        throw new DOMException('gone', 'NotFoundError')
      }),
    )
    expect(error).toBeInstanceOf(DOMException)
    expect(error).toMatchObject({ name: 'NotFoundError', message: 'gone' })
  })

  test.each([{ threads: 0 }, { contextLength: 1.5 }])('refuses %o', async (options) => {
    expect(await errorOf(load(async () => toyModel(), options))).toMatchObject({ code: 'unsupported' })
  })
})

describe('the end of an engine', () => {
  test('by dispose rejects pending and later calls with disposed', async () => {
    const toy = toyModel()
    const engine = await openToy(toy)
    const session = engine.createSession()
    const running = session.send('x'.repeat(500), GREEDY)
    for await (const _ of running) {
      await engine.dispose()
      break
    }
    expect(await errorOf(running.result)).toMatchObject({ code: 'disposed' })
    for (const later of [
      engine.memory(),
      engine.countTokens('a'),
      session.send('b').result,
      session.fork(),
    ]) {
      expect(await errorOf(later)).toMatchObject({ code: 'disposed' })
    }
    expect(toy.isDisposed()).toBe(true)
    await session.dispose()
    await engine.dispose()
  })

  test('by the death of its worker rejects pending calls with internal, later ones with disposed', async () => {
    const { engine, connection } = await connectToy()
    const running = engine.complete('a', GREEDY)
    for await (const _ of running) break
    const session = engine.createSession()
    const stuck = session.send('x'.repeat(500), GREEDY)
    for await (const _ of stuck) {
      const counted = engine.countTokens('abc')
      const waiting = session.send('b', GREEDY).result
      connection.close()
      expect(await errorOf(counted)).toMatchObject({ code: 'internal' })
      expect(await errorOf(waiting)).toMatchObject({ code: 'internal' })
      break
    }
    expect(await errorOf(stuck.result)).toMatchObject({ code: 'internal' })
    const later = await errorOf(engine.memory())
    expect(isHalfbyteError(later) && later.code).toBe('disposed')
  })
})

test('the public types match the tests above', () => {
  expectTypeOf<Engine>().toExtend<AsyncDisposable>()
  expectTypeOf<Session>().toExtend<AsyncDisposable>()
  expectTypeOf<ReturnType<Engine['complete']>>().toExtend<AsyncIterable<TextChunk>>()
  expectTypeOf<GenerationResult['finishReason']>().toEqualTypeOf<'stop' | 'length' | 'cancelled'>()
  expectTypeOf<Parameters<Session['send']>[0]>().toEqualTypeOf<
    string | SaidMessage | readonly SaidMessage[]
  >()
  expectTypeOf<Session['messages']>().toEqualTypeOf<readonly Message[]>()
  expectTypeOf<HalfbyteError['code']>().not.toEqualTypeOf<string>()
  expectTypeOf(Engine.load)
    .parameter(0)
    .toExtend<string | URL | Blob | ArrayBuffer | Uint8Array | readonly File[] | { repo: string }>()
})
