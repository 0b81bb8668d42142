// What clients and servers of OpenAI's API agree on besides its fields. In: null, -1 and missing ids as other
// programs send them, HEAD, and requests for one of several models. Out: the answers of an engine.
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { fakeEngine } from '../../engine/api/fake/fake-engine.ts'
import { openEncoder } from '../../engine/api/testing/toy-embedder.ts'
import { openToy } from '../../engine/api/testing/toy-engine.ts'
import { openai, openaiFetch, type RequestUsage } from '../openai.ts'

const messages = [{ role: 'user', content: 'hello' }]
const FORMS = [
  ['chat/completions', { messages, temperature: 0 }],
  ['completions', { prompt: 'ab', temperature: 0, max_tokens: 3 }],
  ['responses', { input: 'hello', temperature: 0 }],
] as const

type Post = ReturnType<typeof openaiFetch>
const send = (post: Post, route: string, body: object) =>
  post(`http://page/v1/${route}`, { method: 'POST', body: JSON.stringify(body) })
/** The answer without the fields that differ each time or depend on the cache. */
async function answer(post: Post, route: string, body: object): Promise<unknown> {
  const response = await send(post, route, body)
  const text = (await response.text()).replaceAll(
    /"(?:id|created|created_at|cached_tokens)":("[^"]*"|\d+)/g,
    '',
  )
  return { status: response.status, text }
}

/** Every field of a reply, in the form in which clients send None. */
const NOTHING = Object.fromEntries(
  [
    ...[
      'tools',
      'tool_choice',
      'response_format',
      'seed',
      'top_p',
      'top_k',
      'min_p',
      'typical_p',
      'n',
      'stop',
    ],
    ...['logit_bias', 'user', 'functions', 'stream', 'stream_options', 'logprobs', 'top_logprobs', 'suffix'],
    ...[
      'frequency_penalty',
      'presence_penalty',
      'repetition_penalty',
      'parallel_tool_calls',
      'echo',
      'model',
    ],
    ...['max_completion_tokens', 'max_output_tokens', 'reasoning_effort', 'chat_template_kwargs', 'halfbyte'],
    ...['metadata', 'store', 'service_tier', 'instructions', 'previous_response_id', 'text', 'reasoning'],
  ].map((name) => [name, null]),
)

test.each(FORMS)('null means absent in every field of %s', async (route, body) => {
  const warnings: string[] = []
  const post = openaiFetch(await openToy(), { onWarning: (sentence) => warnings.push(sentence) })
  expect(await answer(post, route, { ...NOTHING, ...body })).toEqual(await answer(post, route, body))
  expect(warnings).toEqual([])
})

test('null means absent inside messages, calls and tools, but not in schemas and arguments', async () => {
  const seen: unknown[] = []
  await using engine = await fakeEngine(({ messages, options }) => {
    seen.push({ messages, schema: options })
    return 'ok'
  })
  const parameters = { type: 'object', properties: { a: { enum: [null, 1] } }, default: null }
  const body = {
    messages: [
      { role: 'user', content: 'hi', name: null, tool_calls: null },
      {
        role: 'assistant',
        content: null,
        refusal: null,
        reasoning_content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: { a: null } } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '2', name: null },
    ],
    tools: [{ type: 'function', function: { name: 'f', description: null, strict: null, parameters } }],
    tool_choice: 'auto',
  }
  expect((await send(openaiFetch(engine), 'chat/completions', body)).status).toBe(200)
  expect(seen).toMatchObject([
    { messages: [{ content: 'hi' }, { toolCalls: [{ arguments: { a: null } }] }, { name: 'f' }] },
  ])
})

test('calls and answers without ids are matched in order', async () => {
  const seen: unknown[] = []
  await using engine = await fakeEngine(({ messages }) => {
    seen.push(messages.slice(1))
    return 'ok'
  })
  const call = (id: string | null, name: string) => ({
    id,
    type: 'function',
    function: { name, arguments: '{}' },
  })
  const body = {
    messages: [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call(null, 'f'), call('call00001', 'g')] },
      { role: 'tool', tool_call_id: null, content: '1' },
      { role: 'tool', tool_call_id: 'call00001', content: '2' },
      { role: 'assistant', tool_calls: [call(null, 'h')] },
      { role: 'tool', content: '3' },
    ],
  }
  expect((await send(openaiFetch(engine), 'chat/completions', body)).status).toBe(200)
  expect(seen).toMatchObject([
    [
      { toolCalls: [{ id: 'call00002' }, { id: 'call00001' }] },
      { toolCallId: 'call00002', name: 'f' },
      { toolCallId: 'call00001', name: 'g' },
      { toolCalls: [{ id: 'call00003' }] },
      { toolCallId: 'call00003', name: 'h' },
    ],
  ])
})

test.each(FORMS)('-1 means a random seed, all tokens and no limit in %s', async (route, body) => {
  const post = openaiFetch(await openToy())
  const limit = route === 'responses' ? 'max_output_tokens' : 'max_tokens'
  const { temperature: _, ...warm } = body
  const asked = { ...warm, halfbyte: { minP: 0.5 } }
  expect((await send(post, route, { ...asked, seed: -1, top_k: -1 })).status).toBe(200)
  const same = { ...body, [limit]: -1, stop: ['z', ''] }
  expect(await answer(post, route, same)).toMatchObject({ status: 200 })
  for (const wrong of [{ seed: -2 }, { top_k: -2 }, { [limit]: -2 }])
    expect((await send(post, route, { ...body, ...wrong })).status).toBe(400)
})

test('a list that claims four billion stop texts is not iterated over', async () => {
  const { completions } = openai(await openToy()).chat
  const stop = new Array(2 ** 32 - 1)
  const { choices } = await completions.create({ messages, stop, temperature: 0, stream: false })
  expect(choices[0]?.message.content).toBe('You said hello')
})

test('a completion with max_tokens -1 continues until it stops', async () => {
  const post = openaiFetch(await openToy())
  const body = { prompt: 'a', temperature: 0, max_tokens: -1, stop: ['z', ''] }
  const { choices } = await (await send(post, 'completions', body)).json()
  expect(choices[0].text).toBe('bcdefghijklmnopqrstuvwxy')
})

test('a grammar of llama.cpp constrains the reply, and an empty one does not', async () => {
  const post = openaiFetch(await openToy())
  const replyTo = async (grammar: string) => {
    const answer = await send(post, 'chat/completions', { messages, temperature: 0, grammar })
    return (await answer.json()).choices[0].message.content
  }
  expect(await replyTo('root ::= "yes" | "no"')).toMatch(/^(?:yes|no)$/)
  expect(await replyTo('')).toBe('You said hello')
  expect((await send(post, 'chat/completions', { messages, grammar: 'root ::= (' })).status).toBe(400)
})

test('headers keep proxies from caching or buffering a stream', async () => {
  const post = openaiFetch(await openToy())
  for (const [route, body] of FORMS) {
    const { headers } = await send(post, route, { ...body, stream: true })
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(headers.get('cache-control')).toBe('no-cache, no-transform')
    expect(headers.get('x-accel-buffering')).toBe('no')
  }
})

test('if usage was requested, it is null in all chunks but the last', async () => {
  const client = new OpenAI({
    apiKey: 'none',
    baseURL: 'http://page/v1',
    fetch: openaiFetch(await openToy()),
  })
  const asked = { model: 'toy', messages: [{ role: 'user' as const, content: 'hi' }], stream: true as const }
  const usages: unknown[] = []
  for await (const { usage } of await client.chat.completions.create({
    ...asked,
    stream_options: { include_usage: true },
  }))
    usages.push(usage)
  expect(usages.at(-1)).toMatchObject({ completion_tokens: expect.any(Number) })
  expect(new Set(usages.slice(0, -1))).toEqual(new Set([null]))
  for await (const chunk of await client.chat.completions.create(asked))
    expect(chunk).not.toHaveProperty('usage')
})

test('HEAD is answered like GET, without a body', async () => {
  const post = openaiFetch(await openToy())
  for (const path of ['models', 'models/toy', 'nothing']) {
    const got = await post(`http://page/v1/${path}`)
    const head = await post(`http://page/v1/${path}`, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([
      got.status,
      got.headers.get('content-type'),
      '',
    ])
  }
})

test('the model name in the request selects one of several engines', async () => {
  const [small, large] = [await fakeEngine(['from small', 'first again']), await fakeEngine(['from large'])]
  const embedder = await openEncoder(3)
  const post = openaiFetch({ small, 'the/large one': large }, { embedder })
  const client = new OpenAI({ apiKey: 'none', baseURL: 'http://page/v1', fetch: post })
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual([
    'small',
    'the/large one',
    embedder.model.id,
  ])
  expect(await client.models.retrieve('the/large one')).toMatchObject({ id: 'the/large one' })
  const ask = (model: string) =>
    client.chat.completions.create({ model, messages: [{ role: 'user', content: 'hi' }] })
  for (const model of ['the/large one', 'small']) {
    const { choices, model: answering } = await ask(model)
    expect([answering, choices[0]?.message.content]).toEqual([
      model,
      `from ${model.split(/[/ ]/).at(-2) ?? model}`,
    ])
  }
  await expect(ask('gpt')).rejects.toMatchObject({
    status: 404,
    code: 'model_not_found',
    param: 'model',
    message: expect.stringContaining('"gpt" is not served here; use small or the/large one'),
  })
  await expect(ask(embedder.model.id)).rejects.toMatchObject({ status: 400, param: 'model' })
  const first = await send(post, 'chat/completions', { messages })
  expect((await first.json()).choices[0].message.content).toBe('first again')
  const vectors = await send(post, 'embeddings', { input: 'a', model: 'small' })
  const others = await send(post, 'embeddings', { input: 'a' })
  expect([(await vectors.json()).model, (await others.json()).model]).toEqual(['small', embedder.model.id])
  expect((await send(post, 'embeddings', { input: 'a', model: 'gpt' })).status).toBe(404)
})

test('with one engine, any name is answered', async () => {
  const post = openaiFetch(await fakeEngine(['hi', 'hi']))
  for (const model of ['gpt', null])
    expect((await send(post, 'chat/completions', { messages, model })).status).toBe(200)
})

test('the usage of each request is reported when it ends', async () => {
  const told: RequestUsage[] = []
  const embedder = await openEncoder(1)
  const post = openaiFetch(await openToy(), { embedder, onUsage: (usage) => told.push(usage) })
  for (const stream of [false, true]) {
    for (const [route, body] of FORMS) {
      await (await send(post, route, { ...body, stream })).text()
      const completionTokens = route === 'completions' ? 3 : 6
      expect(told.pop()).toMatchObject({ model: 'toy', completionTokens, timings: expect.any(Object) })
    }
  }
  await send(post, 'embeddings', { input: ['the cat', 'a'] })
  await send(post, 'completions', { prompt: 'ab', max_tokens: 0 })
  expect(told).toEqual([
    { model: embedder.model.id, promptTokens: expect.any(Number), cachedTokens: 0, completionTokens: 0 },
    { model: 'toy', promptTokens: 2, cachedTokens: 0, completionTokens: 0 },
  ])
})
