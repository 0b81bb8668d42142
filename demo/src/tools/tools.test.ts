// The page's tools. In: a model's calls. Out: results, or a sentence that says what is wrong.
import { describe, expect, test } from 'vitest'
import { calculate, plainNumber } from './calculate.ts'
import { TOOLS, toolLabel, usedMessages } from './tools.ts'
import { convertUnits } from './units.ts'
import { calculateAsked, checkedWords, resultsOf, type Said, useTool } from './use-tool.ts'

const call = (name: string, given: Record<string, unknown>) => ({ id: 'call00001', name, arguments: given })
const saying = (question: string, results: readonly number[] = []): Said => ({ question, results })
/** The result of a call whose numbers all occur in the question. */
const resultOf = (name: string, given: Record<string, unknown>, now?: Date) =>
  useTool(call(name, given), saying(`Please: ${Object.values(given).join(' ')}`), now).used.result

test('an unknown tool is shown by its own name', () => {
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
    '"%s" is rejected with a sentence',
    (expression) => {
      expect(() => calculate(expression)).toThrow(RangeError)
      expect(resultOf('calculate', { expression })).toMatch(/\.$/)
    },
  )

  test('results have no rounding noise', () => {
    expect(plainNumber(calculate('0.1 + 0.2'))).toBe('0.3')
    expect(resultOf('calculate', { expression: '1 / 3' })).toBe('0.3333333333')
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

  test('a sentence says what cannot be converted', () => {
    expect(resultOf('convert_units', { value: 1, from: 'mile', to: 'kilogram' })).toBe(
      'mile cannot be converted to kilogram.',
    )
    expect(resultOf('convert_units', { value: 1, from: 'constructor', to: 'mile' })).toBe(
      '"constructor" is not a unit that is known here.',
    )
    expect(resultOf('convert_units', { value: 'many', from: 'mile', to: 'foot' })).toBe(
      'The value is not a number.',
    )
  })
})

test('the date is written out, with the time', () => {
  expect(resultOf('current_date', {}, new Date(2026, 10, 22, 9, 5))).toBe('Sunday, 22 November 2026, 09:05')
})

test('every tool offered can be used', () => {
  const given = { expression: '1 + 1', value: 1, from: 'mile', to: 'foot' }
  for (const { name } of TOOLS) expect(resultOf(name, given)).not.toMatch(/There is no tool/)
})

test('a conversation shows a model its calls with their results', () => {
  const used = { ...call('calculate', { expression: '1 + 1' }), result: '2' }
  expect(usedMessages([used])).toEqual([
    { role: 'assistant', content: '', toolCalls: [call('calculate', { expression: '1 + 1' })] },
    { role: 'tool', content: '2', toolCallId: 'call00001', name: 'calculate' },
  ])
})

describe('a call of the calculator', () => {
  test('with the question’s sum is used unchanged', () => {
    const given = call('calculate', { expression: '17 * 24' })
    expect(useTool(given, saying('What is 17 times 24?'))).toEqual({ used: { ...given, result: '408' } })
  })

  test('that differs from the question’s sum is replaced by it, and so is the answer', () => {
    for (const [question, wrong, right, result] of [
      ['3.5 + 2.25', '3.5 + 25', '3.5 + 2.25', '5.75'],
      ['What is 15 % of 240?', '15 * 240', '15% * 240', '36'],
      ['What is 2 + 3 * 4?', '2 + 3', '2 + 3 * 4', '14'],
      ['0.1 + 0.2', 'what', '0.1 + 0.2', '0.3'],
    ] as const) {
      const { used, says } = useTool(call('calculate', { expression: wrong }), saying(question))
      expect(used).toEqual({ ...call('calculate', { expression: right }), result })
      expect(says).toBe(`${right} = ${result}`)
    }
  })

  test('continues from the last result', () => {
    const { used } = useTool(call('calculate', { expression: '20 * 2' }), saying('And times 2?', [12, 408]))
    expect(used).toMatchObject({ arguments: { expression: '408 * 2' }, result: '816' })
  })

  test('with an unmentioned number is rejected in a sentence that names it', () => {
    const { used, says } = useTool(
      call('calculate', { expression: '22 - 10' }),
      saying('A hen lays 20 eggs, and 10 break. How many are left?'),
    )
    expect(used.result).toBe('refused: 22 was not mentioned')
    expect(says).toMatch(/I could not/)
  })

  test('is accepted if the question is not a sum but has all the call’s numbers', () => {
    const { used, says } = useTool(
      call('calculate', { expression: '20 - 10' }),
      saying('A hen lays 20 eggs, and ten break. How many are left?'),
    )
    expect([used.result, says]).toEqual(['10', undefined])
  })

  test('is made by the page if the question is a sum and the model made none', () => {
    expect(calculateAsked(saying('What is twelve times twelve?'), 'page1')).toEqual({
      used: { id: 'page1', name: 'calculate', arguments: { expression: '12 * 12' }, result: '144' },
      says: '12 * 12 = 144',
    })
    expect(calculateAsked(saying('Tell me a story.'), 'page1')).toBeUndefined()
  })
})

test('a conversion of a number that was not mentioned is rejected', () => {
  const given = { value: 35, from: 'kilometres', to: 'metres' }
  expect(
    useTool(call('convert_units', given), saying('How many metres are 3.5 kilometres?')).says,
  ).toBeDefined()
  const one = { value: 1, from: 'mile', to: 'kilometres' }
  expect(
    useTool(call('convert_units', one), saying('How long is a mile in kilometres?')).says,
  ).toBeUndefined()
})

test('words about a calculation stay only if they give its result and no other number', () => {
  const used = [{ ...call('calculate', { expression: '12 + 6' }), result: '18' }]
  const said = saying('Please add 12 apples and 6 pears')
  expect(checkedWords('12 plus 6 is 18.', used, said)).toBe('12 plus 6 is 18.')
  expect(checkedWords('6 plus 6 is 12.', used, said)).toBe('12 + 6 = 18')
  expect(checkedWords('9 plus 9 makes 18.', used, said)).toBe('12 + 6 = 18')
  expect(checkedWords('It is Sunday.', [], said)).toBe('It is Sunday.')
})

test('results of calculations are numbers, and refusals are not results', () => {
  const used = (result: string, name = 'calculate') => ({ ...call(name, {}), result })
  expect(resultsOf([used('408'), used('refused'), used('12', 'convert_units'), used('')])).toEqual([408])
})
