// Tools of chosen models. In: a fake engine with the facts of a model, messages. Out: the prompts, the steps
// that are shown, and the answers.
import { describe, expect, test } from 'vitest'
import { fakeEngine } from '../../../src/engine/api/fake/fake-engine.ts'
import type { FakeRequest } from '../../../src/engine/api/fake/fake-reply.ts'
import { DEFAULT_SETTINGS } from '../shell/settings.ts'
import { type Answer, type AnswerPage, ownAnswer, Speaker, speakAnswer } from './answer.ts'
import { newConversation, type StoredMessage } from './store/conversations.ts'

const CHOOSES = { parameters: 5e8, readsTools: true }
const CALLS = { parameters: 3e9, readsTools: true }
const CHOSEN = { usesTools: false, isStoryteller: false, processors: [] }
const RENT = 'My flat has 54 square metres at 13.50 each. What do I pay?'
const CALL = { name: 'calculate', arguments: { expression: '54 * 13.50' } }

type Reply = string | { readonly toolCalls: readonly (typeof CALL)[] }

/** Answers each question in turn, and keeps the engine's requests. */
async function talk(
  model: { readonly parameters: number; readonly readsTools: boolean },
  replies: readonly Reply[],
  questions: readonly string[],
  settings = DEFAULT_SETTINGS,
) {
  const left = [...replies]
  const requests: FakeRequest[] = []
  const engine = await fakeEngine(
    (request) => {
      requests.push(request)
      return left.shift() ?? 'over'
    },
    { model },
  )
  const speaker = new Speaker(engine, CHOSEN)
  const grown: Answer[] = []
  const failures: unknown[] = []
  const page: AnswerPage = {
    grow: (answer) => grown.push(answer),
    room: () => undefined,
    measured: () => undefined,
    failed: (error) => failures.push(error),
  }
  let messages: readonly StoredMessage[] = []
  const stop = new AbortController().signal
  for (const content of questions) {
    const conversation = {
      ...newConversation(),
      id: 'c',
      messages: [...messages, { role: 'user' as const, content }],
    }
    const answer = await speakAnswer(speaker, conversation, undefined, settings, stop, page)
    messages = [...conversation.messages, { role: 'assistant', ...answer }]
  }
  expect(failures).toEqual([])
  await engine.dispose()
  return { requests, grown, messages }
}

describe('a model of half a billion weights', () => {
  test('chooses a call and gets its result, also in later turns', async () => {
    const { requests, grown, messages } = await talk(
      CHOOSES,
      [JSON.stringify(CALL), 'You pay 729.', 'Bye.'],
      [RENT, 'Thanks!'],
    )
    const used = [{ id: 'told1', ...CALL, result: '729' }]
    expect(messages[1]).toMatchObject({ content: 'You pay 729.', used })
    const steps = grown.filter(({ content }) => content === '').map(({ used: shown }) => shown)
    expect(steps.slice(0, 2)).toMatchObject([[{ name: 'tools', state: 'running' }], used])
    const told = requests[1]?.messages[0]?.content
    expect(told).toContain(`${RENT}\n\n`)
    expect(told).toContain('54 * 13.50 = 729')
    expect(requests.map(({ tools }) => tools.length)).toEqual([0, 0, 0])
    expect(requests[2]?.messages.map(({ content }) => content)).toEqual([told, 'You pay 729.', 'Thanks!'])
  })

  test('answers without a tool if it chooses none, and answers an ordinary message at once', async () => {
    const { requests, messages } = await talk(
      CHOOSES,
      ['{"name":"none"}', 'About 200.', 'Hello!'],
      [RENT, 'Tell me a story.'],
    )
    expect(messages[1]?.used).toBeUndefined()
    expect(requests[1]?.messages).toEqual([{ role: 'user', content: RENT }])
    expect(requests).toHaveLength(3)
  })

  test('shows a call that fails, and answers without it', async () => {
    const wrong = { name: 'convert_units', arguments: { value: 54, from: 'square', to: 'kg' } }
    const { requests, messages } = await talk(CHOOSES, [JSON.stringify(wrong), 'No idea.'], [RENT])
    expect(messages[1]?.used).toMatchObject([{ state: 'failed', result: /not a known unit/ }])
    expect(requests[1]?.messages).toEqual([{ role: 'user', content: RENT }])
  })
})

describe('a larger model whose template describes tools', () => {
  test('calls them while it answers, and sees the calls in later turns', async () => {
    const { requests, grown, messages } = await talk(
      CALLS,
      [{ toolCalls: [CALL] }, 'You pay 729.', 'Bye.'],
      [RENT, 'Thanks!'],
    )
    expect(requests[0]?.tools.map(({ name }) => name)).toContain('calculate')
    expect(grown.map(({ used }) => used?.[0]?.state)).toContain('running')
    expect(messages[1]).toMatchObject({ content: 'You pay 729.', used: [{ ...CALL, result: '729' }] })
    expect(messages[1]?.used?.[0]).not.toHaveProperty('state')
    expect(requests[2]?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
  })

  test('gets the reason of a call that fails, and at most three rounds of calls', async () => {
    const wrong = { toolCalls: [{ ...CALL, arguments: { expression: 'rent' } }] }
    const { requests, messages } = await talk(CALLS, [wrong, wrong, wrong, 'I give up.'], [RENT])
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: 'error: "rent" is not arithmetic.',
    })
    expect(requests).toHaveLength(4)
    expect(requests[3]?.tools).toEqual([])
    expect(messages[1]?.used?.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed'])
  })

  test('gets no tools until a message needs one', async () => {
    const { requests } = await talk(
      CALLS,
      ['Hello!', 'You pay 729.', 'Bye.'],
      ['Tell me a story.', RENT, 'Thanks!'],
    )
    expect(requests.map(({ tools }) => tools.length > 0)).toEqual([false, true, true])
  })
})

test('a model that is too small, and one whose tools are off, answer without tools', async () => {
  for (const [model, tools] of [
    [{ parameters: 1.35e8, readsTools: true }, 'on'],
    [CHOOSES, 'off'],
    [CALLS, 'off'],
  ] as const) {
    const { requests } = await talk(model, ['You pay.'], [RENT], { ...DEFAULT_SETTINGS, tools })
    expect(requests).toHaveLength(1)
    expect(requests[0]?.tools).toEqual([])
  }
})

test('the page answers what it can parse, whichever model is chosen, unless tools are off', () => {
  const asked: readonly StoredMessage[] = [{ role: 'user', content: 'What is 17 * 24?' }]
  expect(ownAnswer(asked, CHOSEN, { tools: 'on' })).toMatchObject({ content: '17 * 24 = 408' })
  expect(ownAnswer(asked, CHOSEN, { tools: 'off' })).toBeUndefined()
  expect(ownAnswer([{ role: 'user', content: RENT }], CHOSEN, { tools: 'on' })).toBeUndefined()
})

test('an embedded model reads tool descriptions like those of its training', async () => {
  const requests: FakeRequest[] = []
  const engine = await fakeEngine(
    (request) => {
      requests.push(request)
      return 'Hello!'
    },
    { model: { parameters: 8e6, readsTools: true } },
  )
  const speaker = new Speaker(engine, { usesTools: true, isStoryteller: true, processors: [] })
  const hello: readonly StoredMessage[] = [{ role: 'user', content: 'Hello!' }]
  await (
    await speaker.answer('c', hello, DEFAULT_SETTINGS, {
      begun: undefined,
      read: undefined,
      onPrefill: () => undefined,
    })
  ).result
  const keys = new Set(requests[0]?.tools?.flatMap((tool) => Object.keys(tool)))
  expect([...keys].sort()).toEqual(['description', 'name', 'parameters', 'strict'])
  await engine.dispose()
})
