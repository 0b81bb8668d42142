// Conversations. In: messages as they are written. Out: the same after a reload, from IndexedDB, or from
// memory if the browser refuses storage.
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'

/** Why an answer is incomplete. */
export type Ending = 'cancelled' | 'length' | 'interrupted'

export interface StoredMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** Absent for questions and when the model ended the answer itself. */
  readonly ending?: Ending
  /** Name of the model that answered. Absent for questions. */
  readonly model?: string
}

export interface Conversation {
  readonly id: string
  readonly title: string
  /** Time of the last change, in milliseconds since 1970. */
  readonly updated: number
  readonly messages: readonly StoredMessage[]
}

interface Schema extends DBSchema {
  conversations: { key: string; value: Conversation; indexes: { updated: number } }
}

const TITLE_LENGTH = 48
/** first-paint.js reads it. */
const COUNT = 'halfbyte-chats'

export function newConversation(): Conversation {
  return { id: randomId(), title: 'New chat', updated: Date.now(), messages: [] }
}

/** The same conversation with other messages. Its title is the person's first message. */
export function withMessages(conversation: Conversation, messages: readonly StoredMessage[]): Conversation {
  const said = messages.find(({ role }) => role === 'user')?.content ?? ''
  const line = said.trim().replace(/\s+/g, ' ')
  const letters = [...line]
  const title = letters.length > TITLE_LENGTH ? `${letters.slice(0, TITLE_LENGTH).join('').trimEnd()}…` : line
  return { ...conversation, title: title || 'New chat', updated: Date.now(), messages }
}

const ENDINGS: readonly unknown[] = ['cancelled', 'length', 'interrupted'] satisfies Ending[]

const fields = (value: unknown): Readonly<Record<string, unknown>> => Object(value)

/**
 * Checks a database record, which another release, an extension or a disk fault may have written. Invalid
 * messages are left out. A record without an id or a list of messages is not a conversation.
 */
export function readConversation(record: unknown): Conversation | undefined {
  const { id, title, updated, messages } = fields(record)
  if (typeof id !== 'string' || id === '' || !Array.isArray(messages)) return undefined
  const read = messages.flatMap((message): StoredMessage[] => {
    const { role, content, ending, model } = fields(message)
    if ((role !== 'user' && role !== 'assistant') || typeof content !== 'string') return []
    return [
      {
        role,
        content,
        ...(ENDINGS.includes(ending) && { ending: ending as Ending }),
        ...(typeof model === 'string' && model !== '' && { model }),
      },
    ]
  })
  return {
    ...withMessages({ ...newConversation(), id }, read),
    ...(typeof title === 'string' && title !== '' && { title }),
    updated: Number.isFinite(updated) ? (updated as number) : 0,
  }
}

/** Stores conversations. Every method resolves even if the browser refuses storage. */
export class ConversationStore {
  readonly #database = openDatabase()
  /** What this page knows. If storage is refused, this is all there is. */
  readonly #known = new Map<string, Conversation>()
  /** Ids of removed conversations. An answer still in progress must not bring one back. */
  readonly #removed = new Set<string>()

  /** Newest first. */
  get all(): Conversation[] {
    return [...this.#known.values()].sort((a, b) => b.updated - a.updated)
  }

  /** Reads what is stored. */
  async open(): Promise<void> {
    const database = await this.#database
    const stored = await database?.getAll('conversations').catch(() => [])
    for (const record of stored ?? []) {
      const conversation = readConversation(record)
      if (conversation !== undefined) this.#known.set(conversation.id, conversation)
    }
    this.#mark()
  }

  async put(conversation: Conversation): Promise<void> {
    if (this.#removed.has(conversation.id)) return
    this.#known.set(conversation.id, conversation)
    this.#mark()
    // If the disk is full, the conversation lasts until the next reload.
    await (await this.#database)?.put('conversations', conversation).catch(() => undefined)
  }

  async remove(id: string): Promise<void> {
    this.#removed.add(id)
    this.#known.delete(id)
    this.#mark()
    await (await this.#database)?.delete('conversations', id).catch(() => undefined)
  }

  /** The next first paint must know whether a conversation follows, before a database can be read. */
  #mark(): void {
    try {
      localStorage.setItem(COUNT, String(this.#known.size))
    } catch {
      // Without storage there are no conversations at the next visit either.
    }
  }
}

async function openDatabase(): Promise<IDBPDatabase<Schema> | undefined> {
  try {
    return await openDB<Schema>('halfbyte-chat', 1, {
      upgrade(database) {
        database.createObjectStore('conversations', { keyPath: 'id' }).createIndex('updated', 'updated')
      },
      // Another tab may run a newer version, or the person may clear the site's data.
      blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
    })
  } catch {
    return undefined
  }
}

/** `crypto.randomUUID` exists only on secure pages; a phone may open this one over plain HTTP. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
