// OpenAI's responses. In: requests of OpenAI's own client on a toy model. Out: what the client makes of the
// answers and events.
import OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import { openToy } from '../../engine/api/testing/toy-engine.ts'
import { DEAD_POOL, toyModel } from '../../engine/testing/toy-model.ts'
import { openaiFetch } from '../openai.ts'

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming
type Streamed = OpenAI.Responses.ResponseStreamEvent

const warnings: string[] = []
afterEach(() => {
  warnings.length = 0
})

async function client(toy = toyModel()): Promise<OpenAI> {
  const fetch = openaiFetch(await openToy(toy), { onWarning: (sentence) => warnings.push(sentence) })
  return new OpenAI({ apiKey: 'none', baseURL: 'http://page/v1', fetch })
}

async function eventsOf(params: Params, toy?: ReturnType<typeof toyModel>): Promise<Streamed[]> {
  const events: Streamed[] = []
  const { responses } = await client(toy)
  for await (const event of await responses.create({ ...params, stream: true })) events.push(event)
  return events
}

const add = {
  type: 'function' as const,
  name: 'add',
  description: 'Adds one.',
  strict: true,
  parameters: { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] },
}
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
const asked = { model: 'toy', temperature: 0 }

test('a text is answered, and the response has the counts and the request’s settings', async () => {
  const { responses } = await client()
  const answer = await responses.create({ ...asked, input: 'hello', metadata: { a: 'b' } })
  expect(answer.output_text).toBe('You said hello')
  expect(answer).toMatchObject({
    object: 'response',
    status: 'completed',
    model: 'toy',
    error: null,
    incomplete_details: null,
    temperature: 0,
    metadata: { a: 'b' },
    store: false,
    text: { format: { type: 'text' } },
    output: [{ type: 'message', role: 'assistant', status: 'completed' }],
    usage: { output_tokens: 6, input_tokens_details: { cached_tokens: 0 } },
  })
  const { usage } = answer
  expect(usage!.total_tokens).toBe(usage!.input_tokens + usage!.output_tokens)
  expect(warnings).toEqual([])
})

test('instructions come before the items, and are joined with a system text among them', async () => {
  const { responses } = await client()
  const tokens = async (params: Params) => (await responses.create(params)).usage!.input_tokens
  const user: OpenAI.Responses.ResponseInputItem = {
    role: 'user',
    content: [{ type: 'input_text', text: 'hello' }],
  }
  const own = await tokens({ ...asked, input: [{ role: 'system', content: 'Be brief.' }, user] })
  expect(await tokens({ ...asked, input: [user], instructions: 'Be brief.' })).toBe(own)
  const both = await tokens({
    ...asked,
    instructions: 'Be kind.',
    input: [{ role: 'developer', content: 'Be brief.' }, user],
  })
  expect(both).toBe(own + 'Be kind.\n\n'.length)
})

test('the events of a text are numbered and come in the order of OpenAI’s server', async () => {
  const events = await eventsOf({ ...asked, input: 'hello' })
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
  const types = events.map(({ type }) => type)
  expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event] : []))
  expect(deltas.map(({ delta }) => delta).join('')).toBe('You said hello')
  expect(deltas.length).toBeGreaterThan(1)
  const first = events[0] as OpenAI.Responses.ResponseCreatedEvent
  const last = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent
  expect(first.response).toMatchObject({ status: 'in_progress', output: [], usage: null })
  expect(last.response.id).toBe(first.response.id)
  expect(new Set(deltas.map(({ item_id }) => item_id))).toEqual(new Set([last.response.output[0]!.id]))
})

test('the client’s own stream collects the same response as a single answer', async () => {
  const { responses } = await client()
  const params = { ...asked, input: CALL, tools: [add] }
  const streamed = await responses.stream(params).finalResponse()
  const whole = await responses.create(params)
  const plain = (output: OpenAI.Responses.ResponseOutputItem[]) =>
    output.map(({ id: _, ...item }) => JSON.parse(JSON.stringify(item)))
  expect(plain(streamed.output)).toMatchObject(plain(whole.output))
  expect(whole.output).toMatchObject([
    { type: 'message', content: [{ type: 'output_text', text: 'You said ' }] },
    { type: 'function_call', call_id: 'call00001', name: 'add', arguments: '{"a": 1}', status: 'completed' },
  ])
})

test('a call has its own events, and its output continues from there', async () => {
  const events = await eventsOf({ ...asked, input: CALL, tools: [add] })
  const at = events.findIndex(({ type }) => type === 'response.function_call_arguments.delta')
  expect(events.slice(at - 1)).toMatchObject([
    { type: 'response.output_item.added', output_index: 1, item: { status: 'in_progress', arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a": 1}' },
    { type: 'response.function_call_arguments.done', output_index: 1, arguments: '{"a": 1}', name: 'add' },
    { type: 'response.output_item.done', output_index: 1, item: { status: 'completed' } },
    { type: 'response.completed' },
  ])
  const { output } = (events.at(-1) as OpenAI.Responses.ResponseCompletedEvent).response
  const { responses } = await client()
  const next = await responses.create({
    ...asked,
    tools: [add],
    input: [
      { role: 'user', content: CALL },
      ...(output as OpenAI.Responses.ResponseInputItem[]),
      { type: 'function_call_output', call_id: 'call00001', output: '2' },
    ],
  })
  expect(next.output_text).toBe('You said 2')
})

test('a required call is made, and only one if calls must not be parallel', async () => {
  const { responses } = await client()
  const forced = { type: 'function', name: 'add' } as const
  const { output } = await responses.create({ ...asked, input: 'hi', tools: [add], tool_choice: forced })
  expect(output).toMatchObject([{ type: 'function_call', arguments: '{"a":1}' }])
  const one = { ...asked, input: CALL + CALL, tools: [add], parallel_tool_calls: false }
  const calls = (await responses.create(one)).output.filter(({ type }) => type === 'function_call')
  expect(calls).toHaveLength(1)
})

test('the client parses a reply that a schema constrains', async () => {
  const { responses } = await client()
  const format = { type: 'json_schema' as const, name: 'one', strict: true, schema: add.parameters }
  const parsed = await responses.parse({ ...asked, input: 'x', text: { format } })
  expect(parsed.output_parsed).toEqual({ a: 1 })
})

test('a reply that is cut off has the status incomplete, whole and as a stream', async () => {
  const params = { ...asked, input: 'hello', max_output_tokens: 3 }
  const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  expect(await (await client()).responses.create(params)).toMatchObject(cut)
  expect((await eventsOf(params)).at(-1)).toMatchObject({ type: 'response.incomplete', response: cut })
})

test('log-probabilities come with the text and with its chunks', async () => {
  const params: Params = { ...asked, input: 'hi', include: ['message.output_text.logprobs'], top_logprobs: 2 }
  const events = await eventsOf(params)
  const pieces = events.flatMap((event) =>
    event.type === 'response.output_text.delta' ? event.logprobs : [],
  )
  const { output } = (events.at(-1) as OpenAI.Responses.ResponseCompletedEvent).response
  const [{ content }] = output as [OpenAI.Responses.ResponseOutputMessage]
  expect((content[0] as OpenAI.Responses.ResponseOutputText).logprobs).toEqual(pieces)
  expect(pieces.map(({ token }) => token).join('')).toBe('You said hi')
  expect(pieces[0]!.top_logprobs).toHaveLength(2)
})

test.each<[object, string, string]>([
  [{ previous_response_id: 'resp_1' }, 'previous_response_id', 'nothing is stored here'],
  [{ conversation: 'conv_1' }, 'conversation', 'send the whole conversation as input'],
  [{ prompt: { id: 'p' } }, 'prompt', 'nothing is stored here'],
  [{ background: true }, 'background', 'nothing is stored here'],
  [{ max_output_tokens: 0 }, 'max_output_tokens', 'max_output_tokens is 0'],
  [{ input: undefined }, 'input', 'must be a string or a list of items'],
  [{ input: [{ type: 'item_reference', id: 'a' }] }, 'input', '"item_reference"'],
  [{ input: [{ role: 'user', content: [{ type: 'input_image' }] }] }, 'input', '"input_image"'],
  [{ instructions: 7 }, 'instructions', 'instructions is 7'],
  [{ text: { format: { type: 'json_schema' } } }, 'text.format.schema', 'must be a JSON Schema'],
  [{ text: { format: { type: 'yaml' } } }, 'text.format', '"yaml"'],
  [{ tools: [{ type: 'web_search' }] }, 'tools', '"web_search"'],
  [{ tool_choice: { type: 'function', name: 'f' }, tools: [] }, 'tool_choice', '"f" must be called'],
  [{ temperature: -1 }, 'temperature', 'temperature is -1'],
])('%o is rejected with the name of its field, whole and as a stream', async (wrong, param, says) => {
  const { responses } = await client()
  for (const stream of [false, true]) {
    const error = await responses
      .create({ ...asked, input: 'hi', ...wrong, stream } as Params)
      .catch((error: unknown) => error)
    expect(error).toMatchObject({ status: 400, param, message: expect.stringContaining(says) })
  }
})

test('fields without a counterpart are named once', async () => {
  const { responses } = await client()
  await responses.create({ ...asked, input: 'hi', user: 'me', store: true, background: false })
  expect(warnings).toEqual([expect.stringContaining('"user"')])
})

test('an engine that fails before the reply causes an error; in the middle of a stream, the response fails', async () => {
  const { responses } = await client()
  for (const stream of [false, true])
    await expect(responses.create({ ...asked, input: DEAD_POOL, stream } as Params)).rejects.toMatchObject({
      status: 500,
    })
  const engine = await openToy()
  const own = new OpenAI({ apiKey: 'none', baseURL: 'http://page/v1', fetch: openaiFetch(engine) })
  const events: Streamed[] = []
  for await (const event of await own.responses.create({ ...asked, input: 'y'.repeat(500), stream: true })) {
    events.push(event)
    if (events.length === 5) await engine.dispose()
  }
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: {
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('disposed') },
    },
  })
})

test('a reader that cancels the stream ends the reply and frees its state', async () => {
  const toy = toyModel()
  const { responses } = await client(toy)
  for await (const _ of await responses.create({ ...asked, input: 'z'.repeat(2000), stream: true })) break
  await expect.poll(() => toy.liveBytes()).toBe(0)
  expect(toy.rows()).toBeLessThan(4000)
})
