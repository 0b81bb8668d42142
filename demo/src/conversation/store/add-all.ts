// Adding conversations. In: the conversations in a file, and the existing ones. Out: all of them are stored,
// or none.

import type { Found } from './assemble.ts'
import { type Conversation, newConversation, randomId } from './conversations.ts'
import type { Database } from './database.ts'

/** A new conversation, with its stored revision. */
export type New = Omit<Found, 'drafts'>

/** Stores conversations in the database, in addition to the known ones. */
export type Adding = (
  database: Database | undefined,
  known: ReadonlyMap<string, Conversation>,
) => Promise<readonly New[]>

/**
 * Stores, in one transaction, the conversations that are not `known`. A conversation whose id is taken gets a
 * new one. Without a database, nothing is stored. Rejects with the database's error.
 */
export async function addAll(
  conversations: readonly Conversation[],
  ...[database, known]: Parameters<Adding>
): Promise<readonly New[]> {
  const change = database?.transaction('conversations', 'readwrite')
  const stored = (await change?.store.getAllKeys()) ?? []
  const taken = new Set<string>([...stored, ...known.keys()])
  const fresh = new Map<string, New>()
  try {
    for (const conversation of conversations) {
      const same = known.get(conversation.id) ?? fresh.get(conversation.id)?.conversation
      if (same !== undefined && isSame(same, conversation)) continue
      const { id } = taken.has(conversation.id) ? newConversation() : conversation
      taken.add(id)
      const revision = randomId()
      fresh.set(id, { conversation: { ...conversation, id }, revision })
      change?.store.put({ ...conversation, id, revision }).catch(() => undefined)
    }
  } catch (error) {
    // Otherwise the browser would store the preceding ones.
    change?.done.catch(() => undefined)
    change?.abort()
    throw error
  }
  await change?.done
  return [...fresh.values()]
}

const isSame = (one: Conversation, other: Conversation): boolean =>
  one.title === other.title && textOf(one) === textOf(other)

/** For an image, only its size. */
const textOf = ({ messages }: Conversation): string =>
  JSON.stringify(messages, (_, value) => (value instanceof Blob ? value.size : value))
