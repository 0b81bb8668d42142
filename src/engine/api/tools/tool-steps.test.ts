// Running tools. In: a toy model that echoes its prompt, functions. Out: the steps, the conversation, the
// stream, and how aborts and wrong calls end.
import { describe, expect, test } from 'vitest'
import { errorOf, GREEDY, openToy } from '../testing/toy-engine.ts'
import type { ReplyChunk, RunnableTool, ToolRun } from '../types.ts'
import { checkedTool, runCall } from './run-call.ts'

const PARAMETERS = { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }
const call = (name: string, args: object = { a: 1 }) =>
  `<tool_call>{"name": "${name}", "arguments": ${JSON.stringify(args)}}</tool_call>`

const tool = (execute: RunnableTool['execute'], more: Partial<RunnableTool> = {}): RunnableTool => ({
  name: 'add',
  parameters: PARAMETERS,
  ...(execute && { execute }),
  ...more,
})

async function ask(said: string, options: object) {
  const session = (await openToy()).createSession()
  const reply = session.send(said, { ...GREEDY, ...options })
  const chunks: ReplyChunk[] = []
  for await (const chunk of reply) chunks.push(chunk)
  const runs = chunks.flatMap(({ toolRun }) => toolRun ?? [])
  return { session, chunks, runs, result: await reply.result }
}

describe('a reply whose tools have functions', () => {
  test('continues from their results', async () => {
    const given: unknown[] = []
    const execute: RunnableTool['execute'] = (args, options) => {
      given.push(args, options)
      return { sum: Number(args['a']) + 1 }
    }
    const { session, result, chunks, runs } = await ask(`so: ${call('add')}`, { tools: [tool(execute)] })
    expect(result).toMatchObject({
      text: 'You said so: \n\nYou said {"sum":2}',
      finishReason: 'stop',
      toolCalls: [],
    })
    expect(chunks.map(({ text }) => text).join('')).toBe(result.text)
    expect(given).toEqual([{ a: 1 }, { callId: 'call00001', signal: expect.any(AbortSignal) }])
    const one = { id: 'call00001', name: 'add', arguments: { a: 1 }, argumentsJson: '{"a":1}' }
    const done = { ...one, state: 'done', value: { sum: 2 }, result: '{"sum":2}' }
    expect(runs).toEqual([{ ...one, state: 'running' }, done])
    expect(result.steps).toMatchObject([
      { text: 'You said so: ', toolRuns: [done] },
      { text: 'You said {"sum":2}', toolRuns: [] },
    ])
    expect(session.messages).toEqual([
      { role: 'user', content: `so: ${call('add')}` },
      { role: 'assistant', content: 'You said so: ', toolCalls: [one] },
      { role: 'tool', content: '{"sum":2}', toolCallId: 'call00001', name: 'add' },
      { role: 'assistant', content: 'You said {"sum":2}' },
    ])
    const [first, second] = result.steps ?? []
    expect(result.usage.completionTokens).toBe(
      (first?.usage.completionTokens ?? 0) + (second?.usage.completionTokens ?? 0),
    )
    expect(result.tokens).toEqual([...(first?.tokens ?? []), ...(second?.tokens ?? [])])
    // The second step processes only new text.
    expect(second?.usage.cachedTokens).toBeGreaterThanOrEqual(first?.usage.promptTokens ?? 0)
  })

  test('runs several calls one after the other, in order', async () => {
    const order: string[] = []
    const execute: RunnableTool['execute'] = async ({ a }) => {
      order.push(`begin ${a}`)
      for (let turn = 0; turn < Number(a); turn++) await new Promise((on) => setTimeout(on))
      order.push(`end ${a}`)
      return `${a}`
    }
    const said = [5, 1, 3].map((a) => call('add', { a })).join('')
    const { session, result } = await ask(said, { tools: [tool(execute)] })
    expect(order).toEqual(['begin 5', 'end 5', 'begin 1', 'end 1', 'begin 3', 'end 3'])
    const answers = session.messages.filter(({ role }) => role === 'tool')
    expect(answers.map(({ content, toolCallId }) => `${toolCallId} ${content}`)).toEqual([
      'call00001 5',
      'call00002 1',
      'call00003 3',
    ])
    expect(result.steps).toHaveLength(2)
  })

  test('runs steps up to the limit, the last one without tools', async () => {
    let runs = 0
    const execute = () => {
      runs++
      return call('add')
    }
    const usual = await ask(call('add'), { tools: [tool(execute)] })
    expect([usual.result.steps?.length, runs]).toEqual([6, 5])
    expect(usual.result.steps?.at(-1)).toMatchObject({ text: `You said ${call('add')}`, toolRuns: [] })
    runs = 0
    const few = await ask(call('add'), { tools: [tool(execute)], maxSteps: 2 })
    expect([few.result.steps?.length, runs]).toEqual([2, 1])
    expect(few.session.messages.at(-1)).toMatchObject({ role: 'assistant' })
  })

  test('enforces the grammar of strict tools until the last step, which has no tools', async () => {
    const text = '<tool_call>{"name": "add", "arg'
    const tools = [tool(() => text, { strict: true })]
    const { result, session } = await ask(text, { tools, maxSteps: 2 })
    expect(session.messages[1]?.toolCalls).toMatchObject([
      { name: 'add', arguments: { a: expect.any(Number) } },
    ])
    expect(result.steps?.at(-1)?.text).toBe(`You said ${text}`)
  })

  test('leaves calls of tools without a function to the caller', async () => {
    const tools = [tool(() => 'ran'), { name: 'other', parameters: PARAMETERS }]
    const { session, result } = await ask(`${call('other')}${call('add')}`, { tools })
    expect(result.toolCalls).toMatchObject([{ id: 'call00001', name: 'other' }])
    expect(result.steps).toMatchObject([{ toolRuns: [{ id: 'call00002', state: 'done' }] }])
    const answer = { role: 'tool', content: 'mine', toolCallId: 'call00001', name: 'other' } as const
    expect((await session.send(answer, GREEDY).result).text).toBe('You said mine')
  })

  test('has its prefix only in the first step, and can be regenerated', async () => {
    const { session } = await ask(`1234${call('add')}`, { tools: [tool(() => 'x')], prefix: 'It: ' })
    expect(session.messages.map(({ content }) => content)).toEqual([
      `1234${call('add')}`,
      'It: 4',
      'x',
      'You said x',
    ])
    expect((await session.regenerate(GREEDY).result).text).toBe('You said x')
    expect(session.messages).toHaveLength(4)
  })

  test('does not run further ahead of a slow reader in later steps', async () => {
    const session = (await openToy()).createSession()
    const tools = [tool(() => 'x'.repeat(400))]
    const reply = session.send(call('add'), { ...GREEDY, tools })
    let text = ''
    for await (const chunk of reply) {
      text += chunk.text
      await new Promise((on) => setTimeout(on))
    }
    expect(text).toBe((await reply.result).text)
    expect(text).toContain('x'.repeat(400))
  })
})

describe('an error in a tool is reported to the model and to the caller', () => {
  const runOf = async (execute: RunnableTool['execute'], more = {}, args: object = { a: 1 }) => {
    const { runs, session, result } = await ask(call('add', args), { tools: [tool(execute, more)] })
    const told = session.messages.find(({ role }) => role === 'tool')?.content
    expect(result.finishReason).toBe('stop')
    expect(runs).toHaveLength(2)
    expect(told).toBe(runs[1]?.result)
    return runs[1] as ToolRun
  }

  test('a function that throws, immediately and later', async () => {
    const error = new RangeError('no such order')
    const thrown = await runOf(() => {
      throw error
    })
    expect(thrown).toMatchObject({ state: 'failed', result: 'error: no such order', error })
    expect(await runOf(() => Promise.reject(error))).toMatchObject({ result: 'error: no such order' })
    expect(await runOf(() => Promise.reject('words'))).toMatchObject({ result: 'error: words' })
  })

  test('arguments that the schema forbids do not reach the function', async () => {
    let calls = 0
    const count = () => calls++
    const wrong = await runOf(count, {}, { a: 'one' })
    expect(wrong).toMatchObject({ state: 'failed', result: 'error: a is "one" but must be a whole number' })
    expect(wrong.error).toMatchObject({ code: 'unsupported', detail: { name: 'add' } })
    expect(await runOf(count, {}, {})).toMatchObject({ result: 'error: a is missing' })
    expect(calls).toBe(0)
  })

  test('a timeout aborts the signal, and nobody waits for the function', async () => {
    let reason: unknown
    const late = await runOf(
      (_, { signal }) => new Promise(() => signal.addEventListener('abort', () => (reason = signal.reason))),
      { timeoutMs: 1 },
    )
    expect(late).toMatchObject({ state: 'failed', result: 'error: add took longer than 1 ms' })
    expect(late.error).toBe(reason)
    expect(reason).toMatchObject({ name: 'TimeoutError' })
    expect(await runOf(() => 'x', { timeoutMs: Number.POSITIVE_INFINITY })).toMatchObject({ result: 'x' })
  })

  test('a result that is not JSON becomes an error, and one that is too long is truncated', async () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    expect((await runOf(() => circle)).result).toMatch(/^error: .*circular/is)
    expect(await runOf(() => 1n)).toMatchObject({ state: 'failed' })
    expect(await runOf(() => undefined)).toMatchObject({ state: 'done', result: 'done' })
    const halved = await runOf(() => '😀😀', { maxResultLength: 3 })
    expect(halved.result).toBe('😀\n[the first 2 of 4 characters]')
  })

  test('the model gets 8,000 characters of a result unless the tool sets another limit', async () => {
    const signal = new AbortController().signal
    const asked = { id: 'call00001', name: 'add', arguments: { a: 1 } }
    const checked = checkedTool(tool(() => 'é'.repeat(9000)))!
    const { result } = await runCall(asked, checked, signal)
    expect(result).toBe(`${'é'.repeat(8000)}\n[the first 8000 of 9000 characters]`)
    const whole = await runCall(asked, checkedTool(tool(() => 'é'.repeat(8000)))!, signal)
    expect(whole.result).toBe('é'.repeat(8000))
  })

  test('a function that changes its arguments changes nothing else', async () => {
    const run = await runOf((args) => {
      ;(args as Record<string, unknown>)['a'] = 99
      return 'x'
    })
    expect(run.arguments).toEqual({ a: 1 })
  })
})

describe('ending a reply whose tool is running', () => {
  const waiting = () => {
    let began = () => {}
    const hasBegun = new Promise<void>((resolve) => {
      began = resolve
    })
    const signals: AbortSignal[] = []
    const execute: RunnableTool['execute'] = (_, { signal }) => {
      signals.push(signal)
      began()
      return new Promise(() => undefined)
    }
    return { tools: [tool(execute)], hasBegun, signals }
  }

  test('an abort rejects the reply, ends the tool, and leaves the conversation unchanged', async () => {
    const session = (await openToy()).createSession()
    const { tools, hasBegun, signals } = waiting()
    const stop = new AbortController()
    const { result } = session.send(call('add'), { ...GREEDY, tools, signal: stop.signal })
    const failed = errorOf(result)
    await hasBegun
    stop.abort(new Error('enough'))
    expect(await failed).toMatchObject({ message: 'enough' })
    expect(signals[0]?.reason).toMatchObject({ message: 'enough' })
    expect(session.messages).toEqual([])
    expect((await session.send('hi', GREEDY).result).text).toBe('You said hi')
    expect(session.messages).toHaveLength(2)
  })

  test('cancel keeps the text so far, with a result for each call', async () => {
    const session = (await openToy()).createSession()
    const { tools, hasBegun, signals } = waiting()
    const reply = session.send(`so: ${call('add')}${call('add', { a: 2 })}`, { ...GREEDY, tools })
    const { result } = reply
    await hasBegun
    reply.cancel('bored')
    expect(await result).toMatchObject({ text: 'You said so: ', finishReason: 'cancelled', reason: 'bored' })
    expect(signals).toHaveLength(1)
    expect(signals[0]?.aborted).toBe(true)
    const told = 'error: the call was stopped before it ended'
    expect(session.messages.slice(2)).toMatchObject([{ content: told }, { content: told }])
    expect((await session.send('hi', GREEDY).result).text).toBe('You said hi')
  })

  test('leaving the loop or disposing of the session does the same', async () => {
    const session = (await openToy()).createSession()
    const left = waiting()
    for await (const { toolRun } of session.send(call('add'), { ...GREEDY, tools: left.tools })) {
      if (toolRun === undefined) continue
      await left.hasBegun
      break
    }
    expect(left.signals[0]?.aborted).toBe(true)
    const disposed = waiting()
    const { result } = session.send(call('add'), { ...GREEDY, tools: disposed.tools })
    await disposed.hasBegun
    await session.dispose()
    expect(await result).toMatchObject({ finishReason: 'cancelled' })
    expect(disposed.signals[0]?.aborted).toBe(true)
  })

  test('a disposed engine rejects the reply at the next step', async () => {
    const engine = await openToy()
    const { result } = engine.createSession().send(call('add'), {
      ...GREEDY,
      tools: [tool(() => engine.dispose())],
    })
    expect(await errorOf(result)).toMatchObject({ code: 'disposed' })
  })
})

test.each([
  [{ maxSteps: 1 }, 'maxSteps is 1 but must be a whole number from 2 to 100'],
  [{ maxSteps: 101 }, 'maxSteps is 101'],
  [{ maxSteps: 2.5 }, 'maxSteps is 2.5'],
  [{ tools: [tool('x' as never)] }, 'execute of "add" is "x" but must be a function'],
  [{ tools: [tool(() => 1, { timeoutMs: 0 })] }, 'timeoutMs of "add" is 0'],
  [{ tools: [tool(() => 1, { timeoutMs: Number.NaN })] }, 'timeoutMs of "add" is NaN'],
  [{ tools: [tool(() => 1, { maxResultLength: 0 })] }, 'maxResultLength of "add" is 0'],
  [{ tools: [tool(() => 1, { parameters: { unevaluatedItems: false } })] }, 'calls of add cannot be checked'],
  [{ tools: [tool(() => 1), tool(() => 2)] }, 'each of the 2 tools needs a unique name'],
  [{ tools: [tool(() => 1), 7] }, 'tool 1 is 7'],
])('%j is rejected with a sentence', async (options, sentence) => {
  const session = (await openToy()).createSession()
  const given = { tools: [tool(() => 'x')], ...options } as { tools: RunnableTool[] }
  const error = await errorOf(session.send(call('add'), { ...GREEDY, ...given }).result)
  expect(error).toMatchObject({ code: 'unsupported', message: expect.stringContaining(sentence) })
  expect(session.messages).toEqual([])
})
