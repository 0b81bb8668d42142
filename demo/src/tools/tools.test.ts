// The page's tools. In: calls as a model writes them. Out: results, or a sentence that says what is wrong.
import { describe, expect, test } from 'vitest'
import { calculate, plainNumber } from './calculate.ts'
import { TOOLS, toolLabel, usedMessages, useTool } from './tools.ts'
import { convertUnits } from './units.ts'

const call = (name: string, given: Record<string, unknown>) => ({ id: 'call00001', name, arguments: given })

test('a tool that the page does not have keeps its own name', () => {
  for (const name of ['search', 'constructor', '__proto__']) expect(toolLabel(name)).toBe(name)
})

describe('arithmetic', () => {
  test.each([
    ['17 * 24', 408],
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4', 20],
    ['10 - 4 - 3', 3],
    ['2 ^ 3 ^ 2', 512],
    ['-2 ^ 2', -4],
    ['2 * -3', -6],
    ['7 x 8', 56],
    ['9 ÷ 4', 2.25],
    ['50% * 8', 4],
    ['.5 + 1.25', 1.75],
  ])('%s', (expression, value) => {
    expect(calculate(expression)).toBe(value)
  })

  test.each(['', '2 +', '(2', '2)', '2 3', 'two', '1 / 0', '9 ^ 9 ^ 9', 'process.exit()', '1+'.repeat(200)])(
    '"%s" is refused with a sentence',
    (expression) => {
      expect(() => calculate(expression)).toThrow(RangeError)
      expect(useTool(call('calculate', { expression }))).toMatch(/\.$/)
    },
  )

  test('results have no rounding noise', () => {
    expect(plainNumber(calculate('0.1 + 0.2'))).toBe('0.3')
    expect(useTool(call('calculate', { expression: '1 / 3' }))).toBe('0.3333333333')
  })
})

describe('units', () => {
  test.each([
    [5, 'miles', 'kilometres', 8.04672],
    [1, 'foot', 'inches', 12],
    [2.5, 'kg', 'grams', 2500],
    [100, 'degrees Celsius', 'Fahrenheit', 212],
    [32, 'fahrenheit', 'celsius', 0],
    [2, 'weeks', 'days', 14],
    [3, 'meters', 'centimeters', 300],
    [1, 'litre', 'litre', 1],
  ])('%d %s in %s', (value, from, to, result) => {
    expect(convertUnits(value, from, to)).toBeCloseTo(result, 9)
  })

  test('what cannot be converted is said in a sentence', () => {
    expect(useTool(call('convert_units', { value: 1, from: 'mile', to: 'kilogram' }))).toBe(
      'mile cannot be converted to kilogram.',
    )
    expect(useTool(call('convert_units', { value: 1, from: 'constructor', to: 'mile' }))).toBe(
      '"constructor" is not a unit that is known here.',
    )
    expect(useTool(call('convert_units', { value: 'many', from: 'mile', to: 'foot' }))).toBe(
      'The value is not a number.',
    )
  })
})

test('the date is written out, with the time', () => {
  expect(useTool(call('current_date', {}), new Date(2026, 10, 22, 9, 5))).toBe(
    'Sunday, 22 November 2026, 09:05',
  )
})

test('every tool that is offered can be used', () => {
  const given = { expression: '1 + 1', value: 1, from: 'mile', to: 'foot' }
  for (const { name } of TOOLS) expect(useTool(call(name, given))).not.toMatch(/There is no tool/)
})

test('a conversation shows a model its calls with their results', () => {
  const used = { ...call('calculate', { expression: '1 + 1' }), result: '2' }
  expect(usedMessages([used])).toEqual([
    { role: 'assistant', content: '', toolCalls: [call('calculate', { expression: '1 + 1' })] },
    { role: 'tool', content: '2', toolCallId: 'call00001', name: 'calculate' },
  ])
})
