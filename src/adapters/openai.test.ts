// OpenAI's interface. In: calls like those of OpenAI's own client, a toy model. Out: responses of OpenAI's
// own types.
import type OpenAI from 'openai'
import { afterEach, expect, expectTypeOf, test } from 'vitest'
import { reasoningFormOf } from '../core/text/chat/reasoning.ts'
import { openToy } from '../engine/api/testing/toy-engine.ts'
import { toyModel } from '../engine/testing/toy-model.ts'
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  type ChatCompletionParams,
  type OpenAIClient,
  openai,
} from './openai.ts'
import { chatRequest } from './openai-request.ts'
import { requestFields } from './request-fields.ts'

type Completions = OpenAI.Chat.Completions.ChatCompletion
const warnings: string[] = []

const client = async (toy = toyModel()) =>
  openai(await openToy(toy), { onWarning: (sentence) => warnings.push(sentence) })

afterEach(() => {
  warnings.length = 0
})

const said = (content: string) => [{ role: 'user' as const, content }]

test('the types match the real client’s', () => {
  expectTypeOf<ChatCompletion>().toExtend<Completions>()
  expectTypeOf<ChatCompletionChunk>().toExtend<OpenAI.Chat.Completions.ChatCompletionChunk>()
  expectTypeOf<OpenAI.Chat.Completions.ChatCompletionCreateParams>().toExtend<ChatCompletionParams>()
})

/**
 * A program's use of `client.chat`, with the official types. The official classes have protected members,
 * which no other object can have.
 */
interface Chat {
  readonly chat: {
    readonly completions: {
      create(
        body: OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming,
        options?: { signal?: AbortSignal },
      ): PromiseLike<OpenAI.Chat.Completions.ChatCompletion>
      create(
        body: OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming,
        options?: { signal?: AbortSignal },
      ): PromiseLike<AsyncIterable<OpenAI.Chat.Completions.ChatCompletionChunk>>
      create(
        body: OpenAI.Chat.Completions.ChatCompletionCreateParams,
        options?: { signal?: AbortSignal },
      ): PromiseLike<
        AsyncIterable<OpenAI.Chat.Completions.ChatCompletionChunk> | OpenAI.Chat.Completions.ChatCompletion
      >
    }
  }
}

test('a program for the official client accepts this one, with every overload', () => {
  expectTypeOf<Pick<OpenAI, 'chat'>>().toExtend<Chat>()
  expectTypeOf<OpenAIClient>().toExtend<Chat>()
  expectTypeOf<OpenAIClient>().not.toExtend<{ chat: { completions: { create(body: string): unknown } } }>()
})

test('a conversation is answered, and its tokens are counted', async () => {
  const { chat } = await client()
  const answer: Completions = await chat.completions.create({
    model: 'whatever',
    messages: [{ role: 'developer', content: 'Be brief.' }, ...said('hello')],
    temperature: 0,
  })
  expect(answer).toMatchObject({
    object: 'chat.completion',
    model: 'toy',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'You said hello', refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
  })
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage!
  expect(completion_tokens).toBe(6)
  expect(total_tokens).toBe(prompt_tokens + completion_tokens)
  expect(answer.created).toBeGreaterThan(1.7e9)
  expect(warnings).toEqual([])
})

test('text parts are joined, and a reply that reaches a limit ends with length', async () => {
  const { chat } = await client()
  const content = [
    { type: 'text' as const, text: 'to' },
    { type: 'text' as const, text: 'gether' },
  ]
  const answer = await chat.completions.create({
    messages: [{ role: 'user', content }],
    temperature: 0,
    max_completion_tokens: 3,
  })
  expect(answer.choices[0]).toMatchObject({ message: { content: 'You said to' }, finish_reason: 'length' })
})

test('a stream begins with the role, ends with the finish reason, and includes the usage on request', async () => {
  const { chat } = await client()
  const stream = await chat.completions.create({
    messages: said('hello'),
    temperature: 0,
    stream: true,
    stream_options: { include_usage: true },
  })
  const chunks: ChatCompletionChunk[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))
  expect(deltas[0]).toEqual({ role: 'assistant', content: '' })
  expect(deltas.map(({ content }) => content ?? '').join('')).toBe('You said hello')
  expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).at(-1)).toBe('stop')
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 6 } })
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
})

test("a thought in content blocks, as written by Mistral's clients, is a thought", () => {
  const turn = (thinking: unknown) => ({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking },
      { type: 'text', text: 'Hi' },
    ],
  })
  for (const thinking of ['A fox.', [{ type: 'text', text: 'A fox.' }]]) {
    const messages = [...said('a'), turn(thinking), ...said('b')]
    expect(chatRequest({ messages }, {}, () => undefined).messages[1]).toEqual({
      role: 'assistant',
      content: 'Hi',
      reasoning: 'A fox.',
    })
  }
  expect(() => chatRequest({ messages: [turn(7), ...said('b')] }, {}, () => undefined)).toThrow(
    expect.objectContaining({ code: 'unsupported' }),
  )
  expect(() => chatRequest({ messages: [{ ...turn('A'), role: 'user' }] }, {}, () => undefined)).toThrow(
    /type "thinking"/,
  )
})

test('the effort none turns thinking off through the variables that templates have for it', () => {
  const of = (more: object) =>
    chatRequest({ messages: said('a'), ...more }, {}, () => undefined).options.templateArguments
  expect(of({ reasoning_effort: 'none' })).toEqual({
    enable_thinking: false,
    thinking: false,
    think: false,
    skip_reasoning: true,
    no_thinking: true,
    reasoning_effort: 'none',
  })
  expect(of({ reasoning_effort: 'low' })).toEqual({ reasoning_effort: 'low' })
  const given = { enable_thinking: true }
  expect(of({ reasoning_effort: 'none', chat_template_kwargs: given })).toMatchObject(given)
})

test('a thought is in reasoning_content, in the answer, the stream and the conversation', async () => {
  const { chat } = await client(toyModel({ reasoning: reasoningFormOf('<think></think>') }))
  const asked = { messages: said('<think>A fox.</think>Hi'), temperature: 0 }
  const answer = await chat.completions.create(asked)
  expect(answer.choices[0]?.message).toMatchObject({ content: 'Hi', reasoning_content: 'A fox.' })
  expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBe(21)
  const deltas: { content?: string; reasoning_content?: string }[] = []
  for await (const { choices } of await chat.completions.create({ ...asked, stream: true }))
    deltas.push(choices[0]!.delta)
  expect(deltas.map(({ reasoning_content = '' }) => reasoning_content).join('')).toBe('A fox.')
  expect(deltas.map(({ content = '' }) => content).join('')).toBe('Hi')
  const turn = { role: 'assistant' as const, content: 'Hi', reasoning_content: 'A fox.' }
  const kept = await chat.completions.create({ ...asked, messages: [...asked.messages, turn, ...said('b')] })
  const { reasoning_content: _, ...rest } = turn
  const without = await chat.completions.create({
    ...asked,
    messages: [...asked.messages, rest, ...said('b')],
  })
  expect(kept.usage!.prompt_tokens - without.usage!.prompt_tokens).toBe('<think>A fox.</think>'.length)
  expect(warnings).toEqual([])
})

test('leaving the stream ends the work and frees the state', async () => {
  const toy = toyModel()
  const { chat } = await client(toy)
  const stream = await chat.completions.create({ messages: said('hello'), temperature: 0, stream: true })
  for await (const { choices } of stream) if (choices[0]?.delta.content) break
  await expect.poll(() => toy.liveBytes()).toBe(0)
})

test('several replies share their prompt, which is counted once', async () => {
  const { chat } = await client()
  const answer = await chat.completions.create({ messages: said('hi'), temperature: 0, n: 3, seed: 5 })
  expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([
    [0, 'You said hi'],
    [1, 'You said hi'],
    [2, 'You said hi'],
  ])
  expect(answer.usage.completion_tokens).toBe(9)
})

test('several replies are streamed one after another, each with its calls', async () => {
  const { chat } = await client()
  const asked = {
    messages: said(`${CALL}${CALL}`),
    temperature: 0,
    tools: [add],
    n: 3,
    stream: true as const,
  }
  for (const [parallel_tool_calls, count] of [
    [true, 2],
    [false, 1],
  ] as const) {
    const seen = new Map<number, unknown[]>()
    for await (const { choices } of await chat.completions.create({ ...asked, parallel_tool_calls })) {
      for (const { index, delta, finish_reason } of choices) {
        const parts = [...(seen.get(index) ?? []), ...(delta.tool_calls ?? [])]
        seen.set(index, finish_reason === null ? parts : [...parts, finish_reason])
      }
    }
    const calls = ['call00001', 'call00002'].map((id, index) => ({ ...called, id, index })).slice(0, count)
    expect([...seen]).toEqual([0, 1, 2].map((index) => [index, [...calls, 'tool_calls']]))
  }
})

test('seeds of several replies count up from the given one, and wrap from the largest to 0', async () => {
  const { chat } = await client()
  const asked = { messages: said('hi'), temperature: 2 }
  const texts = async (seed: number, n: number) =>
    (await chat.completions.create({ ...asked, seed, n })).choices.map(({ message }) => message.content)
  expect(await texts(7, 3)).toEqual([...(await texts(7, 1)), ...(await texts(8, 1)), ...(await texts(9, 1))])
  const last = Number.MAX_SAFE_INTEGER
  expect(await texts(last, 3)).toEqual([
    ...(await texts(last, 1)),
    ...(await texts(0, 1)),
    ...(await texts(1, 1)),
  ])
})

test('several replies are streamed one after another', async () => {
  const { chat } = await client()
  const texts = ['', '']
  for await (const { choices } of await chat.completions.create({
    messages: said('hi'),
    temperature: 0,
    n: 2,
    stream: true,
  })) {
    for (const { index, delta } of choices) texts[index] += delta.content ?? ''
  }
  expect(texts).toEqual(['You said hi', 'You said hi'])
})

test('an assistant’s message at the end is the beginning of the reply', async () => {
  const { chat } = await client()
  const messages = [...said('hi'), { role: 'assistant', content: 'You ' }]
  const whole = await chat.completions.create({ messages, temperature: 0, max_tokens: 3 })
  const engine = await openToy()
  const own = await engine.createSession().send('hi', { temperature: 0, maxTokens: 3, prefix: 'You ' }).text()
  expect(whole.choices[0]!.message.content).toBe(own)
})

test('a thought in the last message continues where it was cut off', async () => {
  const { chat } = await client(toyModel({ reasoning: reasoningFormOf('<think></think>') }))
  const asked = said('<think>\nA red fox.</think>Hi')
  const cut = await chat.completions.create({ messages: asked, temperature: 0, max_tokens: 13 })
  const { message, finish_reason: reason } = cut.choices[0]!
  expect([message.content, message.reasoning_content, reason]).toEqual(['', 'A red', 'length'])
  const rest = await chat.completions.create({ messages: [...asked, message], temperature: 0 })
  expect(rest.choices[0]!.message).toMatchObject({ content: 'Hi', reasoning_content: ' fox.' })
})

test('a reply ends with its first call if calls must not be parallel', async () => {
  const { chat } = await client()
  const asked = { messages: said(`${CALL}${CALL}`), temperature: 0, tools: [add] }
  const counts = await Promise.all(
    [true, false].map(async (parallel_tool_calls) => {
      const { choices, usage } = await chat.completions.create({ ...asked, parallel_tool_calls })
      return [choices[0]!.message.tool_calls?.length, usage.completion_tokens]
    }),
  )
  const [[, both], [, one]] = counts as [[number, number], [number, number]]
  expect(counts).toEqual([
    [2, both],
    [1, one],
  ])
  expect(one).toBe(both - CALL.length)
})

test('other servers’ fields and the engine’s own options reach the sampler', () => {
  const params = {
    messages: said('hi'),
    top_k: 7,
    min_p: 0.2,
    repetition_penalty: 1.1,
    temperature: 0.3,
    halfbyte: { topNSigma: 2, temperature: 0.4 },
  }
  expect(chatRequest(params, {}, () => undefined).options).toMatchObject({
    topK: 7,
    minP: 0.2,
    repeatPenalty: 1.1,
    topNSigma: 2,
    temperature: 0.4,
    topP: 1,
  })
})

test('a model’s recommended options apply unless the request sets them', () => {
  const { options } = chatRequest({ messages: said('hi'), top_p: 0.5 }, { topK: 64 }, () => undefined)
  expect([options.temperature, options.topK, options.topP]).toEqual([undefined, undefined, 0.5])
})

test('an aborted call rejects with the reason', async () => {
  const { chat } = await client()
  const reason = new Error('enough')
  const call = chat.completions.create({ messages: said('hi') }, { signal: AbortSignal.abort(reason) })
  await expect(call).rejects.toBe(reason)
})

test('a response format becomes the schema that constrains the reply', () => {
  const schemaOf = (response_format: ChatCompletionParams['response_format']) =>
    chatRequest(requestFields({ messages: said('hi'), response_format }), {}, () => undefined).options.schema
  const schema = { type: 'object', properties: { age: { type: 'integer' } } }
  expect(schemaOf({ type: 'json_schema', json_schema: { name: 'person', schema } })).toBe(schema)
  expect(schemaOf({ type: 'json_object' })).toEqual({ type: 'object' })
  expect(schemaOf({ type: 'json_object', schema })).toBe(schema)
  expect(schemaOf({ type: 'text' })).toBeUndefined()
})

const add = {
  type: 'function' as const,
  function: {
    name: 'add',
    description: 'Adds.',
    parameters: { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] },
  },
}
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
const called = {
  id: 'call00001',
  type: 'function',
  function: { name: 'add', arguments: '{"a": 1}' },
} as const

test('calls are returned as JSON, and tool results continue the conversation', async () => {
  const { chat } = await client()
  const asked = { messages: said(CALL), temperature: 0, tools: [add] }
  const first: Completions = await chat.completions.create(asked)
  const [choice] = first.choices
  expect(choice).toMatchObject({
    message: { content: 'You said ', tool_calls: [called] },
    finish_reason: 'tool_calls',
  })
  const answer = { role: 'tool' as const, tool_call_id: choice!.message.tool_calls![0]!.id, content: '2' }
  const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [
    ...asked.messages,
    choice!.message,
    answer,
  ]
  const second = await chat.completions.create({ ...asked, messages })
  expect(second.choices[0]).toMatchObject({ message: { content: 'You said 2' }, finish_reason: 'stop' })
  expect(second.choices[0]!.message.tool_calls).toBeUndefined()
  expect(warnings).toEqual([])
})

test('a stream sends its calls after its text', async () => {
  const { chat } = await client()
  const stream = await chat.completions.create({
    messages: said(CALL),
    temperature: 0,
    tools: [add],
    stream: true,
  })
  const choices: ChatCompletionChunk['choices'] = []
  for await (const chunk of stream) choices.push(...chunk.choices)
  expect(choices.map(({ delta }) => delta.content ?? '').join('')).toBe('You said ')
  expect(choices.flatMap(({ delta }) => delta.tool_calls ?? [])).toEqual([{ index: 0, ...called }])
  expect(choices.at(-1)).toMatchObject({ delta: {}, finish_reason: 'tool_calls' })
})

test.each(['required' as const, { type: 'function' as const, function: { name: 'add' } }])(
  'a required call is made: %j',
  async (tool_choice) => {
    const { chat } = await client()
    const { choices } = await chat.completions.create({
      messages: said('hi'),
      temperature: 0,
      tools: [add],
      tool_choice,
    })
    const compact = { ...called, function: { name: 'add', arguments: '{"a":1}' } }
    expect(choices[0]).toMatchObject({
      message: { content: null, tool_calls: [compact] },
      finish_reason: 'tool_calls',
    })
  },
)

test('tools that must not be called are not passed to the model', async () => {
  const { chat } = await client()
  const { choices } = await chat.completions.create({
    messages: said(CALL),
    temperature: 0,
    tools: [add],
    tool_choice: 'none' as const,
  })
  expect(choices[0]!.message).toMatchObject({ content: `You said ${CALL}` })
})

test('the tool’s name in a result is found through its call', () => {
  const messages = [
    ...said('hi'),
    { role: 'assistant', content: null, tool_calls: [called] },
    { role: 'tool', content: [{ type: 'text', text: '2' }], tool_call_id: 'call00001' },
  ]
  expect(chatRequest(requestFields({ messages }), {}, () => undefined).messages.slice(1)).toEqual([
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'call00001', name: 'add', arguments: { a: 1 }, argumentsJson: '{"a": 1}' }],
    },
    { role: 'tool', content: '2', toolCallId: 'call00001', name: 'add' },
  ])
})

test('fields without a counterpart are named once, and null counts as absent', async () => {
  const { chat } = await client()
  const params = { messages: said('hi'), temperature: 0, user: 'me', store: null, service_tier: 'auto' }
  await chat.completions.create(params)
  await chat.completions.create(params)
  await chat.completions.create({ ...params, messages: [{ role: 'user', content: 'hi', name: 'Ann' }] })
  expect(warnings).toHaveLength(3)
  expect(warnings[0]).toContain('"user"')
  expect(warnings[1]).toContain('"service_tier"')
  expect(warnings[2]).toContain('"name" in messages')
})

test.each([
  [
    'a video',
    { messages: [{ role: 'user', content: [{ type: 'video_url' }] }] },
    /message 0 has a part of type "video_url" but only text and images are supported; leave it out/,
  ],
  ['an image', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, /"image_url"/],
  ['a tool that is not a function', { messages: said('hi'), tools: [{ type: 'custom' }] }, /"custom"/],
  [
    'a choice that names no tool',
    { messages: said('hi'), tool_choice: 'required' as const },
    /some tool must be called/,
  ],
  [
    'a call whose arguments are not an object',
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function' as const, function: { name: 'add', arguments: '[1' } }],
        },
      ],
    },
    /"add" has arguments that are not a JSON object/,
  ],
  ['an unknown role', { messages: [{ role: 'narrator', content: 'once' }] }, /"narrator"/],
  ['no replies', { messages: said('hi'), n: 0 }, /n is 0/],
  [
    'a format of an unknown type',
    { messages: said('hi'), response_format: { type: 'grammar' } },
    /"grammar"/,
  ],
  ['a string as the format', { messages: said('hi'), response_format: 'json' }, /response_format is "json"/],
  [
    'a format without its schema',
    { messages: said('hi'), response_format: { type: 'json_schema' } },
    /json_schema/,
  ],
  [
    'options that are not an object',
    { messages: said('hi'), halfbyte: 7 },
    /halfbyte is 7 but must be an object of options/,
  ],
  [
    'calls without answers',
    { messages: [...said('hi'), { role: 'assistant', content: null, tool_calls: [called] }] },
    /1 calls without answers/,
  ],
  ['nothing to answer', { messages: [{ role: 'assistant', content: 'hi' }] }, /nothing to answer/],
])('%s is rejected with a typed error', async (_, params, says) => {
  const { chat } = await client()
  await expect(chat.completions.create(params as ChatCompletionParams)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(says),
  })
})

test('log-probabilities are in the response, and next to the tokens of a stream', async () => {
  const { chat } = await client()
  const asked = { messages: said('hello'), temperature: 0, logprobs: true, top_logprobs: 2 }
  const whole: Completions = await chat.completions.create(asked)
  const content = whole.choices[0]!.logprobs!.content!
  expect(content.map(({ token }) => token).join('')).toBe('You said hello')
  expect(new TextDecoder().decode(Uint8Array.from(content.flatMap(({ bytes }) => bytes ?? [])))).toBe(
    'You said hello',
  )
  for (const { logprob, top_logprobs } of content) {
    expect(top_logprobs).toHaveLength(2)
    expect(top_logprobs[0]!.logprob).toBe(logprob)
    expect(top_logprobs[1]!.logprob).toBeLessThanOrEqual(logprob)
  }
  const streamed: unknown[] = []
  for await (const { choices } of await chat.completions.create({ ...asked, stream: true })) {
    streamed.push(...(choices[0]?.logprobs?.content ?? []))
  }
  expect(streamed).toEqual(content)
  expect(warnings).toEqual([])
})

test('null, which other servers write, counts as absent', async () => {
  const { chat } = await client()
  const answer = await chat.completions.create({
    messages: [{ role: 'user', content: 'hello', tool_calls: null, tool_call_id: null }],
    temperature: 0,
    tools: null,
    tool_choice: null,
    logprobs: null,
    top_logprobs: null,
  })
  expect(answer.choices[0]!.message.content).toBe('You said hello')
  expect(answer.choices[0]!.logprobs).toBeNull()
})

test.each<[object, RegExp]>([
  [{ messages: undefined }, /messages is undefined but must be a list of messages/],
  [{ messages: 'hello' }, /messages is "hello" but must be a list of messages/],
  [{ tool_choice: 'any' }, /tool_choice is "any" but must be auto, none, required or a function/],
  [{ top_logprobs: 3 }, /top_logprobs is 3 but logprobs is not true/],
  [{ logprobs: true, top_logprobs: 1000 }, /top_logprobs is 1000 but must be .* to 100/],
  [{ temperature: Number.NaN }, /temperature is NaN/],
  [{ logit_bias: { x: 1 } }, /an id in logit_bias is "x"/],
  [{ stop: [7] }, /a string in stop is 7/],
  [{ max_tokens: -2 }, /max_tokens is -2/],
  [{ seed: 0.5 }, /seed is 0.5/],
  [{ n: 0 }, /n is 0/],
])('%o is rejected, whole and as a stream', async (wrong, sentence) => {
  const { chat } = await client()
  const params = { messages: said('hello'), ...wrong } as ChatCompletionParams
  const refusal = { code: 'unsupported', message: expect.stringMatching(sentence) }
  await expect(chat.completions.create({ ...params, stream: false })).rejects.toMatchObject(refusal)
  const stream = async () => {
    for await (const _ of await chat.completions.create({ ...params, stream: true }));
  }
  await expect(stream()).rejects.toMatchObject(refusal)
})
