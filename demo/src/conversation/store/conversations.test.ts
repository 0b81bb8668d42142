// In: messages, in an environment without IndexedDB. Out: whether titles suit the list and the store works
// from memory.
import { describe, expect, test } from 'vitest'
import { addAll } from './add-all.ts'
import { ConversationStore } from './conversation-store.ts'
import { newConversation, renamed, withMessages } from './conversations.ts'
import { readConversation } from './read-conversation.ts'

const titled = (content: string) => withMessages(newConversation(), [{ role: 'user', content }]).title

describe('a title', () => {
  test('is the user’s first message, on one line', () => {
    expect(titled('  Hello,\n\nhow are   you? ')).toBe('Hello, how are you?')
  })

  test('is truncated after 48 characters, and never splits one', () => {
    expect(titled('🦊'.repeat(60))).toBe(`${'🦊'.repeat(48)}…`)
  })

  test('of an empty conversation is the title of a new chat', () => {
    expect(titled('  ')).toBe('New chat')
  })

  test('set by the user stays when messages change and in a record, until it is cleared', () => {
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const named = renamed(withMessages(newConversation(), messages), '  My \n chat ')
    expect(named.title).toBe('My chat')
    expect(withMessages(named, [{ role: 'user', content: 'Other' }]).title).toBe('My chat')
    expect(readConversation(JSON.parse(JSON.stringify(named)))).toEqual(named)
    expect(renamed(named, ' ')).toEqual({
      ...withMessages({ ...newConversation(), id: named.id }, messages),
      updated: named.updated,
    })
  })
})

describe('a store without storage', () => {
  test('lists the newest first', async () => {
    const store = new ConversationStore()
    await store.open()
    const older = { ...newConversation(), updated: 1 }
    const newer = { ...newConversation(), updated: 2 }
    await store.put(newer)
    await store.put(older)
    expect(store.all).toEqual([newer, older])
  })

  test('does not recreate a removed conversation for an answer in progress', async () => {
    const store = new ConversationStore()
    const conversation = newConversation()
    await store.put(conversation)
    await store.remove([conversation.id])
    await store.put(withMessages(conversation, [{ role: 'assistant', content: 'late' }]))
    expect(store.all).toEqual([])
  })

  test('restores a removed conversation, and accepts its later turns', async () => {
    const store = new ConversationStore()
    const conversation = newConversation()
    await store.put(conversation)
    await store.remove([conversation.id])
    await store.restore(conversation.id)
    const later = await store.put({ ...conversation, title: 'later' })
    expect(store.all).toEqual([later])
  })
})

describe('an import', () => {
  test('adds new conversations, gives those with taken ids new ones, and resolves to them', async () => {
    const store = new ConversationStore()
    const known = withMessages(newConversation(), [{ role: 'user', content: 'known' }])
    const other = withMessages({ ...known }, [{ role: 'user', content: 'other' }])
    await store.put(known)
    const file = [known, other, newConversation()]
    expect(await store.add((...here) => addAll(file, ...here))).toHaveLength(2)
    expect(store.all).toHaveLength(3)
    expect(store.find(known.id)).toBe(known)
  })
})

describe('a record of the database', () => {
  const whole = {
    id: 'a',
    title: 'A title',
    updated: 5,
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi', ending: 'length', model: 'a.gguf', seenFrom: 2 },
    ],
  }

  test('that is valid is read unchanged', () => {
    expect(readConversation(whole)).toEqual(whole)
  })

  test.each([
    null,
    undefined,
    5,
    'text',
    [],
    {},
    { ...whole, id: 7 },
    { ...whole, id: '' },
    { ...whole, messages: {} },
  ])('that is %j is not a conversation', (record) => expect(readConversation(record)).toBeUndefined())

  test('loses only invalid messages', () => {
    const broken = [
      null,
      'text',
      { role: 'system', content: 'x' },
      { role: 'user' },
      { role: 'user', content: {} },
    ]
    const messages = [...broken, ...whole.messages]
    expect(readConversation({ ...whole, messages })).toEqual(whole)
    const strange = { role: 'assistant', content: 'Hi', ending: { toString: 1 }, model: 5, more: 1 }
    expect(readConversation({ ...whole, messages: [strange] })?.messages).toEqual([
      { role: 'assistant', content: 'Hi' },
    ])
  })

  test('keeps images and read files, and drops damaged ones', () => {
    const picture = { name: 'fox.png', file: new Blob(['x'], { type: 'image/png' }) }
    const read = { by: 'words', text: 'a passage', all: 7 }
    const messages = [
      { role: 'user', content: '', pictures: [picture, { name: 'owl.png' }] },
      { role: 'assistant', content: 'Hi', read },
    ]
    const [question, answer] = readConversation({ ...whole, messages })?.messages ?? []
    expect(question?.pictures).toEqual([picture])
    expect(answer?.read).toEqual(read)
    for (const broken of [
      { by: 'words', all: 7 },
      { by: 'searching', done: 1, all: 7 },
      { by: 'prompt', done: 1, all: 7 },
      'whole',
    ]) {
      const record = { ...whole, messages: [{ ...messages[1], read: broken }] }
      expect(readConversation(record)?.messages[0]).toEqual({ role: 'assistant', content: 'Hi' })
    }
  })

  test('without a title or a time gets a title from its messages, and counts as the oldest', () => {
    for (const updated of ['5', Number.NaN, Number.POSITIVE_INFINITY, null]) {
      const record = readConversation({ ...whole, title: {}, updated })
      expect(record).toEqual({ ...whole, title: 'Hello', updated: 0 })
    }
  })
})

test('conversations have unique ids', () => {
  expect(new Set(Array.from({ length: 100 }, () => newConversation().id)).size).toBe(100)
})
