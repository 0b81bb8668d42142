// The page's tools. In: questions, and a model's calls. Out: exact results, or a sentence that declines.
import { describe, expect, test } from 'vitest'
import { TOOLS, toolLabel, usedMessages } from './tools.ts'
import { asksForValue, exactUse, resultsOf, useTool } from './use-tool.ts'

const call = (name: string, given: Record<string, unknown>) => ({ id: 'call00001', name, arguments: given })
const now = new Date(2026, 10, 22, 9, 5)

test('an unknown tool is shown by its own name', () => {
  for (const name of ['search', 'constructor', '__proto__']) expect(toolLabel(name)).toBe(name)
})

test('a sum is computed without the model, as a step of the calculator', () => {
  expect(exactUse('What is twelve times twelve?', [], 'page1')).toEqual({
    used: { id: 'page1', name: 'calculate', arguments: { expression: '12 * 12' }, result: '144' },
    says: '12 * 12 = 144',
  })
  expect(exactUse('Tell me a story.', [], 'page1')).toBeUndefined()
})

test('a sum can continue from the last result', () => {
  expect(exactUse('And times 2?', ['12', '408'], 'page3')?.says).toBe('408 * 2 = 816')
})

test('a calculation by the model is declined, because it would copy numbers wrongly', () => {
  for (const name of ['calculate', 'convert_units', 'search']) {
    const { used, says } = useTool(call(name, { expression: '22 - 10' }), now)
    expect(used.result).toBe('declined')
    expect(says).toMatch(/could not/)
  }
})

test('the answer to a call for the date has the time too', () => {
  const text = 'It is Sunday, 22 November 2026. It is 09:05.'
  expect(useTool(call('current_date', {}), now)).toEqual({
    used: { ...call('current_date', {}), result: text },
    says: text,
  })
})

test('a conversation shows a model its calls with their results', () => {
  const used = { ...call('calculate', { expression: '1 + 1' }), result: '2' }
  expect(usedMessages([used])).toEqual([
    { role: 'assistant', content: '', toolCalls: [call('calculate', { expression: '1 + 1' })] },
    { role: 'tool', content: '2', toolCallId: 'call00001', name: 'calculate' },
  ])
})

test('every tool offered has a display name', () => {
  for (const { name } of TOOLS) expect(toolLabel(name)).not.toBe(name)
})

test('a sum can continue only from numeric results', () => {
  const used = (result: string, name = 'calculate') => ({ ...call(name, {}), result })
  expect(
    resultsOf([used('408'), used('declined'), used('12', 'convert_units'), used(''), used('25%')]),
  ).toEqual(['408'])
})

describe('a question for a number', () => {
  test.each(['How many eggs are 3 boxes?', 'What is the third root of 5 over seven?', 'calculate 3 things'])(
    '%s',
    (text) => {
      expect(asksForValue(text)).toBe(true)
    },
  )
  test.each(['Tell me a story about 3 foxes.', 'How many legs does a spider have?', 'Hello!'])(
    'is not: %s',
    (text) => {
      expect(asksForValue(text)).toBe(false)
    },
  )
})
