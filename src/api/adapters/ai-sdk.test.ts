// AI SDK. In: calls as the SDK makes them, a toy model. Out: results of the SDK's own types.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { afterEach, expect, expectTypeOf, test } from 'vitest'
import { localConnection } from '../../engine/connection.ts'
import { createService } from '../../engine/service.ts'
import { toyModel } from '../../engine/testing/toy-model.ts'
import { Engine } from '../engine.ts'
import { createHalfbyte, type LanguageModel, type StreamPart } from './ai-sdk.ts'

const engines: Engine[] = []
const toys: ReturnType<typeof toyModel>[] = []

async function openToy(): Promise<Engine> {
  const toy = toyModel()
  const engine = await Engine.open(localConnection(createService(async () => toy)), 'toy')
  engines.push(engine)
  toys.push(toy)
  return engine
}

afterEach(async () => {
  toys.length = 0
  for (const engine of engines.splice(0)) await engine.dispose()
})

const model = async (): Promise<LanguageModelV4> =>
  createHalfbyte({ engine: await openToy() }).languageModel('tiny')

const call = (text: string, more: Partial<LanguageModelV4CallOptions> = {}): LanguageModelV4CallOptions => ({
  prompt: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text }] },
  ],
  temperature: 0,
  ...more,
})

async function read(stream: ReadableStream<LanguageModelV4StreamPart>): Promise<LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

test('the types are those of the SDK', () => {
  expectTypeOf<LanguageModel>().toExtend<LanguageModelV4>()
  expectTypeOf<StreamPart>().toExtend<LanguageModelV4StreamPart>()
})

test('a call is answered, and counted as the SDK counts', async () => {
  const result = await (await model()).doGenerate(call('hello'))
  expect(result).toMatchObject({
    content: [{ type: 'text', text: 'You said hello' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    warnings: [],
    response: { modelId: 'toy' },
  })
  const { inputTokens, outputTokens } = result.usage
  expect(inputTokens.total).toBe(inputTokens.noCache! + inputTokens.cacheRead!)
  expect(outputTokens).toMatchObject({ total: 6, text: 6 })
})

test('a stream has its parts in the order of the interface', async () => {
  const { stream } = await (await model()).doStream(call('hello', { maxOutputTokens: 3 }))
  const parts = await read(stream)
  const types = parts.map(({ type }) => type)
  expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
    'stream-start',
    'response-metadata',
    'text-start',
    'text-delta',
    'text-end',
    'finish',
  ])
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('')
  expect(text).toBe('You said he')
  expect(parts.at(-1)).toMatchObject({ finishReason: { unified: 'length', raw: 'length' } })
})

test('a stream that is cancelled ends the work and frees the state', async () => {
  const { stream } = await (await model()).doStream(call('hello'))
  const reader = stream.getReader()
  while ((await reader.read()).value?.type !== 'text-delta');
  await reader.cancel()
  await expect.poll(() => toys[0]?.liveBytes()).toBe(0)
})

test('an engine that failed to load is loaded anew by the next call', async () => {
  let tries = 0
  const load = async () => {
    if (tries++ === 0) throw new Error('no network')
    return openToy()
  }
  const tiny = createHalfbyte({ engine: load }).languageModel()
  await expect(tiny.doGenerate(call('a'))).rejects.toThrow('no network')
  expect((await tiny.doGenerate(call('a'))).content).toEqual([{ type: 'text', text: 'You said a' }])
  await tiny.doGenerate(call('b'))
  expect(tries).toBe(2)
})

test('our own options come through providerOptions, and a wrong one is typed', async () => {
  const tiny = await model()
  await expect(
    tiny.doGenerate(call('a', { providerOptions: { halfbyte: { minP: 2 } } })),
  ).rejects.toMatchObject({ code: 'unsupported', detail: { name: 'minP' } })
})

test('an error of a running stream is a part of it', async () => {
  const file = { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: '' } }
  const { stream } = await (await model()).doStream({ prompt: [{ role: 'user', content: [file] }] })
  expect(await read(stream)).toMatchObject([{ type: 'error', error: { code: 'unsupported' } }])
})
