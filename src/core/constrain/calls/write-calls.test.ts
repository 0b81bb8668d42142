// Tests the call grammar. In: tools and texts. Out: which texts may follow a marker; each of them parses as a
// call that the tools allow.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { CALL_MARKS, formOf, letterOf, MARKERS } from '../../base/calls/marks.ts'
import { ToolCallParser } from '../../text/chat/calls/tool-calls.ts'
import { Language } from '../testing/language.ts'
import { TextDrawer } from '../testing/walk.ts'
import type { CallTool } from '../written-grammar.ts'
import { callsNode } from './write-calls.ts'

const WEATHER: CallTool = {
  name: 'weather',
  parameters: {
    properties: {
      city: { type: 'string' },
      days: { type: 'integer' },
      unit: { type: 'string', enum: ['c', 'f'] },
    },
    required: ['city'],
  },
}
const TOOLS = [WEATHER, { name: 'any' }]
const language = new Language((grammar) => callsNode(grammar, TOOLS))

const JSON_CALL = '{"name": "weather", "arguments": {"city": "Oslo", "days": 2}}'
const TAGS =
  '<function=weather>\n<parameter=city>\nOslo </b>\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>'
const PAIRS =
  '<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>'

const INVOKED =
  '<invoke name="weather">\n<parameter name="city">Oslo </b></parameter>\n<parameter name="days">2</parameter>\n</invoke>'
const SAID = INVOKED.replaceAll(/<(\/?)(invoke|parameter)/g, '<$1｜DSML｜$2')
  .replace('"city"', '"city" string="true"')
  .replace('"days"', '"days" string="false"')

/** The calls in a complete reply, and the remaining text. */
function read(reply: string, tools: readonly CallTool[] = TOOLS) {
  const parser = new ToolCallParser(tools)
  const text = parser.push(reply) + parser.finish()
  return { text, calls: parser.calls }
}

describe('what follows a marker', () => {
  test.each([
    ['<tool_call>', `${JSON_CALL}</tool_call>`],
    ['<tool_call>', `\n${JSON_CALL}\n</tool_call>`],
    ['<tool_call>', '{"name":"weather","arguments":{"city":""}}</tool_call>'],
    ['<tool_call>', '<function=weather>{"city": "Oslo"}</function></tool_call>'],
    ['<tool_call>', `\n${TAGS}\n</tool_call>`],
    ['<tool_call>', `weather\n${PAIRS}\n</tool_call>`],
    [
      '<tool_call>',
      '<function=weather><parameter=city>a\nb</parameter><parameter=unit>c</parameter></function></tool_call>',
    ],
    ['<tool_call>', '<function=any><parameter=x>1 < 2</parameter></function></tool_call>'],
    ['<function=', 'any></function>'],
    ['[TOOL_CALLS]', `[${JSON_CALL}, {"name": "any", "arguments": {"x": [1, null]}}]`],
    ['[TOOL_CALLS]', 'weather[ARGS]{"city": "Oslo"}'],
    ['<|python_tag|>', '{"name": "weather", "parameters": {"city": "Oslo"}}'],
    ['<|tool_call_start|>', '[weather(city="Oslo", unit="c"), any(a=[1, true])]<|tool_call_end|>'],
    ['<function_calls>', '\nweather(city="Oslo", days=2)\nany()\n</function_calls>'],
    ['<start_function_call>', 'call:weather{city:<escape>a "b"<escape>,days:2}<end_function_call>'],
    ['<|tool_call>', 'call:any{x:[1,{y:<|"|>z<|"|>}]}<tool_call|>'],
    [
      '<|START_ACTION|>',
      '[{"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Oslo"}}]<|END_ACTION|>',
    ],
    ['<|tool_call_start|>', '```python\nweather(city="Oslo", days=2)\nany()\n```<|tool_call_end|>'],
    ['<tool_calls>', `[${JSON_CALL}]</tool_calls>`],
    ['<tool_calls>', '<tool_call>weather\n```json\n{"city": "Oslo"}\n```</tool_call></tool_calls>'],
    ['<tool_calls>', `<tool_call>weather<tool_sep>\n${PAIRS}</tool_call></tool_calls>`],
    ['<longcat_tool_call>', `weather\n${PAIRS.replaceAll('arg_', 'longcat_arg_')}\n</longcat_tool_call>`],
    ['<|action_start|><|plugin|>', '\n{"name": "weather", "parameters": {"city": "Oslo"}}<|action_end|>'],
    ['function call<|role_sep|>', `\n${JSON_CALL}`],
    ['-> tool/function_call', `\n[${JSON_CALL}]`],
    ['Action:', ' ```json\n[{"tool_name": "weather", "parameters": {"city": "Oslo"}}]\n```'],
    ['<|python_start|>', '[weather(city="Oslo", days=2), any()]<|python_end|>'],
    ['<|python_start|>', `<|python_end|>${JSON_CALL}`],
    ['<minimax:tool_call>', `\n${INVOKED}\n${INVOKED}\n</minimax:tool_call>`],
    ['<｜DSML｜function_calls>', `\n${SAID}\n</｜DSML｜function_calls>`],
    ['<function name="', 'weather"><param name="city">Oslo</param><param name="days">2</param></function>'],
    ['<|tool_call_begin|>', 'functions.any:0<|tool_call_argument_begin|>{}<|tool_call_end|>'],
    ['<｜tool▁call▁begin｜>', 'weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>'],
  ])('%s may be %j, which parses as a call', (marker, text) => {
    expect(language.has(letterOf(marker) + text)).toBe(true)
    expect(read(marker + text).text).toBe('')
    expect(read(marker + text).calls).not.toEqual([])
  })

  test.each([
    'Oslo',
    '{"name": "rain"',
    '{"name": "weather", "arguments": {"town"',
    '{"name": "weather", "arguments": {"city": 1',
    '{"name": "weather", "arguments": {}',
    '[]',
    '<function=rain>',
    '<function=weather></function>',
    '<function=weather><parameter=city>a</parameter><parameter=days>two',
    '<function=weather><parameter=city>a</parameter><parameter=unit>k',
    'weather</tool_call>',
    'rain<arg_key>',
    `${JSON_CALL} and`,
  ])('never begins with %j', (text) => {
    expect(language.begins(letterOf('<tool_call>') + text)).toBe(false)
  })

  test('ends with the call, so nothing is left to decide', () => {
    for (const [marker, text] of [
      ['<tool_call>', `${JSON_CALL}</tool_call>`],
      ['<tool_call>', `${TAGS}</tool_call>`],
      ['functools', `[${JSON_CALL}]`],
    ] as const) {
      const { hasEnd, sets } = language.automaton.closure(language.after(letterOf(marker) + text))
      expect([hasEnd, sets.length]).toEqual([true, 0])
    }
  })
})

/** Parameters of every type, with everything that affects how unquoted values are parsed. */
const RICH: CallTool = {
  name: 'log.entry',
  parameters: {
    properties: {
      text: { type: 'string' },
      count: { type: 'integer' },
      share: { type: 'number', minimum: 0 },
      isOpen: { type: 'boolean' },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      level: { type: ['integer', 'null'] },
      kind: { enum: ['1', 'two', '</x>'] },
      fixed: { const: '7' },
      code: { enum: [1, 2, null] },
      tags: { type: 'array', items: { type: 'string' } },
      place: { $ref: '#/$defs/place' },
    },
    required: ['text', 'kind', 'place'],
    $defs: {
      place: {
        type: 'object',
        properties: { x: { type: 'number' }, name: { type: 'string' } },
        required: ['x'],
      },
    },
  } as CallTool['parameters'],
}
const RICH_TOOLS: readonly CallTool[] = [
  RICH,
  { name: 'ping', parameters: { properties: {} } },
  { name: 'sum', parameters: { properties: { a: { type: 'integer' } }, required: ['a'] } },
]
/** Number of texts to draw for each marker. `DRAWS=100000` draws more of them. */
const DRAWS = Number(process.env['DRAWS'] ?? 150)

describe('texts drawn from the grammar parse as calls that match their schemas:', () => {
  const richLanguage = () => new Language((grammar) => callsNode(grammar, RICH_TOOLS))
  const ajv = new Ajv2020({ strict: false })
  const fits = new Map(
    RICH_TOOLS.map(({ name, parameters }) => [name, ajv.compile({ type: 'object', ...parameters })]),
  )

  test.each(MARKERS)('%s', (marker) => {
    const random = new Random(MARKERS.indexOf(marker) + 1)
    const chance = () => random.below(1 << 24) / (1 << 24)
    let language = richLanguage()
    let drawer = new TextDrawer(language, chance)
    const { close } = CALL_MARKS[formOf(marker)]
    for (let count = 0; count < DRAWS; ) {
      if (language.automaton.isFull) {
        language = richLanguage()
        drawer = new TextDrawer(language, chance)
      }
      const text = drawer.text(letterOf(marker))
      if (text === undefined) continue
      count += 1
      const reply = marker + text.slice(1)
      const { calls, text: rest } = read(reply, RICH_TOOLS)
      expect(rest, reply).toBe('')
      expect(calls.length, reply).toBeGreaterThan(0)
      for (const { name, arguments: given, json } of calls) {
        expect(JSON.parse(json), reply).toEqual(given)
        expect(fits.get(name)!(given), `${reply}: ${json}`).toBe(true)
      }
      if (close !== undefined) expect(reply.endsWith(close)).toBe(true)
    }
  })
})
