// Sampling through the engine. In: a toy model behind the real service and wire. Out: log-probabilities,
// processors and bans as callers see them.
import { expect, test } from 'vitest'
import { type GenerateOptions, isHalfbyteError, type TextChunk } from '../../index.ts'
import { toyModel } from '../testing/toy-model.ts'
import { GREEDY, openToy } from './testing/toy-engine.ts'

test('the model’s recommendations apply unless a reply overrides them', async () => {
  const banned = { bannedTokens: [byteOf('c')] }
  const engine = await openToy(toyModel({ sampling: banned }))
  expect(engine.model.sampling).toEqual(banned)
  const first = (options: GenerateOptions) =>
    engine.complete('ab', { ...GREEDY, maxTokens: 1, ...options }).text()
  expect(await first({})).not.toBe('c')
  expect(await first({ bannedTokens: undefined })).not.toBe('c')
  expect(await first({ bannedTokens: [] })).toBe('c')
})

/** The address of a module with this source. */
const moduleOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
const byteOf = (letter: string) => letter.charCodeAt(0)

test('log-probabilities arrive with the chunks and again with the result', async () => {
  const engine = await openToy()
  const reply = engine.complete('ab', { ...GREEDY, maxTokens: 4, logprobs: 2 })
  const chunks: TextChunk[] = []
  for await (const chunk of reply) chunks.push(chunk)
  const { text, tokens, logprobs } = await reply.result
  expect(text).toBe('cdef')
  expect(logprobs?.map(({ id }) => id)).toEqual(tokens)
  expect(chunks.flatMap((chunk) => chunk.logprobs)).toEqual(logprobs)
  // One logit is 50, the other 257 are 0.
  expect(logprobs?.[0]).toEqual({
    id: byteOf('c'),
    text: 'c',
    bytes: [byteOf('c')],
    logprob: expect.closeTo(0, 6),
    top: [
      { id: byteOf('c'), text: 'c', bytes: [byteOf('c')], logprob: expect.closeTo(0, 6) },
      { id: 0, text: '\0', bytes: [0], logprob: expect.closeTo(-50, 4) },
    ],
  })
})

test('log-probabilities of tokens that have no text yet arrive with the chunk that they complete', async () => {
  const engine = await openToy()
  const reply = engine.createSession().send('é', { ...GREEDY, logprobs: 0 })
  const sizes: number[] = []
  for await (const chunk of reply) {
    sizes.push(chunk.tokens)
    expect(chunk.logprobs).toHaveLength(chunk.tokens)
  }
  expect(sizes).toEqual([1, 2])
  const { logprobs } = await reply.result
  expect(logprobs?.map(({ text }) => text)).toEqual(['You said ', '\ufffd', '\ufffd'])
  expect(logprobs?.every(({ top }) => top.length === 0)).toBe(true)
})

test('without the option there are none', async () => {
  const reply = (await openToy()).complete('ab', { ...GREEDY, maxTokens: 2 })
  for await (const chunk of reply) expect(chunk).not.toHaveProperty('logprobs')
  expect((await reply.result).logprobs).toBeUndefined()
})

test('banned and forced tokens reach the sampler', async () => {
  const engine = await openToy()
  const banned = await engine.complete('ab', { ...GREEDY, maxTokens: 1, bannedTokens: [byteOf('c')] }).result
  expect(banned.tokens).toEqual([0])
  const forced = [byteOf('x'), byteOf('m')]
  const { text } = await engine.complete('ab', { ...GREEDY, maxTokens: 4, forcedTokens: forced }).result
  expect(text).toBe('xmno')
})

test('a processor is a module: created once per reply with its context, called for every token', async () => {
  const engine = await openToy()
  const shout = moduleOf(`
    export default ({ vocab, tokenize, tokenText }) => {
      const [a, z] = tokenize('AZ')
      if (vocab !== 258 || tokenText(a) !== 'A') throw new Error('wrong context')
      let calls = 0
      return (logits, tokens, length) => {
        logits.fill(-Infinity)
        logits[calls++ === 0 ? z : tokens[length - 1] - 1] = 0
      }
    }`)
  const options = { ...GREEDY, maxTokens: 3, processors: [new URL(shout)] }
  expect(await engine.complete('ab', options).text()).toBe('ZYX')
  expect(await engine.complete('ab', options).text()).toBe('ZYX')
})

test.each([
  ['cannot be imported', 'throw new Error("closed today")', 'network', /cannot be imported: closed today/],
  ['is not JavaScript', 'export default (', 'network', /cannot be imported/],
  [
    'has no default export',
    'export const a = 1',
    'unsupported',
    /has no default export that returns a function/,
  ],
  [
    'makes nothing',
    'export default () => {}',
    'unsupported',
    /has no default export that returns a function/,
  ],
  [
    'fails when it is created',
    'export default () => { throw new Error("no") }',
    'unsupported',
    /cannot be created: no/,
  ],
  [
    'fails at a token',
    'export default () => () => { throw new Error("no") }',
    'unsupported',
    /threw Error: no/,
  ],
  ['is asynchronous', 'export default () => async () => {}', 'unsupported', /returned something/],
  ['fails later', 'export default () => async () => { throw 1 }', 'unsupported', /returned something/],
  [
    'is created asynchronously',
    'export default async () => { throw 1 }',
    'unsupported',
    /has no default export that/,
  ],
  ['returns a row', 'export default () => (l) => l.slice(1)', 'unsupported', /returned something/],
  [
    'throws a value without text',
    'export default () => () => { throw Object.create(null) }',
    'unsupported',
    /threw/,
  ],
  ['makes all infinite', 'export default () => (l) => { l.fill(1 / 0) }', 'unsupported', /logit of id 0 Inf/],
  ['writes texts', 'export default () => (l) => { l[1] = "x" }', 'unsupported', /logit of id 1 NaN/],
  [
    'transfers the row',
    'export default () => (l) => { structuredClone(l, { transfer: [l.buffer] }) }',
    'unsupported',
    /left 0 of 258 logits|threw DataCloneError/,
  ],
  [
    'reads an undefined variable',
    'export default ({ tokenText, tokenize }) => { tokenText(-1); tokenText({}); tokenize(null) }',
    'unsupported',
    /cannot be created/,
  ],
  ['makes NaN', 'export default () => (l) => { l[5] = NaN }', 'unsupported', /logit of id 5 NaN/],
])('a processor that %s causes a typed error that names it', async (_, text, code, message) => {
  const engine = await openToy()
  const { result } = engine.complete('ab', { ...GREEDY, processors: [moduleOf(text)] })
  const error = await result.catch((thrown: unknown) => thrown)
  expect(isHalfbyteError(error) && error).toMatchObject({ code, detail: { processor: moduleOf(text) } })
  expect(String(error)).toMatch(message)
  // The engine continues.
  expect(await engine.complete('ab', { ...GREEDY, maxTokens: 2 }).text()).toBe('cd')
})

test('a processor whose module never finishes ends with its reply, its session or its engine', async () => {
  const engine = await openToy()
  const processors = [moduleOf('await new Promise(() => undefined)')]
  const session = engine.createSession()
  const cancelled = session.send('a', { ...GREEDY, processors })
  setTimeout(() => cancelled.cancel('enough'))
  expect(await cancelled.result).toMatchObject({ finishReason: 'cancelled', reason: 'enough' })
  expect(await session.send('b', GREEDY).text()).toBe('You said b')
  const controller = new AbortController()
  const aborted = session.send('c', { ...GREEDY, processors, signal: controller.signal }).result
  controller.abort(new Error('gone'))
  await expect(aborted).rejects.toThrow('gone')
  expect(await session.send('d', GREEDY).text()).toBe('You said d')
  const pending = engine.complete('e', { processors }).result
  const disposed = engine.dispose()
  await expect(pending).rejects.toMatchObject({ code: 'disposed' })
  await disposed
})
