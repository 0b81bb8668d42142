// AI SDK. In: the SDK's calls, a toy model. Out: results of the SDK's own types.
import type {
  EmbeddingModelV4,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultPart,
  RerankingModelV4,
} from '@ai-sdk/provider'
import * as provider4 from '@ai-sdk/provider'
import type { EmbeddingModelV2, LanguageModelV2, ProviderV2 } from 'ai-sdk-provider-2'
import * as provider2 from 'ai-sdk-provider-2'
import type { EmbeddingModelV3, LanguageModelV3, RerankingModelV3 } from 'ai-sdk-provider-3'
import * as provider3 from 'ai-sdk-provider-3'
import { expect, expectTypeOf, test } from 'vitest'
import { reasoningFormOf } from '../core/text/chat/reasoning.ts'
import type { Embedder } from '../encoders/embedder/embedder.ts'
import { openEncoder } from '../engine/api/testing/toy-embedder.ts'
import { errorOf, openToy } from '../engine/api/testing/toy-engine.ts'
import { toyModel } from '../engine/testing/toy-model.ts'
import {
  type CallOptions,
  createHalfbyte,
  type EmbeddingModel,
  type EmbeddingModel5,
  type EmbeddingModel6,
  type HalfbyteProvider5,
  type LanguageModel,
  type LanguageModel5,
  type LanguageModel6,
  type RerankingModel,
  type RerankingModel6,
  type StreamPart,
} from './ai-sdk.ts'
import { callRequest } from './ai-sdk-request.ts'

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

test('the types match the SDK’s', () => {
  expectTypeOf<LanguageModel>().toExtend<LanguageModelV4>()
  expectTypeOf<EmbeddingModel>().toExtend<EmbeddingModelV4>()
  expectTypeOf<RerankingModel>().toExtend<RerankingModelV4>()
  expectTypeOf<LanguageModelV4CallOptions>().toExtend<CallOptions>()
  expectTypeOf<StreamPart>().toExtend<LanguageModelV4StreamPart>()
})

test('the types for earlier versions match their SDK’s', () => {
  expectTypeOf<LanguageModel6>().toExtend<LanguageModelV3>()
  expectTypeOf<EmbeddingModel6>().toExtend<EmbeddingModelV3>()
  expectTypeOf<RerankingModel6>().toExtend<RerankingModelV3>()
  expectTypeOf<LanguageModel5>().toExtend<LanguageModelV2>()
  expectTypeOf<EmbeddingModel5>().toExtend<EmbeddingModelV2<string>>()
  expectTypeOf<Pick<HalfbyteProvider5, 'languageModel' | 'textEmbeddingModel'>>().toExtend<
    Pick<ProviderV2, 'languageModel' | 'textEmbeddingModel'>
  >()
})

test('version 5 has its own form of usage and warnings, and version 6 has that of version 7', async () => {
  const engine = await openToy()
  const foreign = { type: 'provider-defined' as const, id: 'other.search' as const, name: 'search', args: {} }
  const asked = { ...call('hello'), tools: [foreign] } as CallOptions
  const five = createHalfbyte({ engine, sdk: 5 }).languageModel()
  const answer = await five.doGenerate(asked)
  const { inputTokens, outputTokens, totalTokens } = answer.usage
  expect(answer).toMatchObject({
    finishReason: 'stop',
    warnings: [{ type: 'other', message: 'tool search is not supported' }],
  })
  expect(totalTokens).toBe((inputTokens ?? 0) + (outputTokens ?? 0))
  const parts: { type: string }[] = []
  for await (const part of (await five.doStream(asked)).stream) parts.push(part)
  expect(parts[0]).toEqual({ type: 'stream-start', warnings: answer.warnings })
  expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop', usage: { outputTokens } })
  const six = createHalfbyte({ engine, sdk: 6 }).languageModel()
  expect(six.specificationVersion).toBe('v3')
  expect((await six.doGenerate(call('hello'))).finishReason).toEqual({ unified: 'stop', raw: 'stop' })
  expect(() => createHalfbyte({ engine, sdk: 4 as never })).toThrow('sdk is 4 but must be 5, 6 or 7')
})

test('a call is answered, with usage as the SDK counts it', async () => {
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

test('a stream sends its parts in the order that the interface defines', async () => {
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
  const toy = toyModel()
  const { stream } = await createHalfbyte({ engine: await openToy(toy) })
    .languageModel()
    .doStream(call('hello'))
  const reader = stream.getReader()
  while ((await reader.read()).value?.type !== 'text-delta');
  await reader.cancel()
  await expect.poll(() => toy.liveBytes()).toBe(0)
})

test('an engine that failed to load is loaded again by the next call', async () => {
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

test('an invalid call causes the SDK’s own error, in every version', async () => {
  const engine = await openToy()
  for (const sdk of [5, 6, 7] as const) {
    const provider = createHalfbyte({ engine, sdk: sdk as 7 })
    const wrong = call('a', { topP: -1 })
    const { stream } = await provider.languageModel().doStream(wrong)
    const streamed = (await read(stream)).find((part) => part.type === 'error')?.error
    const embeddings = sdk === 5 ? 'textEmbeddingModel' : 'embeddingModel'
    const model = (provider as unknown as Record<string, () => EmbeddingModel>)[embeddings]!()
    const errors = [
      await errorOf(provider.languageModel().doGenerate(wrong)),
      streamed,
      await errorOf(model.doEmbed({ values: ['a'], providerOptions: { halfbyte: { pooling: 'max' } } })),
    ]
    expect(errors).toMatchObject([
      { code: 'unsupported', argument: 'topP' },
      { code: 'unsupported', argument: 'topP' },
      { code: 'unsupported', argument: 'pooling' },
    ])
    for (const { InvalidArgumentError, APICallError } of [provider4, provider2, provider3]) {
      expect(errors.every((error) => InvalidArgumentError.isInstance(error))).toBe(true)
      expect(errors.some((error) => APICallError.isInstance(error))).toBe(false)
    }
  }
})

test('variables of the chat template are passed through providerOptions', async () => {
  const tiny = await model()
  const tokens = async (templateArguments?: unknown) => {
    const providerOptions = { halfbyte: { templateArguments } as never }
    return (await tiny.doGenerate(call('a', { providerOptions }))).usage.inputTokens.total!
  }
  const none = await tokens()
  expect(await tokens({ mood: 'calm', deep: false })).toBe(none + '<mood "calm"><deep false>'.length)
  expect(await errorOf(tokens({ messages: [] }))).toMatchObject({ code: 'unsupported' })
  expect(await errorOf(tokens([]))).toMatchObject({ argument: 'templateArguments' })
})

test('our own options are passed through providerOptions, and an invalid one causes a typed error', async () => {
  const tiny = await model()
  await expect(
    tiny.doGenerate(call('a', { providerOptions: { halfbyte: { minP: 2 } } })),
  ).rejects.toMatchObject({ code: 'unsupported', detail: { name: 'minP' } })
})

test('an error in a running stream is one of its parts', async () => {
  const file = { type: 'file' as const, mediaType: 'image/png', data: { type: 'data' as const, data: '' } }
  const { stream } = await (await model()).doStream({ prompt: [{ role: 'user', content: [file] }] })
  expect((await read(stream)).at(-1)).toMatchObject({ type: 'error', error: { code: 'unsupported' } })
})

const add = {
  type: 'function' as const,
  name: 'add',
  description: 'Adds.',
  inputSchema: { type: 'object' as const, properties: { a: { enum: [1] } }, required: ['a'] },
}
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
const called = { type: 'tool-call', toolCallId: 'call00001', toolName: 'add', input: '{"a": 1}' } as const

test('calls are separate content, and tool results continue the conversation', async () => {
  const tiny = await model()
  const first = await tiny.doGenerate(call(CALL, { tools: [add] }))
  expect(first).toMatchObject({
    content: [{ type: 'text', text: 'You said ' }, called],
    finishReason: { unified: 'tool-calls', raw: 'stop' },
    warnings: [],
  })
  const answers: [LanguageModelV4ToolResultPart['output'], string][] = [
    [{ type: 'text', value: 'two' }, 'two'],
    [{ type: 'json', value: { sum: 2 } }, '{"sum":2}'],
    [{ type: 'error-json', value: [2] }, '[2]'],
    [{ type: 'execution-denied', reason: 'no' }, 'no'],
    [
      {
        type: 'content',
        value: [
          { type: 'text', text: '2' },
          { type: 'text', text: '!' },
        ],
      },
      '2!',
    ],
  ]
  for (const [output, text] of answers) {
    const result = { type: 'tool-result' as const, toolCallId: 'call00001', toolName: 'add', output }
    const prompt: LanguageModelV4CallOptions['prompt'] = [
      { role: 'user', content: [{ type: 'text', text: CALL }] },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm' },
          { type: 'text', text: 'You said ' },
          { type: 'tool-call', toolCallId: 'call00001', toolName: 'add', input: { a: 1 } },
        ],
      },
      { role: 'tool', content: [result] },
    ]
    const second = await tiny.doGenerate({ prompt, tools: [add], temperature: 0 })
    expect(second.content).toEqual([{ type: 'text', text: `You said ${text}` }])
    expect(second.finishReason.unified).toBe('stop')
  }
})

test('a stream sends the inputs of its calls, then the calls', async () => {
  const { stream } = await (await model()).doStream(call(CALL, { tools: [add] }))
  const parts = await read(stream)
  expect(parts.slice(parts.findIndex(({ type }) => type === 'text-end'))).toMatchObject([
    { type: 'text-end' },
    { type: 'tool-input-start', id: 'call00001', toolName: 'add' },
    { type: 'tool-input-delta', id: 'call00001', delta: '{"a": 1}' },
    { type: 'tool-input-end', id: 'call00001' },
    called,
    { type: 'finish', finishReason: { unified: 'tool-calls' } },
  ])
})

test('a required tool is called, without any text', async () => {
  const { stream } = await (await model()).doStream(
    call('hi', { tools: [add], toolChoice: { type: 'tool', toolName: 'add' } }),
  )
  const types = (await read(stream)).map(({ type }) => type)
  expect(types).toContain('tool-call')
  expect(types).not.toContain('text-start')
})

test('a tool that a provider would run causes a warning', async () => {
  const tool = { type: 'provider' as const, id: 'other.search' as const, name: 'search', args: {} }
  const { warnings } = await (await model()).doGenerate(call('hi', { tools: [tool] }))
  expect(warnings).toEqual([{ type: 'unsupported', feature: 'tool search' }])
})

test('texts become vectors, and an abort ends the computation', async () => {
  const engine = await openToy()
  const embeddings: EmbeddingModelV4 = createHalfbyte({ engine }).embeddingModel()
  const values = ['a cat', 'a dog']
  const { embeddings: vectors, usage, warnings } = await embeddings.doEmbed({ values, dimensions: 3 })
  expect(vectors).toEqual((await engine.embed(values)).map((vector) => [...vector]))
  expect(usage).toEqual({ tokens: 10 })
  expect(warnings).toEqual([{ type: 'unsupported', feature: 'dimensions' }])
  const last = { halfbyte: { pooling: 'last', normalize: false } }
  expect((await embeddings.doEmbed({ values, providerOptions: last })).embeddings).toEqual(
    (await engine.embed(values, { pooling: 'last', normalize: false })).map((vector) => [...vector]),
  )
  const abortSignal = AbortSignal.abort('enough')
  await expect(embeddings.doEmbed({ values, abortSignal })).rejects.toBe('enough')
})

test('the provider is called like the providers of other packages', async () => {
  const load = async (): Promise<never> => {
    throw new Error('nothing is loaded before a call')
  }
  for (const [model, version] of [
    [createHalfbyte({ engine: load })('tiny'), 'v4'],
    [createHalfbyte({ engine: load, sdk: 6 })('tiny'), 'v3'],
    [createHalfbyte({ engine: load, sdk: 5 })('tiny'), 'v2'],
  ] as const) {
    expect(model).toMatchObject({ modelId: 'tiny', provider: 'halfbyte', specificationVersion: version })
  }
  const provider = createHalfbyte({ engine: load })
  expect(Object.keys(provider().supportedUrls)).toEqual(Object.keys(provider.languageModel().supportedUrls))
  expect(provider().modelId).toBe(provider.languageModel().modelId)
})

test('texts become an encoder’s vectors, without a chat model', async () => {
  const embedder = await openEncoder(6, { mostTokens: 9, prompts: { query: 'the cat ' } })
  const model: EmbeddingModelV4 = createHalfbyte({ embedder: async () => embedder }).embeddingModel()
  const values = ['a cat', 'the cat the cat the cat the cat']
  const { vectors, tokens } = await embedder.embed(values, { kind: 'query', dimensions: 3 })
  const providerOptions = { halfbyte: { kind: 'query' } }
  expect(await model.doEmbed({ values, dimensions: 3, providerOptions })).toEqual({
    embeddings: vectors.map((vector) => [...vector]),
    usage: { tokens: tokens[0]! + tokens[1]! },
    warnings: [{ type: 'other', message: expect.stringContaining('1 texts are longer than 9 tokens') }],
  })
  await expect(model.doEmbed({ values, dimensions: 1e6 })).rejects.toMatchObject({ code: 'unsupported' })
  const chat = createHalfbyte({ embedder }).languageModel()
  await expect(chat.doGenerate(call('hi'))).rejects.toThrow('the engine is undefined')
})

test('documents are ranked by a reranker, as texts or as objects', async () => {
  const reranker = await openEncoder(7, { isReranker: true })
  const model: RerankingModelV4 = createHalfbyte({ reranker }).rerankingModel()
  const values = [{ name: 'cat' }, { name: 'runner' }, { name: 'the' }]
  const texts = values.map((value) => JSON.stringify(value))
  const { results } = await reranker.rerank('the cat', texts, { topN: 2 })
  const ranking = results.map(({ index, score }) => ({ index, relevanceScore: score }))
  const ask = { query: 'the cat', topN: 2 }
  const response = { modelId: reranker.model.id }
  expect(await model.doRerank({ ...ask, documents: { type: 'object', values } })).toEqual({
    ...{ ranking, response, warnings: [] },
  })
  expect(await model.doRerank({ ...ask, documents: { type: 'text', values: texts } })).toMatchObject({
    ranking,
  })
  const abortSignal = AbortSignal.abort('enough')
  const documents = { type: 'text' as const, values: texts }
  await expect(model.doRerank({ ...ask, documents, abortSignal })).rejects.toBe('enough')
  const none = createHalfbyte({ embedder: reranker, sdk: 6 }).rerankingModel()
  await expect(none.doRerank({ ...ask, documents })).rejects.toThrow('the embedder is undefined')
  expect(() => createHalfbyte({ reranker: {} as Embedder })).toThrow('the embedder is {}')
})

test('a thought at the end of a prompt continues', async () => {
  const toy = toyModel({ reasoning: reasoningFormOf('<think></think>') })
  const thinker: LanguageModelV4 = createHalfbyte({ engine: await openToy(toy) }).languageModel()
  const asked = call('<think>\nA red fox.</think>Hi')
  const cut = await thinker.doGenerate({ ...asked, maxOutputTokens: 13 })
  expect(cut.content[0]).toEqual({ type: 'reasoning', text: 'A red' })
  const turn = { role: 'assistant' as const, content: [{ type: 'reasoning' as const, text: 'A red' }] }
  const { content } = await thinker.doGenerate({ ...asked, prompt: [...asked.prompt, turn] })
  expect(content).toEqual([
    { type: 'reasoning', text: ' fox.' },
    { type: 'text', text: 'Hi' },
  ])
})

test('a thought has its own parts, in the answer, the stream and the prompt', async () => {
  const toy = toyModel({ reasoning: reasoningFormOf('<think></think>') })
  const engine = await openToy(toy)
  const thinker: LanguageModelV4 = createHalfbyte({ engine }).languageModel()
  const asked = call('<think>A fox.</think>Hi')
  const answer = await thinker.doGenerate(asked)
  expect(answer.content).toEqual([
    { type: 'reasoning', text: 'A fox.' },
    { type: 'text', text: 'Hi' },
  ])
  expect(answer.usage.outputTokens).toMatchObject({ total: 23, text: 2, reasoning: 21 })
  const parts = await read((await thinker.doStream(asked)).stream)
  const types = parts.map(({ type }) => type)
  expect(types.filter((type, index) => type !== types[index - 1]).slice(2, -1)).toEqual([
    'reasoning-start',
    'reasoning-delta',
    'reasoning-end',
    'text-start',
    'text-delta',
    'text-end',
  ])
  const deltas = (kind: string) =>
    parts.map((part) => (part.type === kind && 'delta' in part ? part.delta : ''))
  expect(deltas('reasoning-delta').join('')).toBe('A fox.')
  expect(deltas('text-delta').join('')).toBe('Hi')
  const content = [
    { type: 'reasoning' as const, text: 'A fox.' },
    { type: 'text' as const, text: 'Hi' },
  ]
  const turn = { role: 'assistant' as const, content }
  const question = { role: 'user' as const, content: [{ type: 'text' as const, text: 'b' }] }
  const { usage } = await thinker.doGenerate({ ...asked, prompt: [...asked.prompt, turn, question] })
  const dropped = { ...turn, content: content.slice(1) }
  const without = await thinker.doGenerate({ ...asked, prompt: [...asked.prompt, dropped, question] })
  expect(usage.inputTokens.total! - without.usage.inputTokens.total!).toBe('<think>A fox.</think>'.length)
})

const compatible = (details: string) => [{ type: 'compatibility', feature: 'reasoning', details }]
const unsupported = (details: string) => [{ type: 'unsupported', feature: 'reasoning', details }]

test.each([
  ['provider-default', ['reasoning_effort'], undefined, []],
  ['low', ['reasoning_effort'], { reasoning_effort: 'low' }, []],
  [
    'xhigh',
    ['reasoning_effort'],
    { reasoning_effort: 'high' },
    compatible('the template gets the effort "high"'),
  ],
  ['medium', ['thinking', 'reasoning_effort'], { thinking: true, reasoning_effort: 'medium' }, []],
  ['none', ['enable_thinking'], { enable_thinking: false }, []],
  ['none', ['thinking', 'reasoning_effort'], { thinking: false }, []],
  ['none', ['skip_reasoning'], { skip_reasoning: true }, []],
  [
    'high',
    ['enable_thinking'],
    { enable_thinking: true },
    compatible('the chat template can turn thinking on, but has no levels'),
  ],
  [
    'none',
    ['reasoning_effort'],
    undefined,
    unsupported('the chat template does not read a variable that turns thinking off'),
  ],
  ['low', ['date'], undefined, unsupported('the chat template does not read a variable for it')],
  ['lots', ['reasoning_effort'], undefined, unsupported('the effort "lots" is unknown')],
])(
  'the effort %s becomes variables for a template that reads %s',
  (reasoning, variables, given, warnings) => {
    const request = callRequest(call('hello', { reasoning: reasoning as 'low' }), variables)
    expect(request.options.templateArguments).toEqual(given)
    expect(request.warnings).toEqual(warnings)
  },
)

test('an effort sets template variables unless the caller does, and its warnings reach the SDK', async () => {
  const engine = await openToy(toyModel({ templateArguments: ['enable_thinking'] }))
  const provider = createHalfbyte({ engine }).languageModel()
  const { warnings } = await provider.doGenerate(call('hello', { reasoning: 'high' }))
  expect(warnings).toEqual(compatible('the chat template can turn thinking on, but has no levels'))
  const halfbyte = { templateArguments: { enable_thinking: true, date: 'today' } }
  const request = callRequest(call('hello', { reasoning: 'none', providerOptions: { halfbyte } }), [
    'enable_thinking',
  ])
  expect(request.options.templateArguments).toEqual(halfbyte.templateArguments)
})
