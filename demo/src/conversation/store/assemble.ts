// Assembles stored records. In: records of conversations and of drafts. Out: the conversations with their
// partial answers. The store loads this only once something is stored: a first visit has nothing.
import { type Conversation, withMessages } from './conversations.ts'
import type { Draft } from './drafts.ts'
import { isBelow, RecordReader } from './read-conversation.ts'

/** Maximum number of messages of a conversation, and thus before a draft. */
const MOST = 2 ** 32

function readDraft(record: unknown): Draft | undefined {
  const { id, draftOf: of, from, most, tail } = Object(record)
  if (typeof id !== 'string' || !isBelow(from, MOST) || !isBelow(most, MOST)) return undefined
  const read = new RecordReader().conversation({ ...Object(of), messages: tail })
  if (read === undefined || read.messages.length === 0) return undefined
  const { messages, ...conversation } = read
  return { id, draftOf: conversation, from, most, tail: messages }
}

/** A conversation as it is stored. */
export interface Found {
  readonly conversation: Conversation
  readonly revision: string | undefined
  /** Keys of the drafts merged into it. */
  readonly drafts: readonly string[]
}

/** The conversations of some records, merged with the drafts among them. */
export function assembled(records: readonly unknown[]): ReadonlyMap<string, Found> {
  const all = new Map<string, Found>()
  for (const record of records) {
    const conversation = new RecordReader().conversation(record)
    if (conversation === undefined) continue
    all.set(conversation.id, { conversation, revision: Object(record).revision, drafts: [] })
  }
  for (const draft of records.map(readDraft)) {
    if (draft === undefined) continue
    const known = all.get(draft.draftOf.id)
    const conversation = withDraft(known?.conversation, draft)
    const isItself = conversation?.id === draft.draftOf.id
    const drafts = isItself ? [...(known?.drafts ?? []), draft.id] : []
    if (conversation !== undefined)
      all.set(conversation.id, { conversation, revision: isItself ? known?.revision : undefined, drafts })
  }
  return all
}

/**
 * The conversation with the draft's messages. If another tab has continued the conversation, it gets a new
 * id. Undefined if the conversation was removed.
 */
function withDraft(known: Conversation | undefined, draft: Draft): Conversation | undefined {
  const { draftOf: conversation, from, most, tail } = draft
  const before = known?.messages ?? []
  if (before.length < from) return undefined
  const id = before.length > most ? draft.id : conversation.id
  const whole = withMessages({ messages: [], ...(known ?? conversation), id }, [
    ...before.slice(0, from),
    ...tail,
  ])
  return { ...whole, updated: conversation.updated }
}
