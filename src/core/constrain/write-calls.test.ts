// The grammar of calls. In: tools and texts. Out: which texts may follow a marker.
import { describe, expect, test } from 'vitest'
import { openMarked } from '../text/chat/tool-call-forms.ts'
import { Language } from './testing/language.ts'
import { callsNode } from './write-calls.ts'
import type { CallTool } from './written-grammar.ts'

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

describe('the text after a marker', () => {
  test.each([
    JSON_CALL,
    `\n${JSON_CALL}`,
    '{"name":"weather","arguments":{"city":""}}',
    `[${JSON_CALL}, {"name": "any", "arguments": {"x": [1, null]}}]`,
    '<function=weather>{"city": "Oslo"}</function>',
    TAGS,
    `\n${TAGS}`,
    '<function=weather><parameter=city>a\nb</parameter><parameter=unit>c</parameter></function>',
    '<function=any><parameter=x>1 < 2</parameter></function>',
    '<function=any></function>',
  ])('may be %j, which is read as a call', (text) => {
    expect(language.has(text)).toBe(true)
    const isTagged = text.trimStart().startsWith('<')
    const tools = new Map(TOOLS.map((tool) => [tool.name, tool]))
    const marker = isTagged ? '<tool_call>' : '[TOOL_CALLS]'
    const state = openMarked(marker, tools)(`${marker}${text}${isTagged ? '</tool_call>' : ''}`, true)
    expect(state).toHaveProperty('calls')
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
    `${JSON_CALL} and`,
  ])('never begins with %j', (text) => {
    expect(language.begins(text)).toBe(false)
  })

  test('ends with the call, so nothing decides when it is over', () => {
    for (const text of [JSON_CALL, `[${JSON_CALL}]`, TAGS]) {
      const { hasEnd, sets } = language.automaton.closure(language.after(text))
      expect([hasEnd, sets.length]).toEqual([true, 0])
    }
  })
})
