import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ToolCallParser } from './tool-calls.ts'

const TOOLS = [
  {
    name: 'weather',
    parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
  },
  { name: 'add' },
]

function parse(pieces: readonly string[]) {
  const parser = new ToolCallParser(TOOLS)
  const text = pieces.map((piece) => parser.push(piece)).join('') + parser.finish()
  return { text, calls: parser.calls }
}

const weather = { name: 'weather', arguments: { city: 'Oslo' } }
const OSLO = { city: 'Oslo' }
/** How DeepSeek's marks begin. */
const DEEP = '<｜tool▁call'
const add = { name: 'add', arguments: { a: 1, b: [2, { c: '}</tool_call>]' }] } }
const json = JSON.stringify
const llama = ({ name, arguments: parameters }: typeof weather | typeof add) => json({ name, parameters })

const REPLIES: readonly [string, string, string, readonly object[]][] = [
  ['no call', 'It is sunny in Oslo.', 'It is sunny in Oslo.', []],
  ['nothing', '', '', []],
  ['Hermes', `<tool_call>\n${json(weather)}\n</tool_call>`, '', [weather]],
  [
    'Hermes, two',
    `<tool_call>\n${json(weather)}\n</tool_call>\n<tool_call>${json(add)}</tool_call>\n`,
    '',
    [weather, add],
  ],
  ['Hermes after text', `Let me see.\n<tool_call>${json(add)}</tool_call>`, 'Let me see.\n', [add]],
  ['Hermes before text', `<tool_call>${json(weather)}</tool_call> Done.`, ' Done.', [weather]],
  ['Mistral', `[TOOL_CALLS] [${json(weather)}, ${json(add)}]`, '', [weather, add]],
  ['Mistral after text', `Hm. [TOOL_CALLS][${json(add)}]`, 'Hm. ', [add]],
  ['Llama', llama(weather), '', [weather]],
  [
    'Llama with spaces',
    `\n\n${json({ type: 'function', name: 'add', parameters: {} }).replace('{', '{ ')}\n`,
    '',
    [{ name: 'add', arguments: {} }],
  ],
  ['Llama, two', `${llama(weather)}; ${llama(add)}`, '', [weather, add]],
  ['Llama, marked', `<|python_tag|>${llama(add)};`, '', [add]],
  ['Llama, on separate lines', `${llama(weather)}\n${llama(add)}`, '', [weather, add]],
  [
    'Llama, "function" for the name',
    json({ type: 'function', function: 'weather', parameters: OSLO }),
    '',
    [weather],
  ],
  ['Llama 3.1, user-defined', `<function=weather>${json(OSLO)}</function>`, '', [weather]],
  [
    'Llama 3.2, Python',
    '[weather(city="Oslo"), add(a=1, b=[2, {"c": "}</tool_call>]"}])]',
    '',
    [weather, add],
  ],
  [
    'Hermes, arguments as text',
    `<tool_call>${json({ ...weather, arguments: json(OSLO) })}</tool_call>`,
    '',
    [weather],
  ],
  ['Hermes without its end', `<tool_call>\n${json(weather)}\n`, '', [weather]],
  ['Hermes with half of its end', `<tool_call>${json(weather)}</tool_c`, '', [weather]],
  ['Granite 4, a list', `<tool_call>[${json(weather)}]</tool_call>`, '', [weather]],
  ['Granite 3', `<|tool_call|>[${json(weather)}, ${json(add)}]`, '', [weather, add]],
  ['Phi-4-mini', `<|tool_call|>[${json(weather)}]<|/tool_call|>`, '', [weather]],
  ['Phi-4', `functools[${json(weather)}]`, '', [weather]],
  ['Mistral, one without a list', `[TOOL_CALLS] ${json(weather)}`, '', [weather]],
  [
    'Mistral since 2506',
    `[TOOL_CALLS]weather[ARGS]${json(OSLO)}[TOOL_CALLS]add[ARGS]{"a":1}`,
    '',
    [weather, { name: 'add', arguments: { a: 1 } }],
  ],
  ['Mistral with an id', `[TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]${json(OSLO)}`, '', [weather]],
  ['Mistral Small 3.1', `Sure. [TOOL_CALLS]weather${json(OSLO)}`, 'Sure. ', [weather]],
  [
    'Qwen3-Coder',
    '<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>',
    '',
    [{ name: 'weather', arguments: { city: '12', days: 3 } }],
  ],
  [
    'Qwen3-Coder without its frame',
    '<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>',
    '',
    [weather],
  ],
  ['LFM2', 'So: <|tool_call_start|>[weather(city="Oslo")]<|tool_call_end|>Wait.', 'So: Wait.', [weather]],
  ['LFM2, JSON', `<|tool_call_start|>[${json(weather)}]<|tool_call_end|>`, '', [weather]],
  [
    'OLMo 3',
    '<function_calls>\nweather(city="Oslo")\nadd(a=1)\n</function_calls>',
    '',
    [weather, { name: 'add', arguments: { a: 1 } }],
  ],
  [
    'DeepSeek',
    `${DEEP}s▁begin｜>${DEEP}▁begin｜>function<｜tool▁sep｜>weather\n\`\`\`json\n${json(OSLO)}\n\`\`\`${DEEP}▁end｜>${DEEP}s▁end｜>`,
    '',
    [weather],
  ],
  ['DeepSeek V3.1', `${DEEP}▁begin｜>weather<｜tool▁sep｜>${json(OSLO)}${DEEP}▁end｜>`, '', [weather]],
  [
    'Gemma, Python in a fence',
    "```tool_code\nweather('Oslo', days=2)\n```",
    '',
    [{ name: 'weather', arguments: { city: 'Oslo', days: 2 } }],
  ],
  ['fenced JSON', `\`\`\`json\n${json(weather)}\n\`\`\``, '', [weather]],
  [
    "OpenAI's shape",
    json({ type: 'function', function: { name: 'weather', arguments: json(OSLO) } }),
    '',
    [weather],
  ],
  ["OpenAI's list", json({ tool_calls: [{ id: 'a', type: 'function', function: weather }] }), '', [weather]],
  ['a list of calls', `[${json(weather)}, ${json(add)}]`, '', [weather, add]],
]

/** Cut off by the end of the reply: neither calls nor text. */
const CUT: readonly [string, string, string][] = [
  ['Hermes', '<tool_call>{"name": "weather", "argu', ''],
  ['a marker alone', 'Well. <tool_call>', 'Well. '],
  ['Mistral', `[TOOL_CALLS] [${json(weather)},`, ''],
  ['Mistral since 2506', '[TOOL_CALLS]weather[ARGS]{"ci', ''],
  ['Qwen3-Coder', '<tool_call>\n<function=weather>\n<parameter=ci', ''],
  ['LFM2', '<|tool_call_start|>[weather(city="Os', ''],
  ['DeepSeek', `${DEEP}s▁begin｜>${DEEP}▁begin｜>function<｜tool▁sep｜>wea`, ''],
  ['a bare call', llama(weather).slice(0, -1), ''],
  ['a bare call in Python', '[weather(city="Os', ''],
  ['fenced JSON', '```json\n{"name": "weather", "arguments": {', ''],
]

/** Left exactly as they are. */
const TEXTS: readonly [string, string][] = [
  ['a name that is not a tool', `<tool_call>${json({ name: 'rm', arguments: {} })}</tool_call>`],
  ['no name', `<tool_call>${json({ arguments: {} })}</tool_call>`],
  ['arguments that are a list', `<tool_call>${json({ name: 'add', arguments: [1] })}</tool_call>`],
  ['arguments that are a text', `<tool_call>${json({ name: 'add', arguments: 'a=1' })}</tool_call>`],
  ['broken JSON', '<tool_call>{"name": "add", "arguments": {"a": }}</tool_call>'],
  ['no JSON', '<tool_call>add(1, 2)</tool_call>'],
  ['something before the end', `<tool_call>${json(weather)} and </tool_call>`],
  ['one wrong call of a list', `[TOOL_CALLS] [${json(weather)}, {"name": "rm", "arguments": {}}]`],
  ['an empty list', '[TOOL_CALLS] []'],
  ['a call of nothing known', '[TOOL_CALLS]rm[ARGS]{"all": true}'],
  ['Python that is not a literal', '[weather(city=home)] is what I would call'],
  ['Python with text after it', '[weather(city="Oslo")] is what I would call'],
  ['a tag of nothing known', '<function=rm>{}</function>'],
  ['a fence with code', '```json\n{"city": "Oslo"}\n```'],
  ['a fence with a call and text after it', `\`\`\`json\n${json(weather)}\n\`\`\`\nThat is how.`],
  ['a word', 'functools and [itertools]'],
  ['code', '<|python_tag|>weather.call(city="Oslo")'],
  ['an object that is the answer', '{"name": "Ada", "age": 36}'],
  ['another object', '{ "city": "Oslo" }'],
  ['a bare call with text after it', `${llama(weather)} is what I would call.`],
  ['a bare call after text', `I would call ${llama(weather)}`],
  ['a cut answer', '{"name": "Ada", "age'],
  ['one wrong bare call of two', `${llama(weather)}; {"name": "rm", "parameters": {}}`],
  ['a marker that never follows', 'a < b <tool [TOOL <|py'],
  ['a lonely marker', 'so <tool_call'],
]

describe('a reply of', () => {
  test.each(REPLIES)('%s', (_, reply, text, calls) => {
    expect(parse([reply])).toEqual({ text, calls })
  })
})

describe('a call that the end of the reply cuts is neither text nor a call:', () => {
  test.each(CUT)('%s', (_, reply, text) => {
    expect(parse([reply])).toEqual({ text, calls: [] })
  })

  test('whole calls before it count', () => {
    expect(parse([`<tool_call>${json(weather)}</tool_call><tool_call>{"na`])).toEqual({
      text: '',
      calls: [weather],
    })
    expect(parse([`${llama(weather)}; {"name": "ad`])).toEqual({ text: '', calls: [weather] })
  })
})

describe('what does not match a call exactly stays text:', () => {
  test.each(TEXTS)('%s', (_, reply) => {
    expect(parse([reply])).toEqual({ text: reply, calls: [] })
  })

  test('and a good call after it is found', () => {
    const bad = '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'
    const { text, calls } = parse([`${bad}\n<tool_call>${json(weather)}</tool_call>`])
    expect({ text, calls }).toEqual({ text: `${bad}\n`, calls: [weather] })
  })
})

test('chunking makes no difference, and text is released once it cannot be a call', () => {
  const replies = [...REPLIES, ...CUT, ...TEXTS].map(([, reply]) => reply)
  fc.assert(
    fc.property(fc.constantFrom(...replies), fc.array(fc.integer({ min: 1, max: 9 })), (reply, sizes) => {
      const pieces: string[] = []
      for (let at = 0, index = 0; at < reply.length; index++) {
        const size = sizes[index % Math.max(1, sizes.length)] ?? 1
        pieces.push(reply.slice(at, at + size))
        at += size
      }
      expect(parse(pieces)).toEqual(parse([reply]))
    }),
    { numRuns: 500 },
  )
  const parser = new ToolCallParser(TOOLS)
  expect(parser.push('It is <b>')).toBe('It is <b>')
  expect(parser.push(' <tool')).toBe(' ')
  expect(parser.push('box>')).toBe('<toolbox>')
})

test('a long call costs no more than its length, and depth does not matter', () => {
  const parser = new ToolCallParser(TOOLS)
  let text = parser.push('<tool_call>')
  for (let index = 0; index < 100_000; index++) text += parser.push('[')
  expect((text + parser.finish()).length).toBe(100_011)
  expect(parser.calls).toEqual([])
})

test('a call that nests too deep to cross to a page stays text', () => {
  const call = (levels: number) =>
    `<tool_call>{"name":"add","arguments":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}</tool_call>`
  for (const [levels, calls] of [
    [126, 1],
    [127, 0],
    [5000, 0],
  ] as const) {
    const parser = new ToolCallParser(TOOLS)
    const text = parser.push(call(levels)) + parser.finish()
    expect([parser.calls.length, text.length > 0]).toEqual([calls, calls === 0])
  }
})
