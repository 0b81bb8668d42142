// Prompt API. In: a page's calls of `LanguageModel`, a toy model. Out: the browsers' own behaviour.
/// <reference types="dom-chromium-ai" />

import { expect, expectTypeOf, test, vi } from 'vitest'
import { reasoningFormOf } from '../core/text/chat/reasoning.ts'
import { openToy } from '../engine/api/testing/toy-engine.ts'
import type { LoadProgress } from '../engine/api/types.ts'
import { toyModel } from '../engine/testing/toy-model.ts'
import { MAX_ROUNDS, quotaExceeded } from './prompt-api/input.ts'
import {
  type CreateOptions,
  type DownloadMonitor,
  type LanguageModelClass,
  type LocalLanguageModel,
  type PromptOptions,
  promptApi,
} from './prompt-api.ts'

const greedy = { samplingMode: 'most-predictable' } as const

test('the types match the browsers’', () => {
  expectTypeOf<LocalLanguageModel>().toExtend<LanguageModel>()
  expectTypeOf<LanguageModelClass>().toExtend<Pick<typeof LanguageModel, 'create' | 'availability'>>()
  expectTypeOf<LanguageModelCreateOptions>().toExtend<CreateOptions>()
  expectTypeOf<LanguageModelPromptOptions>().toExtend<PromptOptions>()
  expectTypeOf<DownloadMonitor>().toExtend<CreateMonitor>()
})

test('availability follows the load, and a monitor gets fractions of 1', async () => {
  const seen: number[] = []
  const model = promptApi(async ({ onProgress }) => {
    const step = (loaded: number): LoadProgress => ({ phase: 'download', loaded, total: 8, cached: false })
    onProgress(step(2))
    expect(await model.availability()).toBe('downloading')
    onProgress(step(8))
    return openToy()
  })
  expect(await model.availability()).toBe('downloadable')
  await model.create({
    monitor: (monitor) => monitor.addEventListener('downloadprogress', ({ loaded }) => seen.push(loaded)),
  })
  expect(seen).toEqual([0, 0.25, 1])
  expect(await model.availability()).toBe('available')
})

test('sessions share one engine, and a load that failed is tried again', async () => {
  let loads = 0
  const model = promptApi(async () => {
    if (loads++ === 0) throw new Error('no network')
    return openToy()
  })
  await expect(model.create()).rejects.toThrow('no network')
  expect(await model.availability()).toBe('downloadable')
  const one = await model.create(greedy)
  const two = await model.create(greedy)
  expect(loads).toBe(2)
  expect(await Promise.all([one.prompt('a'), two.prompt('b')])).toEqual(['You said a', 'You said b'])
})

test('a conversation continues, streams pieces, and its tokens are counted', async () => {
  const session = await promptApi(() => openToy()).create({
    ...greedy,
    initialPrompts: [{ role: 'system', content: 'Be brief.' }],
  })
  expect(await session.prompt('hello')).toBe('You said hello')
  const before = session.contextUsage
  expect(before).toBeGreaterThan(0)
  const pieces: string[] = []
  for await (const piece of session.promptStreaming('again')) pieces.push(piece)
  expect(pieces.join('')).toBe('You said again')
  expect(session.contextUsage).toBeGreaterThan(before)
  expect(await session.measureContextUsage('hello')).toBeGreaterThan(4)
})

test('appended messages are read with the next prompt', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const bare = await session.clone()
  await session.append([
    { role: 'user', content: [{ type: 'text', value: 'one' }] },
    { role: 'assistant', content: 'ok' },
  ])
  await Promise.all([session.prompt('two'), bare.prompt('two')])
  expect(session.contextUsage).toBeGreaterThan(bare.contextUsage)
})

test('a conversation that outgrows the context drops its oldest exchange and fires an event', async () => {
  const session = await promptApi(() => openToy(toyModel({ contextLength: 140 }))).create({
    ...greedy,
    initialPrompts: [{ role: 'system', content: 'S' }],
  })
  let overflows = 0
  session.oncontextoverflow = () => overflows++
  const long = 'abcdefghijklmnopqrst'
  for (let turn = 0; turn < 6; turn++) expect(await session.prompt(long)).toBe(`You said ${long}`)
  expect(overflows).toBeGreaterThan(0)
  expect(session.contextUsage).toBeLessThanOrEqual(session.contextWindow)
  const requested = await session.measureContextUsage([
    { role: 'system', content: 'S' },
    { role: 'user', content: 'x'.repeat(130) },
  ])
  await expect(session.prompt('x'.repeat(130))).rejects.toMatchObject({
    name: 'QuotaExceededError',
    requested,
    quota: 140,
  })
})

test('destroying a session aborts running and later prompts', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const running = session.prompt('x'.repeat(500))
  session.destroy()
  await expect(running).rejects.toMatchObject({ name: 'AbortError' })
  await expect(session.prompt('a')).rejects.toMatchObject({ name: 'AbortError' })
  await expect(session.clone()).rejects.toMatchObject({ name: 'AbortError' })
})

test('an aborted prompt rejects with the reason and leaves the conversation unchanged', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  await session.prompt('a')
  const used = session.contextUsage
  const reason = new Error('enough')
  await expect(session.prompt('b', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(await session.prompt('c')).toBe('You said c')
  expect(session.contextUsage).toBeGreaterThan(used)
})

test('requests that a text model does not support are rejected as in browsers', async () => {
  const model = promptApi(() => openToy())
  await expect(model.create({ expectedInputs: [{ type: 'audio' }] })).rejects.toMatchObject({
    name: 'NotSupportedError',
  })
  await expect(model.create({ samplingMode: 'creative', topK: 3 })).rejects.toThrow(TypeError)
  for (const samplingMode of ['toString', 'bold'] as unknown as 'creative'[])
    await expect(model.create({ samplingMode })).rejects.toThrow(
      /samplingMode is "\w+" but must be most-pred/,
    )
  const session = await model.create(greedy)
  const image = [{ role: 'user', content: [{ type: 'image', value: new Blob() }] }]
  await expect(session.prompt(image)).rejects.toMatchObject({ name: 'NotSupportedError' })
})

test('availability depends on the options', async () => {
  const model = promptApi(() => openToy())
  expect(await model.availability({ expectedInputs: [{ type: 'text' }] })).toBe('downloadable')
  const sees = { expectedInputs: [{ type: 'image' }] }
  expect(await model.availability(sees)).toBe('downloadable')
  expect(await model.availability({ expectedOutputs: [{ type: 'image' }] })).toBe('unavailable')
  await expect(model.create(sees)).rejects.toMatchObject({
    name: 'NotSupportedError',
    message: expect.stringContaining('load it with the option vision'),
  })
  expect(await model.availability(sees)).toBe('unavailable')
  await expect(model.availability({ samplingMode: 'creative', topK: 3 })).rejects.toThrow(TypeError)
})

test('a reply continues the prefix at the end of the prompt, without repeating it', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const user = { role: 'user', content: 'hello' }
  const prefix = { role: 'assistant', content: 'xx', prefix: true }
  expect(await session.prompt([user, prefix])).toBe('ello')
  const whole = await promptApi(() => openToy()).create(greedy)
  await whole.prompt([user])
  expect(session.contextUsage).toBe(whole.contextUsage)
  await session.append([user])
  let streamed = ''
  for await (const piece of session.promptStreaming([prefix])) streamed += piece
  expect(streamed).toBe('ello')
})

test('a prefix anywhere else is a syntax error', async () => {
  const model = promptApi(() => openToy())
  const session = await model.create(greedy)
  const prefix = { role: 'assistant', content: 'You', prefix: true } as const
  const wrong = { name: 'SyntaxError' }
  await expect(session.prompt([prefix, { role: 'user', content: 'a' }])).rejects.toMatchObject(wrong)
  await expect(session.prompt([{ ...prefix, role: 'user' }])).rejects.toMatchObject(wrong)
  await expect(session.append([prefix])).rejects.toMatchObject(wrong)
  await expect(model.create({ initialPrompts: [prefix] })).rejects.toMatchObject(wrong)
})

test('pending messages count, also under the older names of the properties', async () => {
  const initialPrompts = [{ role: 'system', content: 'Be brief.' }]
  const session = await promptApi(() => openToy()).create({ ...greedy, initialPrompts })
  const first = await session.measureContextUsage(initialPrompts)
  expect([session.contextUsage, session.inputUsage]).toEqual([first, first])
  expect(session.inputQuota).toBe(session.contextWindow)
  await session.append('one more')
  expect(session.contextUsage).toBeGreaterThan(first)
  expect((await session.clone()).contextUsage).toBe(session.contextUsage)
  expect(await session.measureInputUsage('a')).toBe(await session.measureContextUsage('a'))
  const model = await promptApi(() => openToy()).create({ temperature: 0.5, topK: 3 })
  expect([model.temperature, model.topK, session.temperature, session.topK]).toEqual([0.5, 3, 0, 40])
})

test('prompts that fill the context are rejected with the numbers, from any source', async () => {
  const model = promptApi(() => openToy(toyModel({ contextLength: 60 })))
  const initialPrompts = [{ role: 'user', content: 'x'.repeat(70) }]
  const quota = { name: 'QuotaExceededError', quota: 60, requested: expect.any(Number) }
  await expect(model.create({ initialPrompts })).rejects.toMatchObject(quota)
  const session = await model.create(greedy)
  await session.append('a')
  const before = session.contextUsage
  const error = await session.append('x'.repeat(70)).catch((error) => error)
  expect(error).toMatchObject(quota)
  expect(error.requested).toBeGreaterThan(60)
  expect(session.contextUsage).toBe(before)
  expect(await session.prompt('b')).toBe('You said b')
})

test("the platform's own quota error is used if there is one", () => {
  class QuotaExceededError extends DOMException {
    readonly numbers: object

    constructor(message: string, numbers: object) {
      super(message, 'QuotaExceededError')
      this.numbers = numbers
    }
  }
  vi.stubGlobal('QuotaExceededError', QuotaExceededError)
  const error = quotaExceeded(7, 5)
  vi.unstubAllGlobals()
  expect(error).toBeInstanceOf(QuotaExceededError)
  expect(error).toMatchObject({ numbers: { requested: 7, quota: 5 } })
  expect(error.message).toBe(
    'the conversation needs 7 tokens but the context has room for 5; shorten the input',
  )
})

test('append makes room like a prompt, under both names of the event', async () => {
  const session = await promptApi(() => openToy(toyModel({ contextLength: 140 }))).create(greedy)
  const heard: string[] = []
  session.oncontextoverflow = ({ type }) => heard.push(type)
  session.onquotaoverflow = ({ type }) => heard.push(type)
  await session.prompt('abcdefghijklmnopqrst')
  await session.append('x'.repeat(90))
  expect(heard).toEqual(['contextoverflow', 'quotaoverflow'])
  expect(session.contextUsage).toBeLessThan(140)
})

test('every wait ends with its signal’s reason', async () => {
  const model = promptApi(() => openToy())
  const session = await model.create(greedy)
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  await expect(model.create({ signal })).rejects.toBe(reason)
  await expect(session.append('a', { signal })).rejects.toBe(reason)
  await expect(session.clone({ signal })).rejects.toBe(reason)
  await expect(session.measureContextUsage('a', { signal })).rejects.toBe(reason)
  const stop = new AbortController()
  const reader = session.promptStreaming('x'.repeat(400), { signal: stop.signal }).getReader()
  await reader.read()
  stop.abort(reason)
  await expect(
    (async () => {
      while (!(await reader.read()).done);
    })(),
  ).rejects.toBe(reason)
  const options = { responseConstraint: /You said [a-z]/, omitResponseConstraintInput: true }
  expect(await session.prompt('abc', options)).toBe('You said a')
})

const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
const add = (execute: (given: { a: number }) => Promise<string>) => ({
  name: 'add',
  description: 'Adds.',
  execute,
  inputSchema: { type: 'object', properties: { a: { type: 'integer' } } },
})

test('tools run in parallel, and the reply continues from their results', async () => {
  let running = 0
  let most = 0
  const execute = async ({ a }: { a: number }) => {
    most = Math.max(most, ++running)
    await Promise.resolve()
    running--
    return `sum ${a + 1}`
  }
  const session = await promptApi(() => openToy()).create({
    ...greedy,
    tools: [add(execute)],
    expectedInputs: [{ type: 'tool-response' }],
  })
  expect(await session.prompt(CALL + CALL)).toBe('You said You said sum 2')
  expect(most).toBe(2)
  let streamed = ''
  for await (const piece of session.promptStreaming(CALL)) streamed += piece
  expect(streamed).toBe('You said You said sum 2')
})

test('a tool that fails or never answers leaves the conversation unchanged', async () => {
  const failure = new Error('no')
  const answers = [() => Promise.reject(failure), () => new Promise<string>(() => undefined)]
  const session = await promptApi(() => openToy()).create({
    ...greedy,
    tools: [add(() => answers.shift()!())],
  })
  const bare = await session.clone()
  await expect(session.prompt(CALL)).rejects.toBe(failure)
  const stop = new AbortController()
  const stuck = session.prompt(CALL, { signal: stop.signal })
  const next = session.prompt('hi')
  const reason = new Error('enough')
  await expect.poll(() => answers.length).toBe(0)
  stop.abort(reason)
  await expect(stuck).rejects.toBe(reason)
  expect(await next).toBe('You said hi')
  await bare.prompt('hi')
  expect(session.contextUsage).toBe(bare.contextUsage)
})

test('a model that calls tools forever is stopped', async () => {
  let calls = 0
  const execute = async () => {
    calls++
    return CALL
  }
  const session = await promptApi(() => openToy()).create({ ...greedy, tools: [add(execute)] })
  await expect(session.prompt(CALL)).rejects.toMatchObject({ name: 'OperationError' })
  expect(calls).toBe(MAX_ROUNDS)
})

test('a reply is constrained by a schema or an expression, and rejects if it was cut off', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const schema = { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] }
  expect(JSON.parse(await session.prompt('x', { responseConstraint: schema }))).toEqual({ a: 1 })
  expect(await session.prompt('abc', { responseConstraint: /You said [a-z]{2}/ })).toBe('You said ab')
  const refused = { responseConstraint: { type: 'array', unevaluatedItems: false } }
  await expect(session.prompt('x', refused)).rejects.toMatchObject({ name: 'NotSupportedError' })
  await expect(session.prompt('x', { responseConstraint: /x/i })).rejects.toMatchObject({
    name: 'NotSupportedError',
  })
  const short = await promptApi(() => openToy(toyModel({ contextLength: 64 }))).create(greedy)
  await expect(short.prompt('x', { responseConstraint: /[a-zA-Z ]{200}/ })).rejects.toMatchObject({
    name: 'SyntaxError',
  })
})

test('tools that cannot be run are rejected', async () => {
  const model = promptApi(() => openToy())
  const bare = { name: 'add', description: '', inputSchema: {} }
  await expect(model.create({ tools: [bare as never] })).rejects.toThrow(/no execute function/)
  await expect(model.create({ tools: [add(async () => ''), add(async () => '')] })).rejects.toThrow(TypeError)
})

test('a thought is not shown, in a whole reply or a stream', async () => {
  const reasoning = reasoningFormOf('<think></think>')
  const session = await promptApi(() => openToy(toyModel({ reasoning }))).create(greedy)
  expect(await session.prompt('<think>A fox.</think>Hi')).toBe('Hi')
  const pieces: string[] = []
  for await (const piece of session.promptStreaming('<think>A fox.</think>Hi')) pieces.push(piece)
  expect(pieces.join('')).toBe('Hi')
  expect(pieces).not.toContain('')
})
