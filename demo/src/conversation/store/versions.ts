// Versions. In: messages, and an edited question or regenerated answer. Out: messages that keep the earlier
// version and everything after it.
import {
  type Conversation,
  newConversation,
  type Said,
  type StoredMessage,
  withMessages,
} from './conversations.ts'

type Messages = readonly StoredMessage[]

/** Messages whose last one is to be answered, and the other versions of the answer. */
export interface Asked {
  readonly messages: Messages
  readonly versions: Pick<StoredMessage, 'others' | 'place'>
  /** The beginning of the answer, and the tools used so far. Absent for a new answer. */
  readonly begun?: Pick<StoredMessage, 'content' | 'thoughts' | 'used' | 'read'>
  /** The messages to keep if no answer comes. */
  readonly unanswered: Messages
}

/** Asks for the first answer to the last message. */
export const asked = (messages: Messages): Asked => ({ messages, versions: {}, unanswered: messages })

/**
 * Replaces question `index` and everything after it. The earlier one is kept with its answers, if it has any.
 */
export function edited(messages: Messages, index: number, said: Said): Messages {
  const question: StoredMessage = { role: 'user', ...said }
  if (messages[index] === undefined) return [...messages, question]
  // Without an answer there is nothing to return to.
  const others = messages.length === index + 1 ? (messages[index].others ?? []) : inOrder(messages, index)
  return [...messages.slice(0, index), others.length === 0 ? question : { ...question, others }]
}

/** Asks for another answer to the last question. The earlier answers are kept. */
export function again(messages: Messages): Asked {
  const end = messages.findLastIndex(({ role }) => role === 'user') + 1
  const questions = messages.slice(0, end)
  if (messages.length === end) return asked(questions)
  return { messages: questions, versions: { others: inOrder(messages, end) }, unanswered: messages }
}

/** Asks for the rest of the last answer, which was cut off. */
export function continued(messages: Messages): Asked {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || last.ending === undefined) return asked([])
  const { content, thoughts, read, used, others, place } = last
  return {
    messages: messages.slice(0, -1),
    versions: { ...(others && { others }), ...(place !== undefined && { place }) },
    begun: { content, ...(thoughts && { thoughts }), ...(read && { read }), ...(used && { used }) },
    unanswered: messages,
  }
}

/** Shows the version of message `index` that is `step` newer, and everything after it. */
export function withVersion(messages: Messages, index: number, step: 1 | -1): Messages {
  const versions = inOrder(messages, index)
  const place = versionIndexOf(messages[index]) + step
  const [next, ...followed] = versions[place] ?? []
  if (next === undefined) return messages
  const others = versions.filter((_, other) => other !== place)
  const isNewest = place === others.length
  return [...messages.slice(0, index), { ...next, others, ...(!isNewest && { place }) }, ...followed]
}

/** The position of a message among its versions, from 0 for the oldest. */
export const versionIndexOf = (message: StoredMessage | undefined): number =>
  message?.place ?? message?.others?.length ?? 0

/** All versions of message `index`, oldest first, each with the messages after it. */
function inOrder(messages: Messages, index: number): readonly Messages[] {
  const [message, ...followed] = messages.slice(index)
  if (message === undefined) return []
  const { others = [], place: _, ...bare } = message
  const place = versionIndexOf(message)
  return [...others.slice(0, place), [bare, ...followed], ...others.slice(place)]
}

/** A new conversation with the messages up to `index` and all their versions. */
export function forked(conversation: Conversation, index: number): Conversation {
  const { id } = newConversation()
  return withMessages({ ...conversation, id }, conversation.messages.slice(0, index + 1))
}
