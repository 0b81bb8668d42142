// The tools. In: arguments as models write them. Out: results, or errors with a sentence.
import { describe, expect, test } from 'vitest'
import { faultFinder } from '../../../core/constrain/schema/faults.ts'
import { exactAnswer } from '../exact/exact-answer.ts'
import { type AssistToolName, assistTools } from './assist-tools.ts'

const NOW = new Date(2026, 10, 22, 9, 5)
const tools = assistTools({ now: () => NOW })
const tool = (name: AssistToolName) => tools.find((each) => each.name === name)!
const run = (name: AssistToolName, args: Record<string, unknown>) => {
  expect(faultFinder(tool(name).parameters, 'the arguments')(args)).toBeUndefined()
  return tool(name).execute(args)
}

test.each([
  ['17 * 24', '408'],
  ['2**10', '1024'],
  ['15% of 240', '36'],
  ['$1,250 + 3', '1253'],
  ['0.1 + 0.2', '0.3'],
])('calculate works out %s', (expression, result) => {
  expect(run('calculate', { expression })).toBe(result)
})

test.each([
  [{ value: 350, from: 'F', to: 'C' }, '176.67 °C'],
  [{ value: 1.5, from: 'litres', to: 'US fluid ounces' }, '50.72 US fluid ounces'],
  [{ value: 100, from: 'km/h', to: 'mph' }, '62.14 mph'],
])('convert_units converts %o', (args, result) => {
  expect(run('convert_units', args)).toBe(result)
})

test('the date, the time elsewhere and the days between dates are reported', () => {
  expect(run('current_date', {})).toBe('It is Sunday, 22 November 2026. It is 09:05.')
  const tokyo = new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'Asia/Tokyo',
  })
  for (const place of ['Tokyo', 'Tokyo, Japan', 'Asia/Tokyo'])
    expect(run('time_in', { place })).toContain(tokyo.format(NOW))
  expect(run('days_between', { from: 'today', to: '2026-12-25' })).toMatch(/^33 days from Sunday, 22 Nov/)
  expect(run('days_between', { from: '3 March 2026', to: 'Today' })).toMatch(/^264 days /)
})

test.each([
  ['calculate', { expression: 'Paris' }, /not arithmetic/],
  ['calculate', { expression: '1 / 0' }, /no finite value/],
  ['convert_units', { value: 1, from: 'kg', to: 'km' }, /cannot be converted/],
  ['convert_units', { value: 1, from: 'boxes', to: 'km' }, /not a known unit/],
  ['time_in', { place: 'Nowhere' }, /Asia\/Tokyo/],
  ['days_between', { from: 'x', to: 'today' }, /2026-12-24/],
] as const)('%s with %o throws a sentence', (name, args, sentence) => {
  expect(() => run(name, args)).toThrow(sentence)
})

test('a result equals the exact answer to the same question', () => {
  for (const question of ['What is 17 * 24?', 'Convert 3 miles to km', 'What is 15 % of 240?']) {
    const answer = exactAnswer(question, { now: NOW })!
    expect(tool(answer.tool).execute({ ...answer.arguments })).toBe(answer.result)
  }
})

describe('the tools', () => {
  test('can be chosen', () => {
    expect(assistTools({ only: ['time_in', 'calculate'] }).map(({ name }) => name)).toEqual([
      'time_in',
      'calculate',
    ])
  })

  test('read the clock at each call', () => {
    let hour = 9
    const [date] = assistTools({ only: ['current_date'], now: () => new Date(2026, 0, 1, hour) })
    expect(date!.execute({})).toMatch(/09:00/)
    hour = 10
    expect(date!.execute({})).toMatch(/10:00/)
  })
})
