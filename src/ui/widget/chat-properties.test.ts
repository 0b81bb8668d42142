// Properties of the widget. In: attributes and properties set by a page. Out: settings of a conversation, or
// a typed error.
import { expect, test } from 'vitest'
import { ENGLISH } from '../words/english.ts'
import { HalfbyteChatElement } from './chat-element.ts'
import { checkProperty, settingsOf } from './chat-properties.ts'

const { converter } = HalfbyteChatElement.properties.templateArguments

const settings = (templateArguments: object, generateOptions = {}) =>
  settingsOf(
    { templateArguments, generateOptions, tools: [], documents: [] } as unknown as Parameters<
      typeof settingsOf
    >[0],
    ENGLISH,
  ).generateOptions

test('the attribute template-arguments is a JSON object', () => {
  expect(converter('{ "enable_thinking": false }')).toEqual({ enable_thinking: false })
  expect(() => checkProperty('templateArguments', converter('{ "enable_thinking": false }'))).not.toThrow()
  expect(converter(null)).toBeUndefined()
})

test.each(['enable_thinking', '[true]', '7', 'null', ''])('the attribute %j is rejected', (text) => {
  expect(() => checkProperty('templateArguments', converter(text))).toThrow(
    expect.objectContaining({
      code: 'unsupported',
      message: expect.stringContaining('an object of variables'),
    }),
  )
})

test('template variables reach each reply and override those of generateOptions', () => {
  const given = { maxTokens: 5, templateArguments: { effort: 'low', date: 'today' } }
  expect(settings({})).toEqual({})
  expect(settings({}, given)).toEqual(given)
  expect(settings({ effort: 'high' }, given)).toEqual({
    maxTokens: 5,
    templateArguments: { effort: 'high', date: 'today' },
  })
})

test('texts and lists given by a page are bounded', () => {
  const text = 'x'.repeat(10_000)
  const refused = expect.objectContaining({ code: 'unsupported' })
  expect(() => checkProperty('suggestions', Array(100).fill(text))).not.toThrow()
  expect(() => checkProperty('suggestions', Array(101).fill('x'))).toThrow(refused)
  expect(() => checkProperty('suggestions', [`${text}x`])).toThrow(refused)
  const tool = { name: 'x', execute: () => 'y' }
  expect(() => checkProperty('tools', Array(1000).fill(tool))).not.toThrow()
  expect(() => checkProperty('tools', Array(1001).fill(tool))).toThrow(refused)
  expect(() => checkProperty('documents', Array(100_000).fill('x'))).not.toThrow()
  expect(() => checkProperty('documents', Array(100_001).fill('x'))).toThrow(refused)
})
