// Text completions. In: OpenAI's own client and an evaluation harness's requests, on a toy model whose tokens
// are bytes and which counts up from the last one. Out: texts, prompt scores, and errors.
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { fakeEngine } from '../../engine/api/fake/fake-engine.ts'
import { openToy } from '../../engine/api/testing/toy-engine.ts'
import { toyModel } from '../../engine/testing/toy-model.ts'
import { openaiFetch } from '../openai.ts'
import { TextOffsets } from './completion-logprobs.ts'

const client = async (toy = toyModel()) =>
  new OpenAI({ apiKey: 'none', baseURL: 'http://page/v1', fetch: openaiFetch(await openToy(toy)) })
const bytes = (text: string) => [...new TextEncoder().encode(text)]

/** The request that `lm_eval --model local-completions` sends to score a continuation. */
const SCORING = { model: 'toy', temperature: 0, max_tokens: 1, logprobs: 1, seed: 1234, echo: true }

type Params = Omit<OpenAI.CompletionCreateParamsNonStreaming, 'stream'>

async function streamed(openai: OpenAI, params: Params) {
  const choices: OpenAI.CompletionChoice[] = []
  for await (const chunk of await openai.completions.create({ ...params, stream: true })) {
    for (const { index, text, logprobs, finish_reason } of chunk.choices) {
      const { text: before = '', logprobs: known = null } = choices[index] ?? {}
      const join = (key: 'tokens' | 'token_logprobs' | 'top_logprobs' | 'text_offset') => [
        ...(known?.[key] ?? []),
        ...(logprobs?.[key] ?? []),
      ]
      const all = {
        tokens: join('tokens'),
        token_logprobs: join('token_logprobs'),
        top_logprobs: join('top_logprobs'),
        text_offset: join('text_offset'),
      } as OpenAI.CompletionChoice.Logprobs
      const isScored = known !== null || logprobs !== null
      choices[index] = { index, text: before + text, logprobs: isScored ? all : null, finish_reason }
    }
  }
  return choices
}

test('texts and ids are continued, singly and in batches, as one response and as a stream', async () => {
  const openai = await client()
  const asked = { model: 'toy', max_tokens: 3, temperature: 0 }
  for (const [prompt, texts] of [
    ['ab', ['cde']],
    [bytes('ab'), ['cde']],
    [
      ['ab', 'x'],
      ['cde', 'yz{'],
    ],
    [
      [bytes('ab'), bytes('x')],
      ['cde', 'yz{'],
    ],
  ] as const) {
    const params = { ...asked, prompt: prompt as string }
    const { choices, usage } = await openai.completions.create(params)
    expect(choices.map(({ index, text, finish_reason }) => [index, text, finish_reason])).toEqual(
      texts.map((text, index) => [index, text, 'length']),
    )
    expect(choices[0]?.logprobs).toBeNull()
    const count = texts.length === 2 ? 3 : 2
    expect(usage).toMatchObject({ prompt_tokens: count, completion_tokens: 3 * texts.length })
    expect((await streamed(openai, params)).map(({ text }) => text)).toEqual(texts)
  }
})

test('echo with logprobs scores the prompt', async () => {
  const openai = await client()
  const prompt = [bytes('abd'), bytes('é~')]
  const { choices, usage } = await openai.completions.create({ ...SCORING, prompt })
  expect(choices.map(({ text }) => text)).toEqual(['abde', 'é~\x7f'])
  const { tokens, token_logprobs, top_logprobs, text_offset } = choices[0]!.logprobs!
  expect(tokens).toEqual(['a', 'b', 'd', 'e'])
  expect(token_logprobs?.[0]).toBeNull()
  expect(top_logprobs?.[0]).toBeNull()
  expect(token_logprobs?.[1]).toBeCloseTo(0, 6)
  // After "b" the model expects "c".
  expect(token_logprobs?.[2]).toBeCloseTo(-50, 4)
  expect(Object.keys(top_logprobs![2]!)).toEqual(['c', 'd'])
  expect(text_offset).toEqual([0, 1, 2, 3])
  expect(choices[1]?.logprobs?.text_offset).toEqual([0, 0, 1, 2])
  expect(usage).toMatchObject({ prompt_tokens: 6, completion_tokens: 2 })
  expect(await streamed(openai, { ...SCORING, prompt })).toEqual(choices)
})

test('a harness finds each continuation by the length of its context', async () => {
  const openai = await client()
  const score = async (context: string, continuation: string) => {
    const prompt = [bytes(context + continuation)]
    const { choices } = await openai.completions.create({ ...SCORING, prompt })
    const { token_logprobs, top_logprobs } = choices[0]!.logprobs!
    // This is how lm-evaluation-harness reads it: the last entry belongs to the generated token.
    const own = token_logprobs!.slice(bytes(context).length, -1)
    const top = top_logprobs!.slice(bytes(context).length, -1)
    return {
      sum: own.reduce((sum, each) => sum + each, 0),
      isGreedy: own.every((each, at) => each === Math.max(...Object.values(top[at]!))),
      count: own.length,
    }
  }
  expect(await score('ab', 'cd')).toEqual({ sum: expect.closeTo(0, 6), isGreedy: true, count: 2 })
  expect(await score('ab', 'd')).toEqual({ sum: expect.closeTo(-50, 4), isGreedy: false, count: 1 })
})

test('a token without text and the end of the reply each have an entry', async () => {
  const openai = await client()
  // The token after 0xc2 is half a character.
  const half = await openai.completions.create({ ...SCORING, prompt: [bytes('a').concat(0xc2)] })
  expect(half.choices[0]?.logprobs?.tokens).toHaveLength(3)
  // The toy model has answered, so its turn ends.
  const prompt = '<user>hi<end><assistant>You said hi'
  const ended = await openai.completions.create({ ...SCORING, prompt: [[...bytes('<user>hi'), 256]] })
  expect(ended.choices[0]?.logprobs?.tokens).toHaveLength(10)
  const { choices } = await openai.completions.create({ ...SCORING, max_tokens: 40, prompt, echo: false })
  expect(choices[0]).toMatchObject({ finish_reason: 'stop', logprobs: { tokens: expect.anything() } })
  expect(choices[0]?.logprobs?.tokens?.at(-1)).toBe('<end>')
})

test('if no tokens are requested, the prompt is only read', async () => {
  const openai = await client()
  const asked = { ...SCORING, max_tokens: 0, prompt: ['ab', 'c'] }
  const { choices, usage } = await openai.completions.create(asked)
  expect(choices.map(({ text, finish_reason }) => [text, finish_reason])).toEqual([
    ['ab', 'length'],
    ['c', 'length'],
  ])
  expect(choices.map(({ logprobs }) => logprobs?.tokens)).toEqual([['a', 'b'], ['c']])
  expect(usage).toEqual({ prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 })
  expect(await streamed(openai, asked)).toEqual(choices)
  const silent = await openai.completions.create({ model: 'toy', max_tokens: 0, prompt: 'ab', n: 2 })
  expect(silent.choices.map(({ text, logprobs }) => [text, logprobs])).toEqual([
    ['', null],
    ['', null],
  ])
})

test('a llama.cpp grammar constrains the text, and an empty one does not', async () => {
  const openai = await client()
  const textOf = async (grammar: string) => {
    const params = { model: 'toy', prompt: 'ab', temperature: 0, max_tokens: 3, grammar }
    return (await openai.completions.create(params)).choices[0]?.text
  }
  expect(await textOf('root ::= "yes" | "no"')).toMatch(/^(?:yes|no)$/)
  expect(await textOf('')).toBe('cde')
  await expect(textOf('root ::= (')).rejects.toMatchObject({ status: 400 })
})

test('scoring runs each token of a prompt once', async () => {
  const toy = toyModel()
  const openai = await client(toy)
  await openai.completions.create({ ...SCORING, prompt: [bytes('a'.repeat(100))] })
  expect(toy.rows()).toBe(100)
  await openai.completions.create({ ...SCORING, prompt: [bytes('a'.repeat(100))] })
  expect(toy.rows()).toBe(200)
  expect(toy.liveBytes()).toBe(0)
})

test.each<[string, unknown, RegExp]>([
  ['nothing', undefined, /prompt is undefined/],
  ['an empty list', [], /prompt is \[\]/],
  ['an empty text', '', /0 tokens/],
  ['an empty list of ids', [[]], /0 tokens/],
  ['a mixture', [1, 'a'], /prompt is \[1,"a"\]/],
  ['texts in a list', [['a']], /the id "a" at index 0/],
  ['a negative id', [[1, -1]], /the id -1 at index 1/],
  ['an id beyond the vocabulary', [300], /the id 300 at index 0, but this model's 258 ids are 0 to 257/],
  ['a fraction', [1, 0.5], /the id 0.5 at index 1/],
  ['too many ids', Array(100).fill(97), /100 tokens/],
])('%s as the prompt causes an error that names the field', async (_, prompt, message) => {
  const openai = await client(toyModel({ contextLength: 64 }))
  for (const asked of [
    SCORING,
    { ...SCORING, max_tokens: 0 },
    { ...SCORING, logprobs: null },
    { model: 'toy' },
  ])
    await expect(openai.completions.create({ ...asked, prompt: prompt as string })).rejects.toMatchObject({
      status: 400,
      param: 'prompt',
      message: expect.stringMatching(message),
    })
})

test('an engine without a model scores words', async () => {
  const engine = await fakeEngine(['three'])
  const body = JSON.stringify({ ...SCORING, prompt: 'one two' })
  const answer = await openaiFetch(engine)('http://page/v1/completions', { method: 'POST', body })
  const [choice] = ((await answer.json()) as OpenAI.Completion).choices
  expect(choice?.logprobs?.tokens?.slice(0, 2)).toEqual(['one', ' two'])
  await engine.dispose()
})

test('offsets count code points and skip tokens that are not in the text', () => {
  const token = (text: string | number[]) => ({
    id: 0,
    text: '',
    bytes: typeof text === 'string' ? bytes(text) : text,
    top: [],
  })
  const offsets = new TextOffsets()
  expect(offsets.push('Ein 🦊', [token('<s>'), token(' Ein'), token([32, 0xf0]), token([0x9f])])).toEqual([
    0, 0, 3, 4,
  ])
  expect(offsets.push('s ', [token([0xa6, 0x8a]), token('s <'), token('/s>')])).toEqual([4, 5, 8])
})
