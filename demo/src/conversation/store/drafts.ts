// Drafts. In: a streaming answer. Out: a record of it, from which assemble.ts makes a conversation after the
// page has closed.
import { type Conversation, isSaid, type StoredMessage } from './conversations.ts'

/** Key prefix of drafts. */
export const DRAFT = 'draft-'

/**
 * The last messages of a conversation, including the answer in progress. It is stored separately from the
 * conversation, so that it can be written without reading another tab's changes.
 */
export interface Draft {
  readonly id: string
  /** The conversation, without its messages. */
  readonly draftOf: Omit<Conversation, 'messages'>
  /** Number of the conversation's messages before `tail`. */
  readonly from: number
  /** Maximum number of its stored messages, as long as no other tab adds any. */
  readonly most: number
  /** The question unless it is already stored, and the answer so far. */
  readonly tail: readonly StoredMessage[]
}

/**
 * The draft of a conversation whose last message is the streaming answer. `left` are the messages to keep if
 * no answer comes, and `rest` is the number of last messages that may not be stored yet. Undefined if there
 * is nothing to add.
 */
export function draftOf(
  id: string,
  { messages, ...conversation }: Conversation,
  left: readonly StoredMessage[],
  rest: number,
): Draft | undefined {
  const from = Math.max(0, messages.length - rest)
  const answer = messages.at(-1)
  // An empty answer would only replace earlier versions.
  const tail = messages.slice(from).filter((message) => message !== answer || isSaid(answer))
  return tail.length === 0 ? undefined : { id, draftOf: conversation, from, most: left.length, tail }
}
