// Choosing a call. In: an engine whose model writes a fixed reply, messages. Out: the call, or none.
import { describe, expect, test } from 'vitest'
import { faultFinder } from '../../../core/constrain/schema/faults.ts'
import { fakeEngine } from '../../../engine/api/fake/fake-engine.ts'
import { argumentsFrom } from './arguments-from.ts'
import type { AssistToolName } from './assist-tools.ts'
import { chooseCall, withResult } from './choose-call.ts'

const call = (name: string, given: Record<string, unknown>) => ({ id: 'call00001', name, arguments: given })
const chosen = async (reply: string, message: string) => chooseCall(await fakeEngine([reply]), message)

test('a call is read from a reply that is requested outside the conversation', async () => {
  const found = await chosen(
    '{"name":"calculate","arguments":{"expression":"54 * 13.50"}}',
    '54 m2 at 13.50 each?',
  )
  expect(found).toMatchObject({ name: 'calculate', arguments: { expression: '54 * 13.50' } })
  expect(found?.id).toMatch(/^[a-z\d]{9}$/)
})

test('no call is chosen where none helps', async () => {
  expect(await chosen('{"name":"none"}', 'Thanks for the 3 tips!')).toBeUndefined()
})

const NOW = new Date(2026, 10, 22, 9, 5)
const fits = (message: string, name: AssistToolName, given: object): boolean => {
  const form = argumentsFrom(message, NOW)[name]
  return form !== undefined && faultFinder(form, 'the arguments')(given) === undefined
}

describe('the arguments of a call come from the message', () => {
  test.each([
    ['calculate', { expression: '184.80 * (1 + 10%) / 7' }, 'We are 7 and pay 184.80 plus 10 %'],
    ['calculate', { expression: '184.80 * 1.1 / 7' }, 'We are 7 and pay 184.80 plus 10 %'],
    ['calculate', { expression: '(2850 - 1976) * 12' }, 'I earn 2,850 a month and spend 1,976'],
    ['calculate', { expression: '3 * 24' }, 'three boxes of two dozen'],
    ['convert_units', { value: 42.195, from: 'km', to: 'miles' }, 'It is 42.195 km. What is that in miles?'],
    ['convert_units', { value: 350, from: 'f', to: 'celsius' }, 'It says 350 F but I have Celsius'],
    ['convert_units', { value: 51, from: 'pounds', to: 'kg' }, '51 pounds, and the limit is 23 kg'],
    ['convert_units', { value: 1.5, from: 'litres', to: 'us fluid ounces' }, '1.5 litres in US fluid ounces'],
    ['time_in', { place: 'Tokyo' }, 'What is the time in Tokyo?'],
    ['time_in', { place: 'new york' }, 'time in new york please'],
    ['days_between', { from: '3 March 2026', to: 'today' }, 'I quit on 3 March 2026'],
    ['days_between', { from: '2026-01-05', to: '2026-02-01' }, 'From 2026-01-05 to 2026-02-01'],
    ['current_date', {}, 'Which day is it?'],
  ] as const)('%s %o', (name, given, message) => {
    expect(fits(message, name, given)).toBe(true)
  })

  test.each([
    ['calculate', { expression: '5 * 5' }, 'What are 5 good habits?'],
    ['calculate', { expression: '54 * 3.28' }, '54 of 13'],
    ['convert_units', { value: 13.2, from: 'km', to: 'miles' }, '42.195 km in miles'],
    ['convert_units', { value: 51, from: 'kg', to: 'pounds' }, '51 pounds, and the limit is 23 kg'],
    ['convert_units', { value: 412, from: 'km', to: 'km' }, '412 km with 29.5 litres per 100 km'],
    ['time_in', { place: 'Paris' }, 'What is the time in Tokyo?'],
    ['days_between', { from: '2027-02-15', to: '2027-02-18' }, 'My exam is on 2027-02-15'],
    ['days_between', { from: 'today', to: 'today' }, 'How long is it?'],
  ] as const)('not %s %o', (name, given, message) => {
    expect(fits(message, name, given)).toBe(false)
  })
})

test('the model that answers gets the result', () => {
  expect(withResult('How much?', call('calculate', { expression: '2 * 3' }), '6')).toMatch(
    /^How much\?\n\n.*2 \* 3 = 6\n/,
  )
})
