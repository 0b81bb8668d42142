// Versions. In: messages, and a question that is edited. Out: messages that keep what followed the earlier
// question.
import type { StoredMessage } from './conversations.ts'

/** Replaces question `index` and what follows it. The earlier one is kept with its answers, if it has any. */
export function edited(
  messages: readonly StoredMessage[],
  index: number,
  content: string,
): readonly StoredMessage[] {
  const before = messages[index]
  const followed = messages.slice(index + 1)
  const question: StoredMessage = { role: 'user', content }
  if (before === undefined) return [...messages, question]
  const { others = [], ...bare } = before
  const kept = followed.length === 0 ? others : [...others, [bare, ...followed]]
  return [...messages.slice(0, index), kept.length === 0 ? question : { ...question, others: kept }]
}

/**
 * Shows the next version of question `index`, with what followed it; the last one is followed by the first.
 */
export function turned(messages: readonly StoredMessage[], index: number): readonly StoredMessage[] {
  const { others = [], ...bare } = messages[index] ?? { role: 'user', content: '' }
  const [[next, ...followed] = [], ...later] = others
  if (next === undefined) return messages
  const kept = [...later, [bare, ...messages.slice(index + 1)]]
  return [...messages.slice(0, index), { ...next, others: kept }, ...followed]
}
