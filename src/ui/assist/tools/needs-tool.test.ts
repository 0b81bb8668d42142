// The gate of the tools. In: the measured messages, and messages in other languages. Out: which may need one.
import { expect, test } from 'vitest'
import { NEEDING, ORDINARY } from '../../../../lab/bench/tools/messages.ts'
import { needsTool } from './needs-tool.ts'

test.each([
  ...NEEDING.map(([message]) => message),
  '¿Qué hora es en Madrid?',
  'Wie viele Tage sind es bis Weihnachten?',
  'Quelle heure est-il à Tokyo ?',
  'Сколько дней до Нового года?',
  'これは何日ですか',
  '现在几点？',
  'كم الساعة الآن؟',
  'Was sind 15 % von 240 €?',
])('may need a tool: %s', (message) => {
  expect(needsTool(message)).toBe(true)
})

test.each([
  'Tell me a story about two foxes.',
  'Write a short poem about rain.',
  'Thanks!',
  'Schreib mir ein Gedicht über den Herbst.',
  'I feel tired today.',
  '',
])('does not: %s', (message) => {
  expect(needsTool(message)).toBe(false)
})

test('few ordinary messages seem to need a tool', () => {
  expect(ORDINARY.filter(needsTool).length).toBeLessThanOrEqual(2)
})

test('a long text does not count as a question', () => {
  expect(needsTool(`What is 12 * 12? ${'word '.repeat(200)}`)).toBe(false)
})
