// Drafts. In: an answer that grows. Out: a record of it, and after its page has ended, the conversation with
// what there is of the answer.
import { type Conversation, isSaid, type StoredMessage, withMessages } from './conversations.ts'
import { isBelow, RecordReader } from './read-conversation.ts'

/** How the keys of drafts begin. */
export const DRAFT = 'draft-'

/**
 * The end of a conversation while a model answers. It is stored beside the conversation, so that it can be
 * written without reading what another tab has made of that meanwhile.
 */
export interface Draft {
  readonly id: string
  /** The conversation, without its messages. */
  readonly draftOf: Omit<Conversation, 'messages'>
  /** Number of the conversation's messages before `tail`. */
  readonly from: number
  /** Number of its messages that are stored at most, as long as no other tab adds any. */
  readonly most: number
  /** The question unless it is stored, and the answer so far. */
  readonly tail: readonly StoredMessage[]
}

/** Most messages of a conversation, and so most of those before a draft. */
const MOST = 2 ** 32

/**
 * The draft of a conversation whose last message is the growing answer. `left` are the messages that stay if
 * no answer comes, and `rest` is the number of last messages that may not be stored. Undefined if there is
 * nothing to add to what is stored.
 */
export function draftOf(
  id: string,
  { messages, ...conversation }: Conversation,
  left: readonly StoredMessage[],
  rest: number,
): Draft | undefined {
  const from = Math.max(0, messages.length - rest)
  const answer = messages.at(-1)
  // An empty answer would only replace the earlier versions of it.
  const tail = messages.slice(from).filter((message) => message !== answer || isSaid(answer))
  return tail.length === 0 ? undefined : { id, draftOf: conversation, from, most: left.length, tail }
}

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
  /** Keys of the drafts whose messages it has. */
  readonly drafts: readonly string[]
}

/** The conversations of some records, with the drafts that are among these. */
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
 * The conversation with the draft's messages. If another tab has gone on with the conversation, it gets an id
 * of its own. Undefined if the conversation was removed.
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
