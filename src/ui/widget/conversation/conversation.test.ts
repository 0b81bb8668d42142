// Conversations of a widget. In: a toy engine, questions, tools, documents. Out: the displayed entries, and
// the model's prompts.
import { expect, test, vi } from 'vitest'
import type { Engine } from '../../../engine/api/engine.ts'
import { fakeEngine } from '../../../engine/api/fake/fake-engine.ts'
import { openToy, PLAIN } from '../../../engine/api/testing/toy-engine.ts'
import type { Message, PrefillProgress, Session } from '../../../engine/api/types.ts'
import { toyModel } from '../../../engine/testing/toy-model.ts'
import type { Encoder } from '../../chat/encoder-slot.ts'
import { ENGLISH } from '../../words/english.ts'
import { Conversation } from './conversation.ts'
import type { Entry, Settings, ToolRun, WidgetTool } from './entries.ts'
import { Kept, unfinished } from './keep.ts'

const SETTINGS: Settings = {
  system: undefined,
  tools: [],
  documents: [],
  generateOptions: { ...PLAIN, maxTokens: 12 },
  words: ENGLISH,
  language: 'en',
  documentsUnread: ENGLISH.documentsUnread,
  toolLabels: { calculate: 'Calculator' },
  passagesPrompt: ENGLISH.passages,
}

function conversation() {
  const complete: Entry[] = []
  const runs: ToolRun[] = []
  const shown: string[] = []
  const it: Conversation = new Conversation({
    onChange: () => shown.push(`${it?.activity?.name ?? 'still'} ${it?.entries.length}`),
    onEntry: (entry) => complete.push(entry),
    onToolRun: (run) => runs.push(run),
  })
  return { it, complete, runs, shown }
}

/** The engine, with its prompts. */
async function heard(): Promise<{ readonly engine: Engine; readonly prompts: (readonly Message[])[] }> {
  const engine = await openToy()
  const prompts: (readonly Message[])[] = []
  const create = engine.createSession.bind(engine)
  engine.createSession = (options) => {
    const session = create(options)
    const send: Session['send'] = (input, more) => {
      const said = typeof input === 'string' ? [{ role: 'user', content: input } as const] : [input].flat()
      prompts.push([...session.messages, ...(said as Message[])])
      return session.send(input, more)
    }
    return new Proxy(session, {
      get: (target, key) => (key === 'send' ? send : Reflect.get(target, key, target)),
    })
  }
  return { engine, prompts }
}

test('a question is answered, and the next one continues the conversation', async () => {
  const { it, complete, shown } = conversation()
  const { engine, prompts } = await heard()
  it.ask('hello')
  expect(it.isWaiting).toBe(true)
  const first = await it.answer(engine, SETTINGS)
  it.ask('and then')
  const second = await it.answer(engine, SETTINGS)
  expect(complete).toEqual([
    { role: 'user', content: 'hello' },
    first,
    { role: 'user', content: 'and then' },
    second,
  ])
  expect(it.entries).toEqual(complete)
  expect(prompts[1]?.map(({ content }) => content)).toEqual(['hello', first?.content, 'and then'])
  expect(shown).toContain('answering 2')
  expect(shown.at(-1)).toBe('still 4')
})

test('a stopped answer keeps its text, and can be removed and generated again', async () => {
  const { it } = conversation()
  const engine = await openToy()
  // Its answer takes long enough to be stopped, and does not repeat itself.
  const question = Array.from({ length: 30 }, (_, index) => `hello ${index}`).join(' ')
  const settings = { ...SETTINGS, generateOptions: { ...PLAIN, maxTokens: 2000 } }
  it.ask(question)
  const answering = it.answer(engine, settings)
  while (it.entries.at(-1)?.content === '' || it.entries.length < 2) await new Promise((on) => setTimeout(on))
  it.stop()
  await answering
  expect(it.entries.at(-1)).toMatchObject({ role: 'assistant', ending: 'stopped' })
  expect(it.entries.at(-1)?.content).not.toBe('')
  it.takeBack()
  expect(it.isWaiting).toBe(true)
  await it.answer(engine, settings)
  expect(it.entries.at(-1)).toEqual({ role: 'assistant', content: `You said ${question}` })
})

test('an answer that repeats itself is stopped, and the passage is kept once', async () => {
  const { it } = conversation()
  it.ask('hello '.repeat(60).trim())
  await it.answer(await openToy(), { ...SETTINGS, generateOptions: { ...PLAIN, maxTokens: 2000 } })
  expect(it.entries.at(-1)).toEqual({ role: 'assistant', content: 'You said hello', ending: 'loop' })
})

test('a failed answer leaves its question unanswered, and says why', async () => {
  const { it } = conversation()
  const engine = await openToy()
  it.ask('hello')
  await it.answer(engine, { ...SETTINGS, generateOptions: { temperature: -1 } })
  expect(it.error).toMatchObject({ code: 'unsupported' })
  expect([it.isWaiting, it.entries.length]).toEqual([true, 1])
  await it.answer(engine, SETTINGS)
  expect([it.error, it.entries.length]).toEqual([undefined, 2])
})

test('clearing drops the answer in progress, without disturbing the next conversation', async () => {
  const { it, complete } = conversation()
  const engine = await openToy()
  it.ask('hello')
  const lost = it.answer(engine, { ...SETTINGS, generateOptions: { ...PLAIN, maxTokens: 2000 } })
  it.restore([])
  it.ask('again')
  await it.answer(engine, SETTINGS)
  expect(await lost).toBeUndefined()
  expect(it.entries.map(({ content }) => content)[0]).toBe('again')
  expect(it.entries).toHaveLength(2)
  expect(complete).toHaveLength(3)
})

test('passages are put before their question, but not before later ones', async () => {
  const { it } = conversation()
  const { engine, prompts } = await heard()
  const documents = [
    'the river goes to the sea',
    { title: 'Fox', text: 'the old fox walked home', url: '/fox' },
  ]
  it.ask('fox')
  const answer = await it.answer(engine, { ...SETTINGS, documents })
  expect(answer?.passages?.[0]).toEqual({ title: 'Fox', text: 'the old fox walked home', url: '/fox' })
  expect(prompts[0]?.[0]?.content).toContain('[1] Fox: the old fox walked home')
  expect(prompts[0]?.[0]?.content).toMatch(/Question: fox$/)
  expect(it.entries[0]?.content).toBe('fox')
  it.ask('sea')
  await it.answer(engine, SETTINGS)
  expect(prompts[1]?.map(({ content }) => content)).toEqual(['fox', answer?.content, 'sea'])
})

test('with an encoder, its vectors decide which passages are nearest', async () => {
  const { it } = conversation()
  const { engine } = await heard()
  const documents = ['the river goes to the sea', 'the old fox walked home', 'a fox and a sea']
  const kinds: (string | undefined)[] = []
  const encoder: Encoder = {
    embed: async (texts, { kind } = {}) => {
      kinds.push(kind)
      const vectors = texts.map((text) =>
        Float32Array.of(text === 'fox' || text.includes('river') ? 1 : 0, 1),
      )
      return { vectors, tokens: texts.map(() => 1), truncated: [] }
    },
  }
  it.ask('fox')
  const answer = await it.answer(engine, { ...SETTINGS, documents, encoder: async () => encoder })
  expect(answer?.passages?.map(({ text }) => text)).toContain('the river goes to the sea')
  expect(kinds).toEqual(['document', 'query'])
})

const TIDES = {
  name: 'tides.md',
  text: '# Low\n\nThe sea goes out at six.\n\n# High\n\nThe sea comes in at noon.',
}
const attached = { ...SETTINGS, generateOptions: { ...PLAIN, maxTokens: 8 } }

test('attached documents that fit are read whole, with later questions too', async () => {
  const { it } = conversation()
  const engine = await openToy(toyModel({ contextLength: 2048 }))
  it.ask('sea', { documents: [TIDES] })
  expect(it.entries[0]).toEqual({ role: 'user', content: 'sea', documents: [TIDES] })
  const whole = { title: 'tides.md', text: TIDES.text }
  expect((await it.answer(engine, attached))?.passages).toEqual([whole])
  it.ask('fox')
  expect((await it.answer(engine, attached))?.passages).toEqual([whole])
})

test('of longer documents, the passages with words of each question are read, with their place', async () => {
  const { it } = conversation()
  const engine = await openToy(toyModel({ contextLength: 1024 }))
  const long = { name: 'long.md', text: `${TIDES.text}\n\n# Other\n\n${'Nothing much. '.repeat(200)}` }
  it.ask('out', { documents: [long] })
  const first = await it.answer(engine, attached)
  expect(first?.passages).toEqual([
    { title: 'long.md', text: 'The sea goes out at six.', place: { headings: ['Low'], lines: [3, 3] } },
  ])
  it.ask('noon')
  const second = await it.answer(engine, attached)
  expect(second?.passages?.map(({ place }) => place?.headings)).toContainEqual(['High'])
})

test('a model with a small context says that it cannot read documents, and reads nothing', async () => {
  const { it } = conversation()
  const { engine, prompts } = await heard()
  it.ask('sea', { documents: [TIDES] })
  const small = Object.defineProperty(Object.create(engine), 'model', {
    value: { ...engine.model, contextLength: 512 },
  })
  expect((await it.answer(small, attached))?.content).toBe(ENGLISH.documentsUnread)
  expect(prompts).toEqual([])
})

const call = (name: string, args = {}) =>
  `<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`

test('tools run in order, and the answer uses their results and errors', async () => {
  const { it, runs } = conversation()
  const tools: WidgetTool[] = [
    { name: 'add', execute: ({ a, b }) => Number(a) + Number(b) },
    {
      name: 'fail',
      label: 'Failing',
      execute: () => {
        throw new RangeError('no such order')
      },
    },
  ]
  it.ask(`${call('add', { a: 1, b: 2 })}${call('fail')}`)
  const settings = { ...SETTINGS, tools, generateOptions: { ...PLAIN, maxTokens: 200 } }
  const answer = await it.answer(await openToy(), settings)
  expect(runs.map(({ label, state, result }) => `${label} ${state} ${result}`)).toEqual([
    'add running undefined',
    'add done 3',
    'Failing running undefined',
    'Failing failed error: no such order',
  ])
  expect(answer?.toolRuns).toEqual([runs[1], runs[3]])
  expect(answer?.content).toContain('error: no such order')
})

test('a tool that ignores the signal does not block the conversation', async () => {
  const { it, runs } = conversation()
  const engine = await openToy()
  const tools: WidgetTool[] = [
    {
      name: 'wait',
      execute: () => {
        it.stop()
        return new Promise(() => undefined)
      },
    },
  ]
  it.ask(call('wait'))
  const settings = { ...SETTINGS, tools, generateOptions: { ...PLAIN, maxTokens: 200 } }
  const answer = await it.answer(engine, settings)
  expect(answer).toMatchObject({ ending: 'stopped' })
  expect(runs.map(({ state }) => state)).toEqual(['running', 'failed'])
  it.ask('hi')
  expect((await it.answer(engine, SETTINGS))?.content).toBe('You said hi')
})

test('stored entries are restored, except damaged or foreign ones', () => {
  const store = new Map<string, string>()
  const storage = {
    getItem: (key: string) => store.get(key) ?? null,
    setItem: (key: string, value: string) => store.set(key, value),
    removeItem: (key: string) => store.delete(key),
  }
  Object.defineProperty(globalThis, 'localStorage', { value: storage, configurable: true })
  const kept = new Kept('device', 'help')
  const entries: readonly Entry[] = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b', ending: 'stopped' },
    { role: 'user', content: 'c', documents: [TIDES] },
    {
      role: 'assistant',
      content: 'd',
      passages: [{ title: 't', text: 'x', place: { page: 2, headings: ['h'], rows: [3, 4] } }],
    },
  ]
  kept.write(entries)
  expect(kept.read()).toEqual(entries)
  expect(new Kept('device', 'other').read()).toEqual([])
  const foreign = [
    { role: 'system', content: 'x' },
    { role: 'user' },
    7,
    null,
    { role: 'user', content: 'ok', tool: 1 },
  ]
  store.set('halfbyte-chat:help', JSON.stringify(foreign))
  expect(kept.read()).toEqual([{ role: 'user', content: 'ok' }])
  store.set('halfbyte-chat:help', '[{"role":')
  expect(kept.read()).toEqual([])
  kept.write([])
  expect(store.has('halfbyte-chat:help')).toBe(false)
  expect(new Kept('none', 'help').read()).toEqual([])
})

test('a streaming answer is stored as if stopped, but not before its first word', () => {
  const question: Entry = { role: 'user', content: 'a' }
  expect(unfinished([question, { role: 'assistant', content: '' }])).toEqual([question])
  expect(unfinished([question, { role: 'assistant', content: 'b' }])).toEqual([
    question,
    { role: 'assistant', content: 'b', ending: 'stopped' },
  ])
  expect(unfinished([question])).toEqual([question])
})

test('pictures go to a model that sees, with later questions too', async () => {
  const { it } = conversation()
  const { engine, prompts } = await heard()
  const picture = { name: 'dusk.png', file: new Blob(['pixels']) }
  it.ask('what is here?', { pictures: [picture] })
  const blind = await it.answer(engine, SETTINGS)
  expect(blind).toBeUndefined()
  expect(it.error).toMatchObject({ code: 'unsupported', detail: { pictures: 'blind' } })
  expect(prompts).toEqual([])
  expect(it.entries).toEqual([{ role: 'user', content: 'what is here?', pictures: [picture] }])

  Object.assign(engine, { model: { ...engine.model, seesImages: true } })
  await it.answer(engine, SETTINGS).catch(() => undefined)
  expect(prompts[0]?.at(-1)).toEqual({ role: 'user', content: 'what is here?', images: [picture.file] })
})

test('a stored question keeps the names of its pictures, and is read without them', async () => {
  const { it } = conversation()
  const { engine, prompts } = await heard()
  const stored = new Map<string, string>()
  const storage = {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  }
  vi.stubGlobal('localStorage', storage)
  const kept = new Kept('device', 'pictures')
  const picture = { name: 'dusk.png', file: new Blob(['pixels']) }
  expect(kept.write([{ role: 'user', content: 'hello', pictures: [picture] }])).toBe(true)
  const read = kept.read()
  vi.unstubAllGlobals()
  expect(read).toEqual([{ role: 'user', content: 'hello', pictures: [{ name: 'dusk.png' }] }])
  Object.assign(engine, { model: { ...engine.model, seesImages: true } })
  it.restore(read)
  expect((await it.answer(engine, SETTINGS))?.role).toBe('assistant')
  expect(prompts[0]).toEqual([{ role: 'user', content: 'hello' }])
})

test('a model that is large enough chooses a tool before it answers, which is shown', async () => {
  const { it, runs } = conversation()
  const replies = ['{"name":"calculate","arguments":{"expression":"54 * 13.50"}}', 'You pay 729.']
  const asked: string[] = []
  const engine = await fakeEngine(
    ({ messages }) => {
      asked.push(messages.at(-1)?.content ?? '')
      return replies.shift() ?? 'more'
    },
    { model: { parameters: 5e8 } },
  )
  const settings: Settings = { ...SETTINGS, tools: 'assist', generateOptions: {} }
  it.ask('My flat has 54 square metres at 13.50 each. What do I pay?')
  const entry = await it.answer(engine, settings)
  expect(entry).toMatchObject({
    content: 'You pay 729.',
    toolRuns: [
      { label: 'Calculator', arguments: { expression: '54 * 13.50' }, state: 'done', result: '729' },
    ],
  })
  expect(runs).toHaveLength(1)
  expect(asked[1]).toContain('54 * 13.50 = 729')
  it.ask('Thank you!')
  expect(await it.answer(engine, settings)).toMatchObject({ content: 'more' })
  expect(it.entries.at(-1)?.toolRuns).toBeUndefined()
})

test('in idle time the oldest messages are dropped, and the next question is read at once', async () => {
  const { it } = conversation()
  const engine = await openToy(toyModel({ contextLength: 260 }))
  const sessions: Session[] = []
  const create = engine.createSession.bind(engine)
  engine.createSession = (options) => {
    const session = create(options)
    sessions.push(session)
    return session
  }
  const settings = { ...SETTINGS, generateOptions: { ...PLAIN, maxTokens: 100 } }
  // Words that do not repeat, which would end the answer.
  for (const question of [
    'abcdefghijklmnopqrstuvwxyz 0123456789',
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ 012345',
    'third',
  ]) {
    it.ask(question)
    await it.answer(engine, settings)
  }
  expect(sessions[0]?.contextUsed).toBeGreaterThan(195)
  await it.readAhead(engine, settings)
  expect(sessions).toHaveLength(1)
  expect(sessions[0]?.contextUsed).toBeLessThanOrEqual(195)
  expect(it.entries).toHaveLength(6)
  it.ask('four')
  expect(await it.answer(engine, settings)).toMatchObject({ content: 'You said four' })
  await it.dispose()
})

test('long reading is shown, and passed on to the page', async () => {
  const { it } = conversation()
  const engine = await openToy()
  const seen: PrefillProgress[] = []
  const shown: unknown[] = []
  const now = vi.spyOn(performance, 'now')
  it.ask('hello '.repeat(60))
  const answer = it.answer(engine, {
    ...SETTINGS,
    generateOptions: {
      ...PLAIN,
      maxTokens: 2,
      onPrefill: (progress) => {
        seen.push(progress)
        shown.push(it.activity)
        now.mockReturnValue(1e9)
      },
    },
  })
  await answer.finally(() => now.mockRestore())
  expect(seen.length).toBeGreaterThan(1)
  expect(shown[0]).toEqual({ name: 'answering' })
  expect(shown.at(-1)).toEqual({ name: 'reading', done: seen.at(-1)?.tokens, total: seen.at(-1)?.total })
})
