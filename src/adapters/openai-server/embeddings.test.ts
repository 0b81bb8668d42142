// Encoders behind OpenAI's API. In: OpenAI's own client, and plain requests, on random encoders. Out: the
// embedder's own vectors and scores.
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import type { Embedder } from '../../encoders/embedder/embedder.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { openEncoder } from '../../engine/api/testing/toy-embedder.ts'
import { openToy } from '../../engine/api/testing/toy-engine.ts'
import { type OpenAIFetchOptions, openaiFetch } from '../openai.ts'

const clientOf = (model: Engine | Embedder, options: OpenAIFetchOptions = {}) =>
  new OpenAI({ apiKey: 'none', baseURL: 'http://page/v1', fetch: openaiFetch(model, options) })
const input = ['the cat runs', 'a', 'the runner']
const numbers = (vectors: readonly Float32Array[]) => vectors.map((vector) => [...vector])

test('the client gets the vectors of an encoder, as numbers, as bytes and cut to fewer values', async () => {
  const embedder = await openEncoder(1)
  const { embeddings } = clientOf(embedder)
  const { vectors, tokens } = await embedder.embed(input)
  const floats = await embeddings.create({ model: 'any', input, encoding_format: 'float' })
  expect(floats.data.map(({ embedding }) => embedding)).toEqual(numbers(vectors))
  const prompt_tokens = tokens.reduce((sum, count) => sum + count, 0)
  expect(floats.usage).toEqual({ prompt_tokens, total_tokens: prompt_tokens })
  expect(floats.model).toBe(embedder.model.id)
  const bytes = await embeddings.create({ model: 'any', input })
  expect(bytes.data.map(({ embedding }) => [...embedding])).toEqual(numbers(vectors))
  const short = await embeddings.create({ model: 'any', input, dimensions: 3 })
  expect(short.data.map(({ embedding }) => [...embedding])).toEqual(
    numbers((await embedder.embed(input, { dimensions: 3 })).vectors),
  )
  for (const { embedding } of short.data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
  const dimensions = embedder.model.dimensions + 1
  await expect(embeddings.create({ model: 'any', input, dimensions })).rejects.toMatchObject({
    status: 400,
    param: 'dimensions',
    message: expect.stringContaining(`dimensions is ${dimensions} but must be`),
  })
})

test('the embedder’s options keep their own names, and truncated texts are reported', async () => {
  const embedder = await openEncoder(2, { prompts: { query: 'the cat ', document: 'a ' } })
  const warnings: string[] = []
  const { embeddings } = clientOf(embedder, { onWarning: (sentence) => warnings.push(sentence) })
  const params = { model: 'any', input, halfbyte: { kind: 'query' } } as OpenAI.EmbeddingCreateParams
  const asked = await embeddings.create(params)
  const { vectors } = await embedder.embed(input, { kind: 'query' })
  expect(asked.data.map(({ embedding }) => [...embedding])).toEqual(numbers(vectors))
  expect(warnings).toEqual([])
  await embeddings.create({ model: 'any', input: 'cat '.repeat(500) })
  expect(warnings).toEqual([expect.stringContaining(`longer than ${embedder.model.maxTokens} tokens`)])
})

test('token ids give the same vectors as their texts, alone, in lists and mixed with texts', async () => {
  const engine = await openToy()
  const client = clientOf(engine)
  const create = async (input: OpenAI.EmbeddingCreateParams['input']) => {
    const { data, usage } = await client.embeddings.create({ model: 'any', input, encoding_format: 'float' })
    return { vectors: data.map(({ embedding }) => embedding), tokens: usage.prompt_tokens }
  }
  const one = await engine.tokenize('the cat')
  const other = await engine.tokenize('a')
  const own = await create(['the cat', 'a'])
  expect(await create([one, other])).toEqual(own)
  expect(await create(one)).toEqual(await create('the cat'))
  expect(await create([one, 'a'] as never)).toEqual(own)
})

test('an encoder reads token ids unchanged, up to its limit', async () => {
  const embedder = await openEncoder(5)
  const { embeddings } = clientOf(embedder, { onWarning: () => undefined })
  const { maxTokens } = embedder.model
  const long = Array.from({ length: maxTokens + 1 }, (_, at) => at % 7)
  const { data, usage } = await embeddings.create({ model: 'any', input: [[2, 5, 3], long] })
  expect(data[0]!.embedding).not.toEqual(data[1]!.embedding)
  expect(usage.prompt_tokens).toBe(3 + maxTokens)
  const cut = await embeddings.create({ model: 'any', input: long.slice(0, maxTokens) })
  expect(cut.data[0]!.embedding).toEqual(data[1]!.embedding)
  const text = await embedder.embed(['the cat'])
  // [CLS] and [SEP] are added to texts, but not to ids.
  expect(text.tokens[0]).toBeGreaterThan(2)
  for (const [input, message] of [
    [[1, 2 ** 20], /has the id 1048576 at index 1/],
    [[[]], /no tokens/],
    [[1, 'a'], /input is .* but must be a text, a list of texts, or token ids/],
  ] as [never, RegExp][])
    await expect(embeddings.create({ model: 'any', input })).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    })
  await expect(embedder.embed([[1, 2]], { kind: 'query' })).rejects.toThrow(/token ids are used unchanged/)
})

test('an encoder next to an engine computes the vectors, and both are listed', async () => {
  const engine = await openToy()
  const embedder = await openEncoder(3)
  const client = clientOf(engine, { embedder })
  const { data } = await client.embeddings.create({ model: 'any', input })
  expect(data.map(({ embedding }) => [...embedding])).toEqual(numbers((await embedder.embed(input)).vectors))
  const ids = (await client.models.list()).data.map(({ id }) => id)
  expect(ids).toEqual([engine.model.id, embedder.model.id])
  expect(await client.models.retrieve(embedder.model.id)).toMatchObject({ id: embedder.model.id })
  const messages = [{ role: 'user' as const, content: 'hello' }]
  const { choices } = await client.chat.completions.create({ model: 'toy', messages, temperature: 0 })
  expect(choices[0]?.message.content).toBe('You said hello')
})

test('an encoder without an engine rejects chats', async () => {
  const client = clientOf(await openEncoder(1))
  const asked = client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content: 'a' }] })
  await expect(asked).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(/is not a chat model; use POST \/v1\/embeddings/),
  })
})

const rerank = async (post: ReturnType<typeof openaiFetch>, body: object) => {
  const answer = await post('http://page/v1/rerank', { method: 'POST', body: JSON.stringify(body) })
  return { status: answer.status, body: await answer.json() }
}

test('documents are ranked for a query, with or without their texts', async () => {
  const reranker = await openEncoder(4, { isReranker: true })
  const post = openaiFetch(await openToy(), { reranker })
  const { results, tokens } = await reranker.rerank('a cat', input)
  const right = results.map(({ index, score }) => ({ index, relevance_score: score }))
  const total = tokens.reduce((sum, count) => sum + count, 0)
  expect(await rerank(post, { query: 'a cat', documents: input })).toEqual({
    status: 200,
    body: {
      object: 'list',
      model: reranker.model.id,
      results: right,
      usage: { prompt_tokens: total, total_tokens: total },
    },
  })
  const documents = input.map((text) => ({ text }))
  const best = await rerank(post, { query: 'a cat', documents, top_n: 1, return_documents: true })
  expect(best.body.results).toEqual([{ ...right[0], document: documents[right[0]!.index] }])
})

test.each<[string, object, RegExp]>([
  ['no query', { documents: ['a'] }, /^query is undefined but must be a text/],
  ['no documents', { query: 'a', documents: [] }, /^documents is \[\] but must be a list of strings/],
  ['a document that is not a text', { query: 'a', documents: [7] }, /^documents is 7 but must be/],
  ['a wrong number', { query: 'a', documents: ['a'], top_n: 0 }, /^top_n is 0 but must be/],
])('%s is rejected', async (_, body, message) => {
  const post = openaiFetch(await openEncoder(4, { isReranker: true }))
  const found = await rerank(post, body)
  expect(found).toMatchObject({ status: 400, body: { error: { message: expect.stringMatching(message) } } })
})

test('each type of model says what the other request needs', async () => {
  const asked = { query: 'a', documents: ['a'] }
  const chat = await rerank(openaiFetch(await openToy()), asked)
  const encoder = await rerank(openaiFetch(await openEncoder(1)), asked)
  expect([chat.status, encoder.status]).toEqual([400, 400])
  expect(chat.body.error.message).toMatch(/is a chat model and cannot score documents/)
  expect(encoder.body.error.message).toMatch(/load a reranker/)
  expect(() => openaiFetch({} as Embedder)).toThrow(/the engine is \{\}/)
  const wrong = { embedder: 7 as unknown as Embedder }
  expect(() => openaiFetch({ createSession: () => 0 } as unknown as Engine, wrong)).toThrow(/embedder is 7/)
})
