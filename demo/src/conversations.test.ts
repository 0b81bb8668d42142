// In: messages, in a place without IndexedDB. Out: whether titles are fit to be listed and the store works from memory.
import { describe, expect, test } from 'vitest'
import { ConversationStore, newConversation, withMessages } from './conversations.ts'

const titled = (content: string) => withMessages(newConversation(), [{ role: 'user', content }]).title

describe('a title', () => {
  test('is the first thing the person said, on one line', () => {
    expect(titled('  Hello,\n\nhow are   you? ')).toBe('Hello, how are you?')
  })

  test('is cut after 48 letters, and never through one', () => {
    expect(titled('🦊'.repeat(60))).toBe(`${'🦊'.repeat(48)}…`)
  })

  test('of an empty conversation says that it is new', () => {
    expect(titled('  ')).toBe('New chat')
  })
})

describe('a store that is refused storage', () => {
  test('lists the newest first', async () => {
    const store = new ConversationStore()
    await store.open()
    const older = { ...newConversation(), updated: 1 }
    const newer = { ...newConversation(), updated: 2 }
    await store.put(newer)
    await store.put(older)
    expect(store.all).toEqual([newer, older])
  })

  test('keeps what was removed from coming back with an answer that was still being written', async () => {
    const store = new ConversationStore()
    const conversation = newConversation()
    await store.put(conversation)
    await store.remove(conversation.id)
    await store.put(withMessages(conversation, [{ role: 'assistant', content: 'late' }]))
    expect(store.all).toEqual([])
  })
})

test('conversations have different names', () => {
  expect(new Set(Array.from({ length: 100 }, () => newConversation().id)).size).toBe(100)
})
