// Tests of reasoning. In: a toy model that writes the given text, including thoughts. Out: the thought
// separate from the answer, streamed, limited, and in later turns.
import { describe, expect, test } from 'vitest'
import { reasoningFormOf } from '../../core/text/chat/reasoning.ts'
import type { GenerateOptions, Message, Session } from '../../index.ts'
import { toyModel } from '../testing/toy-model.ts'
import { errorOf, GREEDY, openToy, PLAIN } from './testing/toy-engine.ts'

const reasoning = reasoningFormOf('<think></think>')
const thinker = () => openToy(toyModel({ reasoning }))
const tools = [{ name: 'add', parameters: { type: 'object', properties: { a: { type: 'integer' } } } }]
const CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'

const say = async (text: string, options: GenerateOptions = {}) =>
  (await thinker()).createSession().send(text, { ...GREEDY, ...options }).result

describe('a thought', () => {
  test('is separate from the answer, in the stream and in the result', async () => {
    const reply = (await thinker()).createSession().send('<think>\nA fox.\n</think>\n\nThe fox.', GREEDY)
    const streamed = { text: '', reasoning: '', tokens: 0 }
    for await (const chunk of reply) {
      expect((chunk.text === '') === (chunk.reasoning !== undefined)).toBe(true)
      streamed.text += chunk.text
      streamed.reasoning += chunk.reasoning ?? ''
      streamed.tokens += chunk.tokens
    }
    const { text, reasoning: thought, usage, finishReason } = await reply.result
    expect({ text, thought, finishReason }).toEqual({
      text: 'The fox.',
      thought: 'A fox.',
      finishReason: 'stop',
    })
    expect(streamed).toEqual({ text, reasoning: thought, tokens: usage.completionTokens })
    expect(usage.reasoningTokens).toBe('<think>\nA fox.\n</think>'.length)
  })

  test('that is cut off has no answer', async () => {
    const cut = await say('<think>A fox.</think>Hi', { maxTokens: 10 })
    expect(cut).toMatchObject({ text: '', reasoning: 'A f', finishReason: 'length' })
    expect(cut.usage.reasoningTokens).toBe(10)
  })

  test('that the prompt opens starts with the first token', async () => {
    const session = (await openToy(toyModel({ reasoning, opens: '<think>\n' }))).createSession()
    const { result } = session.send('12345678A fox.</think>Hi', GREEDY)
    expect(await result).toMatchObject({ text: 'Hi', reasoning: 'A fox.' })
  })

  test('is absent if the model does not think or splitting is off', async () => {
    const plain = await say('Hi')
    expect(plain).toMatchObject({ text: 'Hi', usage: { reasoningTokens: 0 } })
    expect(plain).not.toHaveProperty('reasoning')
    const whole = await say('<think>A</think>Hi', { reasoning: false })
    expect(whole.text).toBe('<think>A</think>Hi')
    expect(whole).not.toHaveProperty('reasoning')
  })

  test('is found by the given marks', async () => {
    const marks = { open: '((', close: '))' }
    expect(await say('((A (fox).))Hi', { reasoning: marks })).toMatchObject({
      text: 'Hi',
      reasoning: 'A (fox).',
    })
    const engine = await openToy()
    const { result } = engine.complete('/', { ...GREEDY, maxTokens: 6, reasoning: { open: '0', close: '3' } })
    expect(await result).toMatchObject({ text: '45', reasoning: '12' })
  })

  test.each([{ open: '' }, { open: 'a', close: ' ' }, 'think', true])(
    'with marks %o is rejected',
    async (wrong) => {
      expect(await errorOf(say('Hi', { reasoning: wrong as never }))).toMatchObject({ code: 'unsupported' })
    },
  )

  test('ignores stop texts; the answer does not', async () => {
    const stopped = await say('<think>one two</think>one two', { stop: ['two'] })
    expect(stopped).toMatchObject({ text: 'one ', reasoning: 'one two', finishReason: 'stop' })
  })

  test('is unconstrained if the answer is constrained, and never ends the reply', async () => {
    const choices = ['Hi', 'Ho']
    const thoughtful = { text: 'Ho', reasoning: 'Hi? No.', finishReason: 'stop' }
    expect(await say('<think>Hi? No.</think>Ho', { choices })).toMatchObject(thoughtful)
    const spaced = await say('<think>Hi? No.\n</think>\n\nHo', { choices })
    expect(choices).toContain(spaced.text)
    expect(spaced).toMatchObject({ reasoning: 'Hi? No.', finishReason: 'stop' })
    expect(await say('Hi', { choices })).toMatchObject({ text: 'Hi', finishReason: 'stop' })
    const schema = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
    const json = await say('<think>{"b"}</think>{"a":7}', { schema, compact: true })
    expect(json).toMatchObject({ text: '{"a":7}', reasoning: '{"b"}', finishReason: 'stop' })
    const cut = await say('<think>Hm', { choices, maxTokens: 30 })
    expect(cut).toMatchObject({ text: '', finishReason: 'length' })
  })

  test('may contain calls, like the answer', async () => {
    const toolCalls = [{ id: 'call00001', name: 'add', arguments: { a: 1 } }]
    expect(await say(`<think>So.</think>${CALL}`, { tools })).toMatchObject({
      text: '',
      reasoning: 'So.',
      toolCalls,
    })
    expect(await say(`<think>So ${CALL}`, { tools })).toMatchObject({ text: '', toolCalls })
    const reply = (await thinker()).createSession().send('<think>So <tool</think>Hi', { ...GREEDY, tools })
    const order: string[] = []
    for await (const { text, reasoning: thought } of reply) order.push(thought ?? text)
    expect(order.join('')).toBe('So <toolHi')
    expect(await say('<think>{"name": "add"} is it</think>Hi', { tools })).toMatchObject({
      text: 'Hi',
      reasoning: '{"name": "add"} is it',
      toolCalls: [],
    })
  })
})

describe('a token budget for the thought', () => {
  test('forces it to end, and the answer begins', async () => {
    const message = `<think>${'a'.repeat(20)}</think>Hi`
    const { text, reasoning: thought, usage } = await say(message, { ...PLAIN, maxReasoningTokens: 5 })
    expect(thought).toBe('aaaaa')
    expect(usage.reasoningTokens).toBe('<think>aaaaa</think>'.length)
    expect(text).toBe(message.slice('<think>aaaaa</think>'.length))
  })

  test('of zero makes the thought empty', async () => {
    expect(await say('<think>aaa</think>Hi', { maxReasoningTokens: 0 })).toMatchObject({ reasoning: '' })
  })

  test('has no effect on a shorter thought, or without a thought', async () => {
    expect(await say('<think>aaa</think>Hi', { maxReasoningTokens: 20 })).toMatchObject({
      text: 'Hi',
      reasoning: 'aaa',
    })
    expect(await say('Hi', { maxReasoningTokens: 1 })).toMatchObject({ text: 'Hi' })
  })

  test('works with a constraint', async () => {
    const options = { maxReasoningTokens: 3, choices: ['Hi', 'Ho'] }
    const { text, reasoning: thought } = await say(`<think>${'a'.repeat(50)}`, options)
    expect(thought).toBe('aaa')
    expect(options.choices).toContain(text)
  })

  test.each([-1, 1.5, '3'])('of %o is rejected', async (wrong) => {
    expect(await errorOf(say('Hi', { maxReasoningTokens: wrong as never }))).toMatchObject({
      code: 'unsupported',
    })
  })
})

describe('without the opening mark', () => {
  const ANSWER = 'A fox.\n</think>\n\nHi'

  test('a thought is recognised if the template has only the closing mark', async () => {
    const closing = reasoningFormOf("content.split('</think>')[-1]")
    const engine = await openToy(toyModel({ reasoning: closing }))
    const ask = (text: string) => engine.createSession().send(text, GREEDY).result
    expect(await ask(ANSWER)).toMatchObject({ text: 'Hi', reasoning: 'A fox.' })
    expect(await ask(`<think>${ANSWER}`)).toMatchObject({ text: 'Hi', reasoning: 'A fox.' })
    expect(await ask('A fo')).toMatchObject({ text: '', reasoning: 'A fo' })
  })

  test('everything is the answer if the template has both marks', async () => {
    expect(await say(ANSWER)).toMatchObject({ text: ANSWER })
  })
})

test('a model whose template has no marks may think, but not before a constrained answer', async () => {
  const engine = await openToy(toyModel({ reasoning: reasoningFormOf('plain') }))
  const ask = (text: string, options: GenerateOptions = {}) =>
    engine.createSession().send(text, { ...GREEDY, ...options }).result
  expect(await ask('<think>A</think>Hi')).toMatchObject({ text: 'Hi', reasoning: 'A' })
  const pattern = '<think>A</think>[a-z]+'
  expect(await ask('<think>A</think>hi', { pattern })).toMatchObject({ text: '<think>A</think>hi' })
  expect(await ask('<think>A</think>hi', { choices: ['hi'] })).toMatchObject({ text: 'hi' })
})

describe('a thought that was cut off continues', () => {
  const REPLY = '<think>\nA red fox.\n</think>\n\nHi'

  test.each([
    ['', REPLY, 13],
    ['<think>\n', `12345678${REPLY.slice(8)}`, 5],
  ])('in a session, after a prompt that ends with %j', async (opens, reply, maxTokens) => {
    const session = (await openToy(toyModel({ reasoning, opens }))).createSession()
    const cut = await session.send(reply, { ...GREEDY, maxTokens }).result
    expect(cut).toMatchObject({ text: '', reasoning: 'A red', finishReason: 'length' })
    const rest = await session.regenerate({ ...GREEDY, reasoningPrefix: 'A red' }).result
    expect(rest).toMatchObject({ text: 'Hi', reasoning: ' fox.', finishReason: 'stop' })
    expect(rest.usage.cachedTokens).toBe(rest.usage.promptTokens - 1)
    expect(session.messages.at(-1)).toEqual({ role: 'assistant', content: 'Hi', reasoning: 'A red fox.' })
  })

  test('and ends if the answer has begun', async () => {
    const session = (await thinker()).createSession()
    const { result } = session.send(REPLY, { ...GREEDY, reasoningPrefix: 'A red fox.', prefix: 'H' })
    expect(await result).toMatchObject({ text: 'i', finishReason: 'stop' })
    expect(session.messages.at(-1)).toEqual({ role: 'assistant', content: 'Hi', reasoning: 'A red fox.' })
  })

  test('up to its token limit', async () => {
    const options = { ...PLAIN, reasoningPrefix: 'A red', maxReasoningTokens: 2 }
    const { result } = (await thinker()).createSession().send(`${REPLY}${'x'.repeat(20)}`, options)
    expect(await result).toMatchObject({ reasoning: ' f' })
  })

  test('is ignored if the model does not think, and rejected if it is not a string', async () => {
    const engine = await openToy()
    const { text } = await engine.createSession().send('one', { ...PLAIN, reasoningPrefix: 'A' }).result
    expect(text).toBe('You said one')
    const wrong = engine.createSession().send('one', { reasoningPrefix: 7 as never }).result
    expect(await errorOf(wrong)).toMatchObject({ code: 'unsupported' })
  })
})

describe('in later turns, a thought', () => {
  const SAID = ['<think>\nA fox.\n</think>\n\nThe fox.', 'Hi', '<think>B</think>b', '<think></think>c']

  const answers = async (session: Session, inputs: readonly string[]) => {
    const results: unknown[] = []
    for (const input of inputs) {
      const { text, reasoning: thought, usage } = await session.send(input, GREEDY).result
      results.push({ text, thought, promptTokens: usage.promptTokens })
    }
    return results
  }

  test('stays in the messages', async () => {
    const session = (await thinker()).createSession()
    await answers(session, SAID)
    const spoken = session.messages.filter(({ role }) => role === 'assistant')
    expect(spoken).toEqual([
      { role: 'assistant', content: 'The fox.', reasoning: 'A fox.' },
      { role: 'assistant', content: 'Hi' },
      { role: 'assistant', content: 'b', reasoning: 'B' },
      { role: 'assistant', content: 'c' },
    ])
  })

  test('leaves the session in the same state as a new one with the same messages', async () => {
    const engine = await thinker()
    const session = engine.createSession()
    for (const [index, input] of SAID.entries()) {
      const before: readonly Message[] = session.messages
      const [continued] = await answers(session, [input])
      const [fresh] = await answers(engine.createSession({ messages: before }), [input])
      expect({ index, continued }).toEqual({ index, continued: fresh })
    }
  })

  test('is not processed again if the template writes it exactly as the model did', async () => {
    const session = (await thinker()).createSession()
    const { usage } = await session.send('<think>A fox.</think>The fox.', GREEDY).result
    const next = await session.send('Hi', GREEDY).result
    expect(next.usage.cachedTokens).toBeGreaterThanOrEqual(usage.promptTokens + usage.completionTokens - 1)
  })

  test('is restored from a saved session', async () => {
    const engine = await thinker()
    const session = engine.createSession()
    await answers(session, SAID)
    const restored = await engine.restoreSession(await session.save())
    expect(restored.messages).toEqual(session.messages)
  })

  test('that is not text is rejected', async () => {
    const engine = await thinker()
    const messages = [{ role: 'assistant', content: 'a', reasoning: 7 }] as never
    const { result } = engine.createSession({ messages }).send('Hi', GREEDY)
    await expect(result).rejects.toMatchObject({ code: 'unsupported' })
  })
})
