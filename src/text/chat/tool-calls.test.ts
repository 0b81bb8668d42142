import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toolCallParser } from './tool-calls.ts'

const NAMES = ['weather', 'add']

function parse(pieces: readonly string[]) {
  const parser = toolCallParser(NAMES)
  const text = pieces.map((piece) => parser.push(piece)).join('') + parser.finish()
  return { text, calls: parser.calls }
}

const weather = { name: 'weather', arguments: { city: 'Oslo' } }
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
    'Llama with blanks',
    `\n\n${json({ type: 'function', name: 'add', parameters: {} }).replace('{', '{ ')}\n`,
    '',
    [{ name: 'add', arguments: {} }],
  ],
  ['Llama, two', `${llama(weather)}; ${llama(add)}`, '', [weather, add]],
  ['Llama, marked', `<|python_tag|>${llama(add)};`, '', [add]],
]

/** Left as they are, to the letter. */
const TEXTS: readonly [string, string][] = [
  ['a name that is no tool', `<tool_call>${json({ name: 'rm', arguments: {} })}</tool_call>`],
  ['no name', `<tool_call>${json({ arguments: {} })}</tool_call>`],
  ['arguments that are a list', `<tool_call>${json({ name: 'add', arguments: [1] })}</tool_call>`],
  ['arguments that are a text', `<tool_call>${json({ name: 'add', arguments: '{}' })}</tool_call>`],
  ['broken JSON', '<tool_call>{"name": "add", "arguments": {"a": }}</tool_call>'],
  ['no JSON', '<tool_call>add(1, 2)</tool_call>'],
  ['no end', `<tool_call>${json(weather)}`],
  ['a cut end', `<tool_call>${json(weather)}</tool_c`],
  ['a cut value', '<tool_call>{"name": "weather", "argu'],
  ['something before the end', `<tool_call>${json(weather)} and </tool_call>`],
  ['one wrong call of a list', `[TOOL_CALLS] [${json(weather)}, {"name": "rm", "arguments": {}}]`],
  ['an empty list', '[TOOL_CALLS] []'],
  ['no list', `[TOOL_CALLS] ${json(weather)}`],
  ['a cut list', `[TOOL_CALLS] [${json(weather)},`],
  ['code', '<|python_tag|>weather.call(city="Oslo")'],
  ['an object that is the answer', '{"name": "Ada", "age": 36}'],
  ['another object', '{ "city": "Oslo" }'],
  ['a bare call with text after it', `${llama(weather)} is what I would call.`],
  ['a bare call after text', `I would call ${llama(weather)}`],
  ['a cut bare call', llama(weather).slice(0, -1)],
  ['one wrong bare call of two', `${llama(weather)}; {"name": "rm", "parameters": {}}`],
  ['a marker that never comes', 'a < b <tool [TOOL <|py'],
  ['a lonely marker', 'so <tool_call'],
]

describe('a reply of', () => {
  test.each(REPLIES)('%s', (_, reply, text, calls) => {
    expect(parse([reply])).toEqual({ text, calls })
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

test('pieces make no difference, and text is let go once it can be no call', () => {
  const replies = [...REPLIES.map(([, reply]) => reply), ...TEXTS.map(([, reply]) => reply)]
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
  const parser = toolCallParser(NAMES)
  expect(parser.push('It is <b>')).toBe('It is <b>')
  expect(parser.push(' <tool')).toBe(' ')
  expect(parser.push('box>')).toBe('<toolbox>')
})

test('a long call costs no more than its length, and depth does not matter', () => {
  const parser = toolCallParser(NAMES)
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
    const parser = toolCallParser(NAMES)
    const text = parser.push(call(levels)) + parser.finish()
    expect([parser.calls.length, text.length > 0]).toEqual([calls, calls === 0])
  }
})
