// Prompt API. In: a page's calls of `LanguageModel`, a toy model. Out: what the browsers' own would do.
/// <reference types="dom-chromium-ai" />
import { expect, expectTypeOf, test } from 'vitest'
import { toyModel } from '../../engine/testing/toy-model.ts'
import type { LoadProgress } from '../../engine/wire/protocol.ts'
import { openToy } from '../testing/toy-engine.ts'
import { type CreateOptions, type LocalLanguageModel, type PromptOptions, promptApi } from './prompt-api.ts'
import { MOST_ROUNDS } from './prompt-api-tools.ts'

const greedy = { samplingMode: 'most-predictable' } as const

test('the types are those of the browsers, less what they deprecate', () => {
  type Current = Omit<
    LanguageModel,
    'measureInputUsage' | 'inputUsage' | 'inputQuota' | 'onquotaoverflow' | 'topK' | 'temperature' | 'clone'
  >
  expectTypeOf<LocalLanguageModel>().toExtend<Current>()
  expectTypeOf<Omit<LanguageModelCreateOptions, 'monitor'>>().toExtend<CreateOptions>()
  expectTypeOf<LanguageModelPromptOptions>().toExtend<PromptOptions>()
})

test('availability follows the load, and a monitor sees shares of one', async () => {
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
    monitor: (monitor) =>
      monitor.addEventListener('downloadprogress', (event) => seen.push((event as ProgressEvent).loaded)),
  })
  expect(seen).toEqual([0.25, 1, 1])
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

test('a conversation goes on, streams pieces, and is counted', async () => {
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

test('what is appended is read with the next prompt', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const bare = await session.clone()
  await session.append([
    { role: 'user', content: [{ type: 'text', value: 'one' }] },
    { role: 'assistant', content: 'ok' },
  ])
  await Promise.all([session.prompt('two'), bare.prompt('two')])
  expect(session.contextUsage).toBeGreaterThan(bare.contextUsage)
})

test('a conversation that outgrows the context loses its oldest exchange, and says so', async () => {
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
  await expect(session.prompt('x'.repeat(200))).rejects.toMatchObject({ name: 'QuotaExceededError' })
})

test('destroying ends what runs, and everything after it, as an abort', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const running = session.prompt('x'.repeat(500))
  session.destroy()
  await expect(running).rejects.toMatchObject({ name: 'AbortError' })
  await expect(session.prompt('a')).rejects.toMatchObject({ name: 'AbortError' })
  await expect(session.clone()).rejects.toMatchObject({ name: 'AbortError' })
})

test('an aborted prompt rejects with the reason and leaves the conversation', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  await session.prompt('a')
  const used = session.contextUsage
  const reason = new Error('enough')
  await expect(session.prompt('b', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(await session.prompt('c')).toBe('You said c')
  expect(session.contextUsage).toBeGreaterThan(used)
})

test('what a text model cannot do is refused as the browsers refuse it', async () => {
  const model = promptApi(() => openToy())
  await expect(model.create({ expectedInputs: [{ type: 'audio' }] })).rejects.toMatchObject({
    name: 'NotSupportedError',
  })
  await expect(model.create({ samplingMode: 'creative', topK: 3 })).rejects.toThrow(TypeError)
  const session = await model.create(greedy)
  const image = [{ role: 'user', content: [{ type: 'image', value: new Blob() }] }]
  await expect(session.prompt(image)).rejects.toMatchObject({ name: 'NotSupportedError' })
  await expect(session.prompt([{ role: 'assistant', content: 'I', prefix: true }])).rejects.toMatchObject({
    name: 'NotSupportedError',
  })
})

const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'
const add = (execute: (given: { a: number }) => Promise<string>) => ({
  ...{ name: 'add', description: 'Adds.', execute },
  inputSchema: { type: 'object', properties: { a: { type: 'integer' } } },
})

test('tools are run, several at once, and the reply goes on from what they answer', async () => {
  let running = 0
  let most = 0
  const execute = async ({ a }: { a: number }) => {
    most = Math.max(most, ++running)
    await Promise.resolve()
    running--
    return `sum ${a + 1}`
  }
  const session = await promptApi(() => openToy()).create({
    ...{ ...greedy, tools: [add(execute)], expectedInputs: [{ type: 'tool-response' }] },
  })
  expect(await session.prompt(CALL + CALL)).toBe('You said You said sum 2')
  expect(most).toBe(2)
  let streamed = ''
  for await (const piece of session.promptStreaming(CALL)) streamed += piece
  expect(streamed).toBe('You said You said sum 2')
})

test('a tool that fails or never answers leaves the conversation as it was', async () => {
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

test('a model that calls for ever is ended', async () => {
  let calls = 0
  const execute = async () => {
    calls++
    return CALL
  }
  const session = await promptApi(() => openToy()).create({ ...greedy, tools: [add(execute)] })
  await expect(session.prompt(CALL)).rejects.toMatchObject({ name: 'OperationError' })
  expect(calls).toBe(MOST_ROUNDS)
})

test('a reply is held to a schema or an expression, and is none when it was cut off', async () => {
  const session = await promptApi(() => openToy()).create(greedy)
  const schema = { type: 'object', properties: { a: { enum: [1] } }, required: ['a'] }
  expect(JSON.parse(await session.prompt('x', { responseConstraint: schema }))).toEqual({ a: 1 })
  expect(await session.prompt('abc', { responseConstraint: /You said [a-z]{2}/ })).toBe('You said ab')
  const refused = { responseConstraint: { type: 'array', uniqueItems: true } }
  await expect(session.prompt('x', refused)).rejects.toMatchObject({ name: 'NotSupportedError' })
  await expect(session.prompt('x', { responseConstraint: /x/i })).rejects.toMatchObject({
    name: 'NotSupportedError',
  })
  const short = await promptApi(() => openToy(toyModel({ contextLength: 64 }))).create(greedy)
  await expect(short.prompt('x', { responseConstraint: /[a-zA-Z ]{200}/ })).rejects.toMatchObject({
    name: 'SyntaxError',
  })
})

test('tools that cannot be run are refused', async () => {
  const model = promptApi(() => openToy())
  const bare = { name: 'add', description: '', inputSchema: {} }
  await expect(model.create({ tools: [bare as never] })).rejects.toThrow(/no function execute/)
  await expect(model.create({ tools: [add(async () => ''), add(async () => '')] })).rejects.toThrow(TypeError)
})
