// Sampling through the engine. In: a toy model behind the real service and wire. Out: log-probabilities,
// processors, bans as callers see them.
import { expect, test } from 'vitest'
import { toyModel } from '../engine/testing/toy-model.ts'
import { type GenerateOptions, isHalfbyteError, type TextChunk } from '../index.ts'
import { GREEDY, openToy } from './testing/toy-engine.ts'

test('what the model recommends holds until a reply says otherwise', async () => {
  const banned = { bannedTokens: [byteOf('c')] }
  const engine = await openToy(toyModel({ sampling: banned }))
  expect(engine.model.sampling).toEqual(banned)
  const first = (options: GenerateOptions) =>
    engine.complete('ab', { ...GREEDY, maxTokens: 1, ...options }).text()
  expect(await first({})).not.toBe('c')
  expect(await first({ bannedTokens: undefined })).not.toBe('c')
  expect(await first({ bannedTokens: [] })).toBe('c')
})

/** The address of a module with this text. */
const moduleOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`
const byteOf = (letter: string) => letter.charCodeAt(0)

test('log-probabilities come with the chunks and once more with the result', async () => {
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

test('log-probabilities of tokens that write nothing yet come with the chunk that they complete', async () => {
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

test('a processor is a module: made once a reply, with what it may know, called for every token', async () => {
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
  ['is no JavaScript', 'export default (', 'network', /cannot be imported/],
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
  ['fails to be made', 'export default () => { throw new Error("no") }', 'unsupported', /cannot be made: no/],
  [
    'fails at a token',
    'export default () => () => { throw new Error("no") }',
    'unsupported',
    /threw Error: no/,
  ],
  ['is asynchronous', 'export default () => async () => {}', 'unsupported', /returned something/],
  ['makes NaN', 'export default () => (l) => { l[5] = NaN }', 'unsupported', /logit of id 5 NaN/],
])('a processor that %s is a typed error that names it', async (_, text, code, message) => {
  const engine = await openToy()
  const { result } = engine.complete('ab', { ...GREEDY, processors: [moduleOf(text)] })
  const error = await result.catch((thrown: unknown) => thrown)
  expect(isHalfbyteError(error) && error).toMatchObject({ code, detail: { processor: moduleOf(text) } })
  expect(String(error)).toMatch(message)
  // The engine goes on.
  expect(await engine.complete('ab', { ...GREEDY, maxTokens: 2 }).text()).toBe('cd')
})
