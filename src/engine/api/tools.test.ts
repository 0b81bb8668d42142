// Tools and constraints. In: a toy model that echoes its prompt. Out: calls in the result, and why a reply
// ended.
import { describe, expect, test } from 'vitest'
import { GREEDY, openToy } from './testing/toy-engine.ts'

const tools = [{ name: 'add', parameters: { type: 'object', properties: { a: { type: 'integer' } } } }]
const call = (name: string) => `<tool_call>{"name": "${name}", "arguments": {"a": 1}}</tool_call>`
describe('a reply with tools', () => {
  test('has its calls in the result and the conversation, and streams only its text', async () => {
    const session = (await openToy()).createSession()
    const reply = session.send(`so: ${call('add')}`, { ...GREEDY, tools })
    let streamed = ''
    for await (const { text } of reply) streamed += text
    const result = await reply.result
    const toolCalls = [{ id: 'call00001', name: 'add', arguments: { a: 1 }, argumentsJson: '{"a": 1}' }]
    expect(result).toMatchObject({ text: 'You said so: ', finishReason: 'stop', toolCalls })
    expect(streamed).toBe(result.text)
    expect(session.messages.at(-1)).toEqual({ role: 'assistant', content: 'You said so: ', toolCalls })
  })

  test('continues from the tool’s result, and keeps counting calls', async () => {
    const session = (await openToy()).createSession()
    await session.send(call('add'), { ...GREEDY, tools }).result
    const answer = { role: 'tool', content: '2', toolCallId: 'call00001', name: 'add' } as const
    const next = await session.send([answer, { role: 'user', content: call('add') }], { ...GREEDY, tools })
      .result
    expect(next.toolCalls).toMatchObject([{ id: 'call00002' }])
    expect(session.messages[2]).toEqual(answer)
  })

  test('without tool calls is not processed again in the next turn', async () => {
    const session = (await openToy()).createSession()
    const { usage } = await session.send('hello', { ...GREEDY, tools }).result
    const next = await session.send('more', { ...GREEDY, tools }).result
    expect(next.usage.cachedTokens).toBeGreaterThanOrEqual(usage.promptTokens + usage.completionTokens - 1)
  })

  test('keeps text that does not call a tool, and never has calls if there are no tools', async () => {
    const session = (await openToy()).createSession()
    const wrong = await session.send(call('rm'), { ...GREEDY, tools }).result
    expect(wrong).toMatchObject({ text: `You said ${call('rm')}`, toolCalls: [] })
    const plain = await session.send(call('add'), GREEDY).result
    expect(plain.text).toBe(`You said ${call('add')}`)
    expect(plain.toolCalls).toBeUndefined()
  })

  test('ends with the last allowed call, and decodes nothing after it', async () => {
    const session = (await openToy()).createSession()
    const said = `so: ${call('add')}${call('add')} and on, ${'and on'.repeat(20)}`
    const { usage } = await session.send(`so: ${call('add')}`, { ...GREEDY, tools }).result
    session.setMessages([])
    const one = await session.send(said, { ...GREEDY, tools, maxToolCalls: 1 }).result
    expect(one).toMatchObject({ text: 'You said so: ', finishReason: 'stop', toolCalls: [{ name: 'add' }] })
    expect(one.toolCalls).toHaveLength(1)
    expect(one.usage.completionTokens).toBe(usage.completionTokens)
    const two = await session.regenerate({ ...GREEDY, tools, maxToolCalls: 2 }).result
    expect(two.toolCalls).toHaveLength(2)
    expect(two.text).toBe('You said so: ')
    for (const maxToolCalls of [0, -1, 0.5, Number.NaN, '1'] as number[])
      await expect(session.regenerate({ tools, maxToolCalls }).result).rejects.toMatchObject({
        code: 'unsupported',
        detail: { name: 'maxToolCalls' },
      })
  })

  test('that lists several calls keeps only the first', async () => {
    const session = (await openToy()).createSession()
    const listed = `[TOOL_CALLS][${'{"name": "add", "arguments": {"a": 1}}, '.repeat(3).slice(0, -2)}]`
    const { toolCalls } = await session.send(listed, { ...GREEDY, tools, maxToolCalls: 1 }).result
    expect(toolCalls).toHaveLength(1)
  })

  test('that is cut off within a call ends before it', async () => {
    const session = (await openToy()).createSession()
    const cut = await session.send(call('add'), { ...GREEDY, tools, maxTokens: 20 }).result
    expect(cut).toMatchObject({
      finishReason: 'length',
      toolCalls: [],
      text: 'You said ',
    })
  })

  test('is rejected for plain text, for unnamed tools and for duplicate names', async () => {
    const engine = await openToy()
    await expect(engine.complete('x', { tools }).result).rejects.toMatchObject({ code: 'unsupported' })
    for (const wrong of [[{ name: '' }], [...tools, ...tools]]) {
      const { result } = engine.createSession().send('x', { tools: wrong })
      await expect(result).rejects.toMatchObject({ code: 'unsupported' })
    }
  })
})

describe('a reply with strict tools', () => {
  const strict = [
    {
      name: 'add',
      strict: true,
      parameters: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
    },
    { name: 'any' },
  ]

  test('is constrained to a complete call after the marker, and is unconstrained before and after it', async () => {
    const session = (await openToy()).createSession()
    const wrong = '<tool_call>{"name": "rm", "arguments": {"a": "x"}}</tool_call>'
    const {
      text,
      toolCalls = [],
      finishReason,
    } = await session.send(`so: ${wrong}`, { ...GREEDY, tools: strict }).result
    expect(text).toBe('You said so: ')
    expect(toolCalls).toHaveLength(1)
    expect(['add', 'any']).toContain(toolCalls[0]?.name)
    expect(finishReason).toBe('stop')
    const free = await session.send(`${wrong.replace('tool_call', 'call')} [x] {"name"`, {
      ...GREEDY,
      tools: strict,
    }).result
    expect(free.text).toBe(`You said ${wrong.replace('tool_call', 'call')} [x] {"name"`)
  })

  test('matches the schema, in every supported call format', async () => {
    const session = (await openToy()).createSession()
    const written = [
      `<tool_call>\n{"name": "add", "arguments": {"a": 7, "b": 1}}\n</tool_call>`,
      '<tool_call>{"name": "add", "arguments": {}}</tool_call>',
      '<tool_call><function=add><parameter=a>7</parameter></function></tool_call>',
      '<function=add>{"a": 7}</function>',
      '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 7}}]',
      '<|python_tag|>{"name": "add", "parameters": {"a": 7}}',
      'functools[{"name": "add", "arguments": {"a": 7}}]',
      '<|tool_call|>[{"name": "add", "arguments": {"a": 7}}]',
      '[TOOL_CALLS]add[ARGS]{"b": 2}',
      '<tool_call>add<arg_key>a</arg_key><arg_value>x</arg_value></tool_call>',
      '<|tool_call_start|>[add(b=1)]<|tool_call_end|>',
      '<function_calls>add(b=1)</function_calls>',
      '<start_function_call>call:add{a:x}<end_function_call>',
      '<|tool_call>call:add{b:1}<tool_call|>',
      '<|START_ACTION|>[{"tool_name": "add", "parameters": {}}]<|END_ACTION|>',
      '<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{"b": 1}<|tool_call_end|>',
      '<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"b": 1}<｜tool▁call▁end｜>',
      // A truncated call, after which the model would stop.
      '<tool_call>{"name": "add", "arg',
      '<tool_call>',
    ]
    for (const text of written) {
      session.setMessages([])
      const { toolCalls = [], ...reply } = await session.send(text, {
        ...GREEDY,
        tools: strict,
        maxTokens: 400,
      }).result
      // The toy model writes the rest of its text from its current position.
      expect([text, reply.finishReason]).toEqual([text, 'stop'])
      expect(reply.text).not.toMatch(/tool.call|functools|function|TOOL|ACTION|python|"name"/)
      expect(toolCalls).toHaveLength(1)
      const [{ name, arguments: given }] = toolCalls as [(typeof toolCalls)[0]]
      if (name === 'add') expect(Object.entries(given)).toEqual([['a', expect.any(Number)]])
    }
  })

  test('leaves a valid call as it was written, and also text without a call after it', async () => {
    const session = (await openToy()).createSession()
    const python = await session.send('<|tool_call_start|>[add(a=1)]<|tool_call_end|>', {
      ...GREEDY,
      tools: strict,
    }).result
    expect(python.toolCalls).toMatchObject([{ name: 'add', arguments: { a: 1 } }])
    const words = await session.send('functools are not calls', { ...GREEDY, tools: strict }).result
    expect(words).toMatchObject({ text: 'You said functools are not calls', toolCalls: [] })
  })

  test('follows its own constraint, if there is one', async () => {
    const session = (await openToy()).createSession()
    const one = await session.send('x', { ...GREEDY, tools: strict, choices: ['You said <tool_call>'] })
      .result
    expect(one).toMatchObject({ text: 'You said ', toolCalls: [] })
  })

  test('names keywords that cannot be enforced, and the valid values of strict', async () => {
    const session = (await openToy()).createSession()
    for (const wrong of [
      { name: 'f', strict: true, parameters: { properties: { a: { $dynamicRef: '#a' } } } },
      { name: 'f', strict: 'yes' },
    ]) {
      const { result } = session.send('x', { tools: [wrong] as never })
      await expect(result).rejects.toMatchObject({ code: 'unsupported' })
    }
  })
})

describe('a reply with a constraint', () => {
  test('is exactly the forced text and ends there', async () => {
    const session = (await openToy()).createSession()
    const one = await session.send('hi', { ...GREEDY, choices: ['You said no', 'Yo'] }).result
    expect(one).toMatchObject({ text: 'You said no', finishReason: 'stop' })
    const two = await session.send('abc', { ...GREEDY, pattern: 'You said [a-z]{2}' }).result
    expect(two).toMatchObject({ text: 'You said ab', finishReason: 'stop' })
  })

  test('may end where the model ends if the text is complete', async () => {
    const session = (await openToy()).createSession()
    const whole = await session.send('abc', { ...GREEDY, pattern: 'You said [a-z]{2,9}' }).result
    expect(whole).toMatchObject({ text: 'You said abc', finishReason: 'stop' })
  })

  test('that is cut off does not count as finished, even if it could end there', async () => {
    const session = (await openToy()).createSession()
    const pattern = 'You said [a-z]+'
    expect(await session.send('abcdef', { ...GREEDY, pattern, maxTokens: 4 }).result).toMatchObject({
      text: 'You said abc',
      finishReason: 'length',
    })
    expect(await session.send('abcdef', { ...GREEDY, pattern, stop: ['f'] }).result).toMatchObject({
      text: 'You said abcde',
      finishReason: 'length',
    })
  })

  test('is rejected if there are two of them', async () => {
    const { result } = (await openToy()).createSession().send('x', { choices: ['a'], pattern: 'a' })
    await expect(result).rejects.toMatchObject({
      code: 'unsupported',
      detail: { given: ['pattern', 'choices'] },
    })
  })
})
