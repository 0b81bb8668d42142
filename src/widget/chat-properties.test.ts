// Properties of the widget. In: attributes and properties of a page. Out: settings of a conversation, or a
// typed error.
import { expect, test } from 'vitest'
import { HalfbyteChatElement } from './chat-element.ts'
import { checkProperty, settingsOf } from './chat-properties.ts'
import { ENGLISH } from './words.ts'

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

test.each(['enable_thinking', '[true]', '7', 'null', ''])('the attribute %j is refused', (text) => {
  expect(() => checkProperty('templateArguments', converter(text))).toThrow(
    expect.objectContaining({
      code: 'unsupported',
      message: expect.stringContaining('an object of variables'),
    }),
  )
})

test('variables of the template reach each reply, over those of generateOptions', () => {
  const given = { maxTokens: 5, templateArguments: { effort: 'low', date: 'today' } }
  expect(settings({})).toEqual({})
  expect(settings({}, given)).toEqual(given)
  expect(settings({ effort: 'high' }, given)).toEqual({
    maxTokens: 5,
    templateArguments: { effort: 'high', date: 'today' },
  })
})
