// Choosing a call. In: an engine whose model writes a fixed reply, messages. Out: the call, or none.
import { describe, expect, test } from 'vitest'
import { fakeEngine } from '../../../engine/api/fake/fake-engine.ts'
import { chooseCall, withResult } from './choose-call.ts'
import { isGrounded } from './grounded.ts'

const call = (name: string, given: Record<string, unknown>) => ({ id: 'call00001', name, arguments: given })
const chosen = async (reply: string, message: string) => chooseCall(await fakeEngine([reply]), message)

test('a call comes from the reply, which is asked for apart from the conversation', async () => {
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

describe('a call is used only if its arguments come from the message', () => {
  test.each([
    ['calculate', { expression: '184.80 * (1 + 0.10) / 7' }, 'We are 7 and pay 184.80 plus 10 %'],
    ['calculate', { expression: '(2850 - 1976) * 12' }, 'I earn 2,850 a month and spend 1,976'],
    ['convert_units', { value: 42.195, from: 'km', to: 'miles' }, '42.195 km in miles'],
    ['time_in', { place: 'Tokyo' }, 'The time in tokyo?'],
    ['days_between', { from: '2026-03-03', to: 'today' }, 'I quit on 3 March 2026'],
    ['current_date', {}, 'Which day is it?'],
  ])('%s %o', (name, given, message) => {
    expect(isGrounded(call(name, given), message)).toBe(true)
  })

  test.each([
    ['calculate', { expression: '5 * 2' }, 'What are 5 good habits?'],
    ['calculate', { expression: '1.34 * 3.2857' }, '1.34 metres in feet'],
    ['calculate', { expression: '12 * 60' }, 'Hello'],
    ['convert_units', { value: 13.2, from: 'km', to: 'miles' }, '42.195 km in miles'],
    ['time_in', { place: 'Paris' }, 'The time in Tokyo?'],
    ['days_between', { from: '2027-02-15', to: '2027-02-18' }, 'My exam is on 2027-02-15'],
    ['days_between', { from: '2027-02-15', to: '2027-02-15' }, 'My exam is on 2027-02-15'],
  ])('not %s %o', (name, given, message) => {
    expect(isGrounded(call(name, given), message)).toBe(false)
  })
})

test('the answering model is told the result', () => {
  expect(withResult('How much?', call('calculate', { expression: '2 * 3' }), '6')).toMatch(
    /^How much\?\n\n.*2 \* 3 = 6\n/,
  )
})
