// In: 20,000 untrusted records and files. Out: whether every field read is valid, and a file is imported
// whole or not at all.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../../src/index.ts'
import { Random } from '../../../../test/helpers/random.ts'
import { addressOf } from '../address.ts'
import { fromJson, toJson } from '../list/exchange.ts'
import { byDate } from '../list/groups.ts'
import { assembled } from './assemble.ts'
import { MAX_TITLE } from './conversations.ts'
import { draftOf } from './drafts.ts'
import { readConversation } from './read-conversation.ts'

const RECORDS = 20_000

const deep = (levels: number): unknown => {
  let value: unknown = 'end'
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { others: value }
  return value
}

/** Invalid field values, as found in JSON and in databases. */
const HOSTILE: readonly unknown[] = [
  ...[Number.NaN, 1e308, -1e308, Number.POSITIVE_INFINITY, -1, -0, 0.5, 8.64e15, 8.64e15 + 2, 2 ** 53],
  ...['', ' ', 'a', '\ud800', 'a\udc00b', '\0', '__proto__', 'draft-1', '1e308', 'x'.repeat(5000)],
  ...[null, undefined, true, false, [], {}, [[]], [null], { length: 3 }, { toString: 1 }, deep(60)],
  ...[JSON.parse('{"__proto__": {"id": "a"}}'), { constructor: 7 }, new Date(Number.NaN), new Map(), 10n],
]

/** A record that is valid except for some fields. */
function record(random: Random, depth = 0): Record<string, unknown> {
  const field = (valid: unknown) => (random.below(12) === 0 ? random.pick(HOSTILE) : valid)
  const message = (role: string, level: number): Record<string, unknown> => ({
    role: field(role),
    content: field('text'),
    ...(random.below(3) === 0 && { model: field('Tiny'), ending: field('length') }),
    ...(random.below(4) === 0 && { thoughts: field('hm'), seenFrom: field(0), declined: field(true) }),
    ...(random.below(4) === 0 && { read: field({ by: 'words', text: 'a', all: field(3) }) }),
    ...(random.below(4) === 0 && {
      used: field([{ id: 'a', name: 'b', arguments: field({}), result: field('c') }]),
    }),
    ...(level < 3 &&
      random.below(3) === 0 && { others: field([[message(role, level + 1)]]), place: field(0) }),
    ...(random.below(5) === 0 && {
      pictures: field([{ name: 'a', file: field({ type: 'image/png', base64: 'AAAA' }) }]),
    }),
  })
  return {
    id: field(random.pick(['a', 'b', 'c'])),
    title: field('Title'),
    updated: field(1.7e12),
    messages: field([message('user', depth), message('assistant', depth)]),
    ...(random.below(3) === 0 && {
      isNamed: field(true),
      isPinned: field(true),
      settings: field({ topK: field(3) }),
    }),
  }
}

/** Fails unless the page can list, address, store and export the conversation. */
function expectValid(read: NonNullable<ReturnType<typeof readConversation>>): void {
  expect(read.updated).toBeGreaterThanOrEqual(0)
  expect(byDate([read], 1.7e12)).toHaveLength(1)
  expect(addressOf(read.id).length).toBeGreaterThan(1)
  expect(read.title.length).toBeLessThanOrEqual(MAX_TITLE)
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  expect(readConversation(read)).toEqual(read)
}

test('the result of reading any record is valid, and reading it again changes nothing', () => {
  let read = 0
  for (let index = 0; index < RECORDS; index++) {
    const found = readConversation(record(new Random('records', index)))
    if (found === undefined) continue
    expectValid(found)
    read++
  }
  expect(read).toBeGreaterThan(RECORDS / 2)
})

test('a file is imported whole or rejected with a typed error', async () => {
  let whole = 0
  for (let index = 0; index < RECORDS; index++) {
    const random = new Random('files', index)
    const conversations = Array.from({ length: 1 + random.below(3) }, () => record(random))
    let text: string
    try {
      text = JSON.stringify({ format: 'halfbyte-conversations', version: 1, conversations })
    } catch {
      continue
    }
    try {
      const read = fromJson(text)
      expect(read).toHaveLength(conversations.length)
      for (const [at, found] of read.entries()) {
        expectValid(found)
        const written = JSON.parse(text).conversations[at]
        expect(found.messages).toHaveLength(written.messages.length)
        for (const [place, { content, others = [], used = [] }] of found.messages.entries()) {
          const { content: said, others: versions = [], used: tools = [] } = written.messages[place]
          expect([content, others.length, used.length]).toEqual([said, versions.length, tools.length])
        }
      }
      if (whole++ % 100 === 0) expect(fromJson(await toJson(read))).toEqual(read)
    } catch (error) {
      if (!isHalfbyteError(error)) throw error
      expect(error.code).toBe('format')
    }
  }
  expect(whole).toBeGreaterThan(RECORDS / 20)
})

test.each([
  ['nests too deep', `{"conversations": ${'['.repeat(200_000)}${']'.repeat(200_000)}}`],
  ['has a prototype of its own', '{"__proto__": {"format": "halfbyte-conversations", "version": 1}}'],
  ['is cut', '{"format": "halfbyte-conversations", "version": 1, "conversations": [{'],
])('a file that %s is rejected with a typed error', (_, text) => {
  expect(() => fromJson(text)).toThrow(expect.objectContaining({ code: 'format' }))
})

const user = { role: 'user', content: 'a' } as const
const answer = { role: 'assistant', content: 'B', ending: 'interrupted' } as const
const base = { id: 'x', title: 'a', updated: 5 }

test('a draft answer is appended to the messages that it follows', () => {
  const draft = draftOf('draft-1', { ...base, updated: 7, messages: [user, answer] }, [user], 1)
  const stored = { ...base, messages: [user], revision: 'r' }
  const found = assembled([draft, stored]).get('x')
  expect(found?.conversation).toEqual({ ...base, updated: 7, messages: [user, answer] })
  expect(found).toMatchObject({ revision: 'r', drafts: ['draft-1'] })
})

test('a draft with an unsaved question restores it and its conversation', () => {
  const draft = draftOf('draft-1', { ...base, messages: [user, { ...answer, content: '' }] }, [user], 2)
  expect(assembled([draft]).get('x')?.conversation).toEqual({ ...base, messages: [user] })
})

test('a declined answer is still one after it was stored', () => {
  const messages = [
    { role: 'user', content: 'Who is Einstein?' },
    { role: 'assistant', content: 'That is beyond me.', declined: true },
  ]
  expect(readConversation({ id: 'a', messages })?.messages).toEqual(messages)
  const forged = [messages[0], { ...messages[1], declined: 'yes' }]
  expect(readConversation({ id: 'a', messages: forged })?.messages[1]).not.toHaveProperty('declined')
})

test('a draft replaces a regenerated answer, and keeps it as a version', () => {
  const again = { ...answer, others: [[{ role: 'assistant', content: 'old' } as const]] }
  const left = [user, { role: 'assistant', content: 'old' } as const]
  const draft = draftOf('draft-1', { ...base, messages: [user, again] }, left, 1)
  expect(assembled([{ ...base, messages: left }, draft]).get('x')?.conversation.messages).toEqual([
    user,
    again,
  ])
  expect(
    draftOf('draft-1', { ...base, messages: [user, { ...again, content: '' }] }, left, 1),
  ).toBeUndefined()
})

test('a draft of a conversation that another tab has continued becomes a separate conversation', () => {
  const draft = draftOf('draft-1', { ...base, messages: [user, answer] }, [user], 1)
  const stored = { ...base, messages: [user, { role: 'assistant', content: 'other' }, user] }
  const all = assembled([stored, draft])
  expect(all.get('x')?.conversation.messages).toEqual(stored.messages)
  expect(all.get('draft-1')?.conversation.messages).toEqual([user, answer])
})

test('a draft of a removed conversation, and a damaged draft, are skipped', () => {
  const draft = draftOf('draft-1', { ...base, messages: [user, answer, user, answer] }, [], 1)
  expect([...assembled([draft]).keys()]).toEqual([])
  for (const broken of [{ from: -1 }, { most: '2' }, { tail: {} }, { tail: [7] }, { draftOf: 5 }, { id: 7 }])
    expect([...assembled([{ ...draft, from: 0, ...broken }]).keys()]).toEqual([])
})
