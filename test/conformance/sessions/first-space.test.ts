// The embedded model, whose tokenizer adds a space after special tokens. In: replies. Out: text without that
// space, which encodes to the same ids anywhere in a conversation.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { Message } from '../../../src/engine/types/conversation.ts'
import { openEngine, repositoryFile } from '../testing/node-engine.ts'

const MODEL = repositoryFile('demo/models/halfbyte-stories.hbm')
const QUESTION = 'Tell me a story about a fox.'
const GREEDY = { temperature: 0, maxTokens: 12 } as const
const asked: Message = { role: 'user', content: QUESTION }

let engine: Engine
beforeAll(async () => {
  engine = await openEngine([MODEL])
})
afterAll(() => engine.dispose())

test('a reply begins without the space, streamed or whole', async () => {
  const session = engine.createSession()
  const reply = session.send(QUESTION, GREEDY)
  let streamed = ''
  for await (const { text } of reply) streamed += text
  const { text } = await reply.result
  expect(text).toMatch(/^\S/)
  expect(streamed).toBe(text)
  await session.dispose()
})

test('an earlier reply that is restored has the ids that a new session gives it', async () => {
  const session = engine.createSession()
  const first = await session.send(QUESTION, GREEDY).result
  await session.regenerate({ temperature: 1, seed: 7, maxTokens: 12 }).result
  const messages: Message[] = [asked, { role: 'assistant', content: first.text }]
  session.setMessages(messages)
  const again = await session.send('Go on.', GREEDY).result

  const other = engine.createSession({ messages })
  const fresh = await other.send('Go on.', GREEDY).result
  expect(again.usage.promptTokens).toBe(fresh.usage.promptTokens)
  expect(again.tokens).toEqual(fresh.tokens)
  await Promise.all([session.dispose(), other.dispose()])
})

test('a bare prompt continues with its space, and a constraint keeps a space that it requires', async () => {
  const session = engine.createSession()
  expect(await engine.complete('Once upon', GREEDY).text()).toMatch(/^ a time/)
  expect(await session.send(QUESTION, { ...GREEDY, pattern: ' [a-z]+' }).text()).toMatch(/^ [a-z]+/)
  await session.dispose()
})
