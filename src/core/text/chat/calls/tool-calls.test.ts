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
  return { text, calls: parser.calls.map(({ name, arguments: given }) => ({ name, arguments: given })) }
}

const weather = { name: 'weather', arguments: { city: 'Oslo' } }
const OSLO = { city: 'Oslo' }
const none = { name: 'add', arguments: {} }
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
    'Llama, "function" as the key of the name',
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
  ['Hermes without the closing tag', `<tool_call>\n${json(weather)}\n`, '', [weather]],
  ['Hermes with half of the closing tag', `<tool_call>${json(weather)}</tool_c`, '', [weather]],
  ['Granite 4, a list', `<tool_call>[${json(weather)}]</tool_call>`, '', [weather]],
  ['Granite 3', `<|tool_call|>[${json(weather)}, ${json(add)}]`, '', [weather, add]],
  ['Phi-4-mini', `<|tool_call|>[${json(weather)}]<|/tool_call|>`, '', [weather]],
  [
    'Seed-OSS',
    '<seed:tool_call>\n<function=weather>\n<parameter=city>Oslo</parameter>\n</function>\n</seed:tool_call>',
    '',
    [weather],
  ],
  ['Nemotron', `<TOOLCALL>[${json(weather)}, ${json(add)}]</TOOLCALL>`, '', [weather, add]],
  [
    'Apertus',
    `Hm.<|tools_prefix|>[{"weather": ${json(OSLO)}}, {"add": {}}]<|tools_suffix|>`,
    'Hm.',
    [weather, { name: 'add', arguments: {} }],
  ],
  [
    'Apertus, no tool',
    '<|tools_prefix|>[{"rain": {}}]<|tools_suffix|>',
    '<|tools_prefix|>[{"rain": {}}]<|tools_suffix|>',
    [],
  ],
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
    'Qwen3-Coder without the outer tags',
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
  [
    'Gemma, printed',
    "```tool_code\nprint(weather(city='Oslo'))\nsum = add(a=1)\nprint(sum)\n```",
    '',
    [weather, { name: 'add', arguments: { a: 1 } }],
  ],
  [
    'Gemma, a fence in a text',
    '```tool_code\nweather(city="a ``` b")\n```',
    '',
    [{ name: 'weather', arguments: { city: 'a ``` b' } }],
  ],
  [
    'FunctionGemma',
    `<start_function_call>call:weather{city:<escape>a, "b"}<escape>,days:2}<end_function_call>`,
    '',
    [{ name: 'weather', arguments: { city: 'a, "b"}', days: 2 } }],
  ],
  ['Gemma 4', '<|tool_call>call:add{a:1,b:[2,{c:<|"|>}</tool_call>]<|"|>}]}<tool_call|>', '', [add]],
  [
    'Qwen3-Coder with closing tags in a value',
    '<tool_call>\n<function=weather>\n<parameter=city>\na </function> </parameter> b\n</parameter>\n</parameter>\n</function>\n</tool_call>',
    '',
    [{ name: 'weather', arguments: { city: 'a </function> </parameter> b' } }],
  ],
  [
    'Qwen3-Coder without the opening tag',
    'Well.\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>',
    'Well.\n',
    [weather],
  ],
  [
    'GLM',
    '<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>a </arg_value> b</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>',
    '',
    [{ name: 'weather', arguments: { city: 'a </arg_value> b', days: 2 } }],
  ],
  [
    'Hermes, two in one block',
    `<tool_call>\n${json(weather)}\n${json(add)}\n</tool_call>`,
    '',
    [weather, add],
  ],
  ['Hermes, fenced', `<tool_call>\n\`\`\`json\n${json(weather)}\n\`\`\`\n</tool_call>`, '', [weather]],
  ['Hermes, only the closing tag', `${json(weather)}\n</tool_call>`, '', [weather]],
  [
    'Hermes, text between',
    `a <tool_call>${json(weather)}</tool_call> b <tool_call>${json(weather)}</tool_call> c`,
    'a  b  c',
    [weather, weather],
  ],
  [
    'Hermes, no arguments',
    '<tool_call>{"name": "add", "arguments": ""}</tool_call>',
    '',
    [{ name: 'add', arguments: {} }],
  ],
  ['Qwen 2.5, small', `<tools>\n${json(weather)}\n</tools>`, '', [weather]],
  ['Llama 3.1, called by method', '<|python_tag|>weather.call(city="Oslo")', '', [weather]],
  [
    'Command R7B',
    `<|START_ACTION|>[${json({ tool_call_id: '0', tool_name: 'weather', parameters: OSLO })}]<|END_ACTION|>`,
    '',
    [weather],
  ],
  [
    'Kimi',
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>${json(OSLO)}<|tool_call_end|><|tool_calls_section_end|>`,
    '',
    [weather],
  ],
  [
    'DeepSeek, distilled',
    `<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>weather\n\`\`\`json\n${json(OSLO)}\n\`\`\`<｜tool_call_end｜><｜tool_calls_end｜>`,
    '',
    [weather],
  ],
  [
    'Hermes, arguments first and nothing between two calls',
    `<tool_call>${json({ arguments: OSLO, name: 'weather' })}\n<tool_call>${json(weather)}}\n</tool_call>`,
    '',
    [weather, weather],
  ],
  ['Hermes, no arguments as a list', '<tool_call>{"name": "add", "arguments": []}</tool_call>', '', [none]],
  [
    'Hermes, a line end in a text and one comma too many',
    '<tool_call>{"name": "weather", "arguments": {"city": "a\nb",}}</tool_call>',
    '',
    [{ name: 'weather', arguments: { city: 'a\nb' } }],
  ],
  [
    "Hermes, Python's literals",
    "<tool_call>{'name': 'add', 'arguments': {'a': True, 'b': None, 'c': \"it's }\", 'd': 'e\"}'}}</tool_call>",
    '',
    [{ name: 'add', arguments: { a: true, b: null, c: "it's }", d: 'e"}' } }],
  ],
  ['Mistral with spaces', `[TOOL_CALLS] weather [CALL_ID] abc123def [ARGS] ${json(OSLO)}`, '', [weather]],
  [
    'Kimi without arguments',
    '<|tool_call_begin|>functions.add:0<|tool_call_argument_begin|><|tool_call_end|>',
    '',
    [none],
  ],
  ['DeepSeek without arguments', `${DEEP}▁begin｜>add<｜tool▁sep｜>${DEEP}▁end｜>`, '', [none]],
  ...['function_call', 'tool', 'json'].map((tag): (typeof REPLIES)[0] => [
    `JSON in <${tag}>`,
    `So: <${tag}>\n${json(weather)}\n</${tag}>`,
    'So: ',
    [weather],
  ]),
  [
    'Qwen3-Coder without the last closing tags, with quoted names',
    '<tool_call>\n<function="weather">\n<parameter="city">\nOslo\n</function>\n</tool_call>',
    '',
    [weather],
  ],
  [
    'Qwen3-Coder without the closing tag of the function',
    '<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n</tool_call>',
    '',
    [weather],
  ],
  [
    'Gemma 3, in a module, with a comment',
    '```tool_code\n# "look" it up\nprint(default_api.weather(**{"city": "Oslo"}))\n```',
    '',
    [weather],
  ],
  ...['arguments', 'parameters', 'id'].map((key): (typeof REPLIES)[0] => [
    `JSON that begins with ${key}`,
    `[{"${key}": ${key === 'id' ? '"a", "parameters": ' : ''}${json(OSLO)}, "name": "weather"}]`,
    '',
    [weather],
  ]),
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

/** Calls that the end of the reply cuts off: neither calls nor text. */
const CUT: readonly [string, string, string][] = [
  ['Hermes', '<tool_call>{"name": "weather", "argu', ''],
  ['a marker alone', 'Well. <tool_call>', 'Well. '],
  ['Mistral', `[TOOL_CALLS] [${json(weather)},`, ''],
  ['Mistral since 2506', '[TOOL_CALLS]weather[ARGS]{"ci', ''],
  ['Qwen3-Coder', '<tool_call>\n<function=weather>\n<parameter=ci', ''],
  ['LFM2', '<|tool_call_start|>[weather(city="Os', ''],
  ['GLM after an argument', '<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n', ''],
  ['FunctionGemma', '<start_function_call>call:weather{city:<escape>Os', ''],
  ['Kimi', '<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city"', ''],
  ['DeepSeek', `${DEEP}s▁begin｜>${DEEP}▁begin｜>function<｜tool▁sep｜>wea`, ''],
  ['a bare call', llama(weather).slice(0, -1), ''],
  ['a bare call in Python', '[weather(city="Os', ''],
  ['fenced JSON', '```json\n{"name": "weather", "arguments": {', ''],
]

/** Texts that are not calls and stay exactly as they are. */
const TEXTS: readonly [string, string][] = [
  ['a name that is not a tool', `<tool_call>${json({ name: 'rm', arguments: {} })}</tool_call>`],
  ['no name', `<tool_call>${json({ arguments: {} })}</tool_call>`],
  ['arguments that are a list', `<tool_call>${json({ name: 'add', arguments: [1] })}</tool_call>`],
  ['arguments that are a text', `<tool_call>${json({ name: 'add', arguments: 'a=1' })}</tool_call>`],
  ['broken JSON', '<tool_call>{"name": "add", "arguments": {"a": }}</tool_call>'],
  ['no JSON', '<tool_call>add(1, 2)</tool_call>'],
  ['something before the end', `<tool_call>${json(weather)} and </tool_call>`],
  ['a list with one wrong call', `[TOOL_CALLS] [${json(weather)}, {"name": "rm", "arguments": {}}]`],
  ['an empty list', '[TOOL_CALLS] []'],
  ['a call to an unknown function', '[TOOL_CALLS]rm[ARGS]{"all": true}'],
  ['Python that is not a literal', '[weather(city=home)] is what I would call'],
  ['Python with text after it', '[weather(city="Oslo")] is what I would call'],
  ['an unknown tag', '<function=rm>{}</function>'],
  ['a fence with code', '```json\n{"city": "Oslo"}\n```'],
  ['a fence with a call and text after it', `\`\`\`json\n${json(weather)}\n\`\`\`\nThat is how.`],
  ['a word', 'functools and [itertools]'],
  ['code', '<|python_tag|>import weather\nweather.city("Oslo")'],
  ['an object that is the answer', '{"name": "Ada", "age": 36}'],
  ['another object', '{ "city": "Oslo" }'],
  ['a bare call with text after it', `${llama(weather)} is what I would call.`],
  ['a bare call after text', `I would call ${llama(weather)}`],
  ['a cut answer', '{"name": "Ada", "age'],
  ['two bare calls, one of them wrong', `${llama(weather)}; {"name": "rm", "parameters": {}}`],
  ['a marker that never follows', 'a < b <tool [TOOL <|py'],
  ['a lonely marker', 'so <tool_call'],
]

describe('a reply of', () => {
  test.each(REPLIES)('%s', (_, reply, text, calls) => {
    expect(parse([reply])).toEqual({ text, calls })
  })
})

describe('a call cut off by the end of the reply is neither text nor a call:', () => {
  test.each(CUT)('%s', (_, reply, text) => {
    expect(parse([reply])).toEqual({ text, calls: [] })
  })

  test('complete calls before it count', () => {
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

  test('and a valid call after it is found', () => {
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

test('a long call takes linear time, regardless of its depth', () => {
  const parser = new ToolCallParser(TOOLS)
  let text = parser.push('<tool_call>')
  for (let index = 0; index < 100_000; index++) text += parser.push('[')
  expect((text + parser.finish()).length).toBe(100_011)
  expect(parser.calls).toEqual([])
})

test('a call nested too deeply to send to a page stays text', () => {
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

test('arguments keep their digits and order', () => {
  const jsonOf = (reply: string) => {
    const parser = new ToolCallParser(TOOLS)
    parser.push(reply)
    parser.finish()
    return parser.calls.map((call) => call.json)
  }
  const given = '{"b": 1.0, "1": 1234567890123456789, "c": [1e2,-0]}'
  expect(jsonOf(`<tool_call>{"name": "add", "arguments": ${given}}</tool_call>`)).toEqual([given])
  expect(jsonOf(`[TOOL_CALLS]add[ARGS]${given}`)).toEqual([given])
  expect(jsonOf('[add(a=1234567890123456789, b=1.0, c=.5, d=1_000, e=(1, None))]')).toEqual([
    '{"a": 1234567890123456789, "b": 1.0, "c": 0.5, "d": 1000, "e": [1, null]}',
  ])
  expect(jsonOf('<function=add><parameter=a>1234567890123456789</parameter></function>')).toEqual([
    '{"a": 1234567890123456789}',
  ])
  expect(jsonOf('<tool_call>{"name": "add", "arguments": {"a": NaN}}</tool_call>')).toEqual(['{"a":null}'])
})

describe('a value without quotes has the type given by its schema:', () => {
  const properties = {
    text: { type: 'string' },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    listed: { type: ['string', 'null'] },
    choice: { enum: ['1', '2'] },
    code: { enum: [1, 2] },
    fixed: { const: '1' },
    day: { $ref: '#/$defs/day' },
    loop: { $ref: '#/properties/loop' },
    isOpen: { type: 'boolean' },
    tags: { type: 'array' },
    count: { type: 'integer' },
    loose: { type: 'string', nullable: true },
    mixed: { enum: [true, 'x'] },
  }
  const tool = { name: 'log', parameters: { properties, $defs: { day: { type: 'string', format: 'date' } } } }
  test.each<[string, string, unknown]>([
    ['text', '123', '123'],
    ['note', '123', '123'],
    ['note', 'null', null],
    ['note', 'None', null],
    ['listed', '00123', '00123'],
    ['choice', '1', '1'],
    ['code', '1', 1],
    ['fixed', '1', '1'],
    ['day', '2026', '2026'],
    ['loop', '5', 5],
    ['isOpen', 'True', true],
    ['isOpen', 'false', false],
    ['tags', '[\'a\', "b", 1, None]', ['a', 'b', 1, null]],
    ['tags', '["a"]', ['a']],
    ['count', '2026-01-15', '2026-01-15'],
    ['count', '5', 5],
    ['loose', 'null', null],
    ['loose', '5', '5'],
    ['mixed', 'true', true],
    ['mixed', 'x', 'x'],
    ['other', 'True', 'True'],
    ['other', '{"a": 1}', { a: 1 }],
  ])('%s of %j', (name, text, value) => {
    const parser = new ToolCallParser([tool])
    parser.push(`<tool_call><function=log><parameter=${name}>\n${text}\n</parameter></function></tool_call>`)
    expect(parser.calls).toMatchObject([{ name: 'log', arguments: { [name]: value } }])
  })
})

describe("one of Python's literals:", () => {
  test.each<[string, unknown]>([
    ['"a" \'b\'', 'ab'],
    ['r"a\\n\\""', 'a\\n\\"'],
    ['f"a" "b"', 'ab'],
    ['rb"b"', 'b'],
    ["u'é'", 'é'],
    ['"\\U0001F600\\u00e9\\x41"', '😀éA'],
    ['"\\U99999999"', '\\U99999999'],
    ['0x1F', 31],
    ['{1: "a", -2.5: (3,)}', { 1: 'a', '-2.5': [3] }],
    ['(1)', 1],
    ['()', []],
    ['[("a"), ("b",)]', ['a', ['b']]],
  ])('%s', (text, value) => {
    const parser = new ToolCallParser(TOOLS)
    for (const letter of `<|tool_call_start|>[add(a=${text})]<|tool_call_end|>`) parser.push(letter)
    expect(parser.calls).toMatchObject([{ name: 'add', arguments: { a: value } }])
  })
})

test('every form accepts names with any letters, and properties may be null', () => {
  const name = '天气.ns:get/it'
  const tools = [{ name, parameters: { type: 'object', properties: null } }]
  for (const reply of [
    `<tool_call>${name}\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>`,
    `<tool_call><function=${name}><parameter=a>1</parameter></function></tool_call>`,
    `[TOOL_CALLS]${name}[ARGS]{"a": 1}`,
    `<|tool_call_start|>[${name}(a=1)]<|tool_call_end|>`,
    `<start_function_call>call:${name}{a:1}<end_function_call>`,
    `<|tool_call_begin|>functions.${name}:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>`,
    `${DEEP}▁begin｜>${name}<｜tool▁sep｜>{"a": 1}${DEEP}▁end｜>`,
    `[${name}(a=1)]`,
  ]) {
    const parser = new ToolCallParser(tools)
    expect(parser.push(reply) + parser.finish()).toBe('')
    expect(parser.calls).toMatchObject([{ name, arguments: { a: 1 } }])
  }
})
