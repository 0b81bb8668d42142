// In: conversations with edited questions and regenerated answers. Out: whether every version and the
// messages after it can be restored.
import { expect, test } from 'vitest'
import { newConversation, type StoredMessage, withMessages } from './conversations.ts'
import { readConversation } from './read-conversation.ts'
import { again, continued, edited, forked, versionIndexOf, withVersion } from './versions.ts'

const user = (content: string): StoredMessage => ({ role: 'user', content })
const model = (content: string): StoredMessage => ({ role: 'assistant', content })
const texts = (messages: readonly StoredMessage[]) => messages.map(({ content }) => content).join(' ')

test('an edit keeps the earlier question with everything that followed it', () => {
  const first = [user('a'), model('A'), user('b'), model('B')]
  const second = [...edited(first, 0, { content: 'c' }), model('C')]
  expect(texts(second)).toBe('c C')
  const third = [...edited(second, 0, { content: 'd' }), model('D')]
  expect(texts(third)).toBe('d D')
  const second2 = withVersion(third, 0, -1)
  const first2 = withVersion(second2, 0, -1)
  expect([second2, first2].map(texts)).toEqual(['c C', 'a A b B'])
  expect([third, second2, first2].map(([question]) => versionIndexOf(question))).toEqual([2, 1, 0])
  expect(withVersion(first2, 0, -1)).toBe(first2)
  expect(withVersion(withVersion(first2, 0, 1), 0, 1)).toEqual(third)
  expect(withVersion(third, 0, 1)).toBe(third)
})

test('versions of a later question stay with their own version of the earlier one', () => {
  const inner = [...edited([user('a'), model('A'), user('b'), model('B')], 2, { content: 'e' }), model('E')]
  const outer = [...edited(inner, 0, { content: 'f' }), model('F')]
  expect(texts(withVersion(withVersion(outer, 0, -1), 2, -1))).toBe('a A b B')
})

test('a question without an answer leaves no version, and one without versions does not change', () => {
  expect(edited([user('a')], 0, { content: 'b' })).toEqual([user('b')])
  const messages = [user('a'), model('A')]
  expect(withVersion(messages, 0, 1)).toBe(messages)
})

test('versions are read from a record, and damaged ones are left out', () => {
  const others = [[user('x'), model('X')], 'text', [{ role: 'system', content: 'no' }], [{ role: 'user' }]]
  const record = { id: 'a', title: 'a', updated: 1, messages: [{ ...user('a'), others }, model('A')] }
  expect(readConversation(record)?.messages[0]).toEqual({ ...user('a'), others: [[user('x'), model('X')]] })
  let deep: unknown = { ...user('end') }
  for (let depth = 0; depth < 5000; depth++) deep = { ...user(String(depth)), others: [[deep]] }
  expect(readConversation({ ...record, messages: [deep] })?.messages).toHaveLength(1)
})

test('another answer keeps the earlier ones in order, even if an older one was shown', () => {
  const one = again([user('a'), model('A')])
  expect(texts(one.messages)).toBe('a')
  expect(texts(one.unanswered), 'if no answer comes, the earlier one is restored').toBe('a A')
  const two = [...one.messages, { ...model('B'), ...one.versions }]
  const older = withVersion(two, 1, -1)
  expect(texts(older)).toBe('a A')
  const next = again(older)
  const three = [...next.messages, { ...model('C'), ...next.versions }]
  const seen = [three, withVersion(three, 1, -1), withVersion(withVersion(three, 1, -1), 1, -1)]
  expect(seen.map(texts)).toEqual(['a C', 'a B', 'a A'])
})

test('an unanswered question has no answer versions', () => {
  expect(again([user('a')])).toEqual({ messages: [user('a')], versions: {}, unanswered: [user('a')] })
})

test('the position among versions is read from a record, and an invalid one is dropped', () => {
  const others = [[model('X')], [model('Y')]]
  const read = (place: unknown) =>
    readConversation({ id: 'a', messages: [user('a'), { ...model('A'), others, place }] })?.messages[1]?.place
  expect([0, 1, 2, -1, 0.5, '0'].map(read)).toEqual([0, 1, undefined, undefined, undefined, undefined])
})

test('a fork has the messages up to one, with their versions, and a new id', () => {
  const messages = [user('a'), { ...model('A'), others: [[model('X')]] }, user('b'), model('B')]
  const conversation = withMessages(newConversation(), messages)
  const fork = forked(conversation, 1)
  expect(fork.messages).toEqual(messages.slice(0, 2))
  expect(fork.title).toBe('a')
  expect(fork.id).not.toBe(conversation.id)
})

test('the rest of an answer is appended to its beginning, with its versions kept', () => {
  const cut: StoredMessage = { ...model('B'), ending: 'length', others: [[model('A')]], place: 0 }
  const messages = [user('a'), cut]
  const { messages: asked, versions, begun, unanswered } = continued(messages)
  expect(texts(asked)).toBe('a')
  expect(versions).toEqual({ others: [[model('A')]], place: 0 })
  expect(begun).toEqual({ content: 'B' })
  expect(unanswered).toBe(messages)
  expect(continued([user('a'), model('A')]).messages, 'an answer that is whole').toEqual([])
})
