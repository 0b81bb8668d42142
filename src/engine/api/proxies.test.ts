// Engines in proxies. In: engines and sessions inside Vue's deep `ref`. Out: whether they work as they do
// without a proxy.
import { ref } from '@vue/reactivity'
import { expect, test } from 'vitest'
import { GREEDY, openToy } from './testing/toy-engine.ts'

test('an engine answers from a deep ref', async () => {
  const engine = ref(await openToy())
  const session = ref(engine.value.createSession({ messages: [] }))
  expect(await session.value.send('a', GREEDY).text()).toBe('You said a')
  const fork = await session.value.fork()
  expect(fork.messages).toHaveLength(2)
  expect(await engine.value.complete('b', { ...GREEDY, maxTokens: 1 }).text()).toBeTypeOf('string')
  expect(await engine.value.countTokens('ab')).toBeGreaterThan(0)
  expect(engine.value.model.id).toBe('toy')
  const saved = await session.value.save()
  const restored = await engine.value.restoreSession(saved)
  expect(restored.messages).toEqual(session.value.messages)
  await engine.value.dispose()
})

test('a reply in a deep ref is read to its end', async () => {
  const reply = ref((await openToy()).createSession().send('a', GREEDY))
  let text = ''
  for await (const chunk of reply.value) text += chunk.text
  expect(text).toBe('You said a')
  expect(await reply.value.result).toMatchObject({ finishReason: 'stop' })
})

test('messages and options may be reactive', async () => {
  const engine = await openToy()
  const messages = ref([
    { role: 'user' as const, content: 'a' },
    { role: 'assistant' as const, content: '', toolCalls: [{ id: '1', name: 'f', arguments: { x: [1] } }] },
    { role: 'tool' as const, content: '2', toolCallId: '1' },
  ])
  const session = engine.createSession({ messages: messages.value })
  expect(session.messages[1]).toEqual(messages.value[1])
  const schema = { type: 'array', items: { enum: [1, 2] }, minItems: 1, maxItems: 1 }
  const options = ref({ ...GREEDY, stop: ['zz'], schema })
  expect([[1], [2]]).toContainEqual(JSON.parse(await engine.complete('a', options.value).text()))
})
