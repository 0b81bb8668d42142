// In: conversations with edited questions. Out: whether every version and what followed it can be had again.
import { expect, test } from 'vitest'
import { readConversation, type StoredMessage } from './conversations.ts'
import { edited, turned } from './versions.ts'

const user = (content: string): StoredMessage => ({ role: 'user', content })
const model = (content: string): StoredMessage => ({ role: 'assistant', content })
const texts = (messages: readonly StoredMessage[]) => messages.map(({ content }) => content).join(' ')

test('an edit keeps the earlier question with everything that followed it', () => {
  const first = [user('a'), model('A'), user('b'), model('B')]
  const second = [...edited(first, 0, 'c'), model('C')]
  expect(texts(second)).toBe('c C')
  const third = [...edited(second, 0, 'd'), model('D')]
  expect(texts(third)).toBe('d D')
  const round = [third, turned(third, 0), turned(turned(third, 0), 0)]
  expect(round.map(texts)).toEqual(['d D', 'a A b B', 'c C'])
  expect(turned(turned(turned(third, 0), 0), 0)).toEqual(third)
})

test('versions of a later question stay with their own earlier one', () => {
  const inner = [...edited([user('a'), model('A'), user('b'), model('B')], 2, 'e'), model('E')]
  const outer = [...edited(inner, 0, 'f'), model('F')]
  expect(texts(turned(turned(outer, 0), 2))).toBe('a A b B')
})

test('a question without an answer leaves no version, and one without versions does not change', () => {
  expect(edited([user('a')], 0, 'b')).toEqual([user('b')])
  const messages = [user('a'), model('A')]
  expect(turned(messages, 0)).toBe(messages)
})

test('versions are read from a record, and damaged ones are left out', () => {
  const others = [[user('x'), model('X')], 'text', [{ role: 'system', content: 'no' }], [{ role: 'user' }]]
  const record = { id: 'a', title: 'a', updated: 1, messages: [{ ...user('a'), others }, model('A')] }
  expect(readConversation(record)?.messages[0]).toEqual({ ...user('a'), others: [[user('x'), model('X')]] })
  let deep: unknown = { ...user('end') }
  for (let depth = 0; depth < 5000; depth++) deep = { ...user(String(depth)), others: [[deep]] }
  expect(readConversation({ ...record, messages: [deep] })?.messages).toHaveLength(1)
})
