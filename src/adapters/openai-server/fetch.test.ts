// OpenAI's server. In: OpenAI's own client, and plain requests, on a toy model. Out: what the client makes of
// the answers.
import OpenAI from 'openai'
import { afterEach, expect, expectTypeOf, test } from 'vitest'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { fakeEngine } from '../../engine/api/fake/fake-engine.ts'
import { openToy } from '../../engine/api/testing/toy-engine.ts'
import { DEAD_POOL, toyModel } from '../../engine/testing/toy-model.ts'
import { openaiFetch } from '../openai.ts'

const warnings: string[] = []

afterEach(() => {
  warnings.length = 0
})

const onWarning = (sentence: string) => warnings.push(sentence)
const clientOf = (engine: Engine) =>
  new OpenAI({ apiKey: 'none', baseURL: 'http://page/v1', fetch: openaiFetch(engine, { onWarning }) })
const client = async (toy = toyModel()) => clientOf(await openToy(toy))
const said = (content: string) => ({
  model: 'toy',
  messages: [{ role: 'user' as const, content }],
  temperature: 0,
})
const add = {
  type: 'function' as const,
  function: {
    name: 'add',
    description: 'Adds one.',
    parameters: { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] },
  },
}
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'

test('the real client accepts it as its fetch', () => {
  expectTypeOf<ReturnType<typeof openaiFetch>>().toExtend<
    NonNullable<NonNullable<ConstructorParameters<typeof OpenAI>[0]>['fetch']>
  >()
})

test('the client gets a whole reply', async () => {
  const { choices, usage, model } = await (await client()).chat.completions.create(said('hello'))
  expect(choices[0]).toMatchObject({ message: { content: 'You said hello' }, finish_reason: 'stop' })
  expect([model, usage?.completion_tokens]).toEqual(['toy', 6])
  expect(warnings).toEqual([])
})

test('the client streams a reply, with its usage', async () => {
  const asked = { ...said('hällo'), stream: true as const, stream_options: { include_usage: true } }
  const chunks: OpenAI.ChatCompletionChunk[] = []
  for await (const chunk of await (await client()).chat.completions.create(asked)) chunks.push(chunk)
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
  expect(text.join('')).toBe('You said hällo')
  expect(text.filter((part) => part !== '').length).toBeGreaterThan(1)
  expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(1)
})

test('the client runs a tool and continues from its result', async () => {
  const runner = (await client()).chat.completions.runTools({
    ...said(CALL),
    tools: [
      {
        type: 'function',
        function: { ...add.function, parse: JSON.parse, function: ({ a }: { a: number }) => `${a + 1}` },
      },
    ],
  })
  expect(await runner.finalContent()).toBe('You said 2')
})

test('the client collects the calls of a stream', async () => {
  const stream = (await client()).chat.completions.stream({ ...said(CALL), tools: [add] })
  const message = await stream.finalMessage()
  expect(message.content).toBe('You said ')
  expect(message.tool_calls?.[0]).toMatchObject({ function: { name: 'add', arguments: '{"a": 1}' } })
})

test('the client parses a reply that a schema constrains', async () => {
  const reply = await (await client()).chat.completions.parse({
    ...said('x'),
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: 'one',
        strict: true,
        schema: { ...add.function.parameters, additionalProperties: false },
      },
    },
  })
  expect(reply.choices[0]?.message.parsed).toEqual({ a: 1 })
})

test('vectors come as numbers, and as the bytes that the client requests by default', async () => {
  const engine = await openToy()
  const { embeddings } = clientOf(engine)
  const input = ['ab', 'c']
  const vectors = (await engine.embed(input)).map((vector) => [...vector])
  const binary = await embeddings.create({ model: 'toy', input })
  expect(binary.data.map(({ embedding }) => [...embedding])).toEqual(vectors)
  const numbers = await embeddings.create({ model: 'toy', input, encoding_format: 'float' })
  expect(numbers.data.map(({ embedding }) => embedding)).toEqual(vectors)
  const tokens = (await engine.countTokens('ab')) + (await engine.countTokens('c'))
  expect(numbers.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens })
  expect((await embeddings.create({ model: 'toy', input: 'c', user: 'me' })).data).toHaveLength(1)
  expect(warnings).toEqual([expect.stringContaining('"user"')])
})

test('the model is listed and found under its name', async () => {
  const { models } = await client()
  const listed: string[] = []
  for await (const { id } of models.list()) listed.push(id)
  expect(listed).toEqual(['toy'])
  expect(await models.retrieve('toy')).toMatchObject({ id: 'toy', object: 'model' })
  await expect(models.retrieve('gpt')).rejects.toThrow(OpenAI.NotFoundError)
})

test.each<[string, (client: OpenAI) => Promise<unknown>, object]>([
  [
    'an address that does not exist',
    (client) => client.moderations.create({ input: 'hi' }),
    {
      status: 404,
      code: 'not_found',
      message: expect.stringContaining('POST /v1/moderations is not an endpoint'),
    },
  ],
  [
    'a wrong option',
    (client) => client.chat.completions.create({ ...said('hi'), n: 0 }),
    { status: 400, code: 'unsupported', param: 'n', message: expect.stringContaining('n is 0') },
  ],
  [
    'a wrong option of a stream, before it starts',
    (client) => client.chat.completions.create({ ...said('hi'), stream: true, max_tokens: -2 }),
    { status: 400, param: 'max_tokens', message: expect.stringContaining('max_tokens is -2 but') },
  ],
  [
    'a conversation that is too long',
    (client) => client.chat.completions.create(said('x'.repeat(300))),
    {
      status: 400,
      code: 'context_length_exceeded',
      message: expect.stringContaining("This model's maximum context length is 256 tokens: the prompt needs"),
    },
  ],
  [
    'a conversation without messages',
    (client) => client.chat.completions.create({ model: 'toy', messages: [] }),
    { status: 400, param: 'messages', message: expect.stringContaining('nothing to answer') },
  ],
  [
    'a length that the vectors do not have',
    (client) => client.embeddings.create({ model: 'toy', input: 'a', dimensions: 7 }),
    { status: 400, param: 'dimensions', message: expect.stringContaining('dimensions is 7 but must be') },
  ],
  [
    'ids that the model does not have',
    (client) => client.embeddings.create({ model: 'toy', input: [1, 1e6] }),
    { status: 400, message: expect.stringContaining('has the id 1000000 at index 1') },
  ],
  [
    'an engine that fails',
    (client) => client.chat.completions.create(said(DEAD_POOL)),
    { status: 500, type: 'server_error', code: 'internal' },
  ],
])('%s is the client’s error', async (_, ask, error) => {
  await expect(ask(await client(toyModel({ contextLength: 256 })))).rejects.toMatchObject(error)
})

test.each([
  ['a damaged image in the request', { part: 'image' }, 400],
  ['a damaged model file', {}, 500],
])('%s gets its own status', async (_, detail, status) => {
  const engine = await fakeEngine([new HalfbyteError('format', 'it is damaged', detail)])
  const body = JSON.stringify(said('hi'))
  const answer = await openaiFetch(engine)('http://page/v1/chat/completions', { method: 'POST', body })
  expect(answer.status).toBe(status)
  await engine.dispose()
})

test('an error in the middle of a stream is reported as its last event', async () => {
  const engine = await openToy()
  const stream = await clientOf(engine).chat.completions.create({ ...said('y'.repeat(500)), stream: true })
  const read = async () => {
    for await (const _ of stream) await engine.dispose()
  }
  await expect(read()).rejects.toMatchObject({ code: 'disposed' })
})

test('aborting rejects with the reason, before and during the reply', async () => {
  const toy = toyModel()
  const engine = await openToy(toy)
  const post = openaiFetch(engine)
  const before = { method: 'POST', body: JSON.stringify(said('hi')), signal: AbortSignal.abort('enough') }
  await expect(post('http://page/v1/chat/completions', before)).rejects.toBe('enough')

  const controller = new AbortController()
  const body = JSON.stringify({ ...said('z'.repeat(2000)), stream: true })
  const request = new Request('http://page/v1/chat/completions', {
    method: 'POST',
    body,
    signal: controller.signal,
  })
  const reader = (await post(request)).body!.getReader()
  await reader.read()
  controller.abort(new Error('stopped'))
  await expect(reader.read()).rejects.toThrow('stopped')
  await expect.poll(() => toy.liveBytes()).toBe(0)
})

test('a reader that cancels the stream ends the reply and frees its state', async () => {
  const toy = toyModel()
  const { completions } = (await client(toy)).chat
  for await (const _ of await completions.create({ ...said('z'.repeat(2000)), stream: true })) break
  await expect.poll(() => toy.liveBytes()).toBe(0)
  expect(toy.rows()).toBeLessThan(4000)
})

test.each<[string, string, RegExp, string | null]>([
  ['no JSON', '{', /the body is not valid JSON/, null],
  ['deeply nested lists', '['.repeat(5_000_000), /nested more than 1024 levels/, null],
  ['a number that only Python writes', '{"temperature": NaN}', /the body is not valid JSON/, null],
  ['no object', '[]', /the body is not a JSON object/, null],
  ['no messages', '{}', /messages is undefined but must be a list/, 'messages'],
])(
  'a body with %s is rejected with a JSON error that tells the client not to retry',
  async (_, body, message, param) => {
    const post = openaiFetch(await openToy())
    const response = await post(new URL('https://any.example/some/v1/chat/completions/'), {
      method: 'POST',
      body,
    })
    expect(response.status).toBe(400)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringMatching(message),
        type: 'invalid_request_error',
        param,
        code: 'unsupported',
      },
    })
  },
)

test.each<[object, string]>([
  [{ max_completion_tokens: 0 }, 'max_completion_tokens'],
  [{ temperature: 'hot' }, 'temperature'],
  [{ top_p: -1 }, 'top_p'],
  [{ min_p: 2 }, 'min_p'],
  [{ repetition_penalty: -1 }, 'repetition_penalty'],
  [{ logit_bias: { x: 1 } }, 'logit_bias'],
  [{ stop: [7] }, 'stop'],
  [{ seed: 0.5 }, 'seed'],
  [{ logprobs: true, top_logprobs: 1000 }, 'top_logprobs'],
  [{ top_logprobs: 1 }, 'top_logprobs'],
  [{ halfbyte: { topK: -1 } }, 'halfbyte.topK'],
  [{ halfbyte: [] }, 'halfbyte'],
  [{ chat_template_kwargs: 'x' }, 'chat_template_kwargs'],
  [{ chat_template_kwargs: { messages: [] } }, 'chat_template_kwargs'],
  [{ tool_choice: 7 }, 'tool_choice'],
  [{ tools: {} }, 'tools'],
  [{ response_format: { type: 'x' } }, 'response_format'],
])('the error of %o names its field', async (wrong, param) => {
  const error = await (await client()).chat.completions
    .create({ ...said('hi'), ...wrong } as OpenAI.ChatCompletionCreateParamsNonStreaming)
    .catch((error) => error)
  expect(error).toMatchObject({ status: 400, param })
})

test('a body may be a stream, but not an endless one, and an abort ends one that stalls', async () => {
  const post = openaiFetch(await openToy())
  const send = (pull: UnderlyingDefaultSource['pull'], signal?: AbortSignal) =>
    post('http://page/v1/chat/completions', {
      method: 'POST',
      body: new ReadableStream({ pull: pull! }),
      duplex: 'half',
      signal: signal ?? null,
    } as RequestInit)
  const bytes = new TextEncoder().encode(JSON.stringify(said('hé')))
  let at = 0
  const whole = await send((controller) => {
    if (at < bytes.length) controller.enqueue(bytes.slice(at, ++at))
    else controller.close()
  })
  expect((await whole.json()).choices[0].message.content).toBe('You said hé')
  const blanks = new Uint8Array(2 ** 20).fill(32)
  const endless = await send((controller) => controller.enqueue(blanks))
  expect(endless.status).toBe(400)
  expect((await endless.json()).error.message).toContain('larger than 64 MiB')
  const stop = new AbortController()
  const stalled = send(() => new Promise(() => undefined), stop.signal)
  stop.abort(new Error('enough'))
  await expect(stalled).rejects.toThrow('enough')
})

test('anything other than an engine is rejected at once', () => {
  expect(() => openaiFetch(undefined as never)).toThrow(/the engine is undefined/)
})
