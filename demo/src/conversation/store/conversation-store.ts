// Stored conversations. In: conversations as they are written, in several tabs. Out: the same after a reload,
// from IndexedDB, or from memory if the browser refuses storage.
import { type DBSchema, type IDBPDatabase, openDB } from 'idb'
import { type Conversation, newConversation, randomId, readConversation } from './conversations.ts'

/** `revision` differs after each write. Records of earlier releases have none. */
type Stored = Conversation & { readonly revision?: string }

interface Schema extends DBSchema {
  conversations: { key: string; value: Stored; indexes: { updated: number } }
}

/** first-paint.js reads it. */
const COUNT = 'halfbyte-chats'
const NAME = 'halfbyte-chat'

/** Stores conversations. Every method resolves even if the browser refuses storage. */
export class ConversationStore {
  readonly #database = openDatabase()
  /** What this page knows. If storage is refused, this is all there is. */
  readonly #known = new Map<string, Conversation>()
  /** The revisions that this page has read or written. Another one was written by another tab. */
  readonly #revisions = new Map<string, string | undefined>()
  /** Ids of removed conversations. An answer still in progress must not bring one back. */
  readonly #removed = new Set<string>()
  /** Resolves to what was written last. */
  #written: Promise<Conversation | undefined> = Promise.resolve(undefined)
  /** Tells other tabs the ids of conversations that have changed. */
  readonly #channel = typeof indexedDB === 'undefined' ? undefined : new BroadcastChannel(NAME)

  /** The conversations that this page removed last, which can be brought back until it closes. */
  removed: readonly Conversation[] = []

  /** True if the browser refuses storage. Known once it is open. */
  isRefused = false

  /** Called when another tab has changed a conversation, or removed it. */
  changedElsewhere: (id: string, conversation: Conversation | undefined) => void = () => undefined

  constructor() {
    this.#channel?.addEventListener('message', ({ data }) => void this.#hear(String(data)))
  }

  /** Newest first. */
  get all(): Conversation[] {
    return [...this.#known.values()].sort((a, b) => b.updated - a.updated)
  }

  find(id: string): Conversation | undefined {
    return this.#known.get(id)
  }

  /** Reads what is stored. */
  async open(): Promise<void> {
    const database = await this.#database
    this.isRefused = database === undefined
    const stored = await database?.getAll('conversations').catch(() => [])
    for (const record of stored ?? []) this.#learn(record)
    this.#mark()
  }

  /** The conversation as it is stored now; undefined if it is not, or storage is refused. */
  async newest(id: string): Promise<Conversation | undefined> {
    const record = await (await this.#database)?.get('conversations', id).catch(() => undefined)
    return record === undefined ? undefined : this.#learn(record)
  }

  /**
   * Stores a conversation and returns it. If another tab has changed it in the meantime, both stay: this one
   * gets an id of its own.
   */
  async put(conversation: Conversation): Promise<Conversation> {
    if (this.#removed.has(conversation.id)) return conversation
    this.#known.set(conversation.id, conversation)
    this.#mark()
    const database = await this.#database
    // If the disk is full, the conversation lasts until the next reload.
    const put =
      database === undefined
        ? conversation
        : await this.#inTurn(() => this.#write(database, conversation).catch(() => conversation))
    this.#channel?.postMessage(put.id)
    return put
  }

  /** Stores conversations of a file. One whose id is taken gets another, unless it is the same. */
  async add(conversations: readonly Conversation[]): Promise<void> {
    for (const conversation of conversations) {
      const known = this.#known.get(conversation.id)
      if (known !== undefined && isSame(known, conversation)) continue
      const { id } = this.#known.has(conversation.id) ? newConversation() : conversation
      this.removed = this.removed.filter((removed) => removed.id !== id)
      await this.#putBack({ ...conversation, id })
    }
  }

  /** `removed` holds them until others are removed. */
  async remove(ids: readonly string[]): Promise<void> {
    this.removed = ids.flatMap((id) => this.find(id) ?? [])
    for (const id of ids) {
      this.#removed.add(id)
      this.#known.delete(id)
    }
    this.#mark()
    const database = await this.#database
    for (const id of ids) {
      await database?.delete('conversations', id).catch(() => undefined)
      this.#channel?.postMessage(id)
    }
  }

  /** Stores one of those that were removed last again. */
  async restore(id: string): Promise<void> {
    const restored = this.removed.find((removed) => removed.id === id)
    this.removed = this.removed.filter((removed) => removed.id !== id)
    if (restored !== undefined) await this.#putBack(restored)
  }

  /**
   * Runs `work` while no other tab answers in the conversation. Rejects with the signal's reason if it is
   * aborted before that. Pages over plain HTTP have no locks; there, `put` keeps both tabs' turns.
   */
  async alone(id: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const { locks } = navigator
    if (locks === undefined) return work()
    await locks.request(`${NAME} ${id}`, { signal }, work)
  }

  /** Stores a conversation, also one that was removed. */
  async #putBack(conversation: Conversation): Promise<void> {
    this.#removed.delete(conversation.id)
    this.#revisions.delete(conversation.id)
    await this.put(conversation)
  }

  /** One write after the other: two of this page must not take each other for another tab's. */
  #inTurn(write: () => Promise<Conversation>): Promise<Conversation> {
    const written = this.#written.then(write)
    this.#written = written
    return written
  }

  async #write(database: IDBPDatabase<Schema>, conversation: Conversation): Promise<Conversation> {
    const { id } = conversation
    const change = database.transaction('conversations', 'readwrite')
    const stored = await change.store.get(id)
    const isForeign = stored !== undefined && stored.revision !== this.#revisions.get(id)
    const put = isForeign ? { ...conversation, id: newConversation().id } : conversation
    const revision = randomId()
    await Promise.all([change.store.put({ ...put, revision }), change.done])
    this.#revisions.set(put.id, revision)
    if (stored === undefined || !isForeign) return put
    this.#learn(stored)
    this.#known.set(put.id, put)
    return put
  }

  #learn(record: Stored): Conversation | undefined {
    const conversation = readConversation(record)
    if (conversation === undefined) return undefined
    this.#known.set(conversation.id, conversation)
    this.#revisions.set(conversation.id, record.revision)
    return conversation
  }

  async #hear(id: string): Promise<void> {
    const conversation = await this.newest(id)
    if (conversation === undefined) {
      this.#removed.add(id)
      this.#known.delete(id)
    } else this.#removed.delete(id)
    this.changedElsewhere(id, conversation)
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

const isSame = (one: Conversation, other: Conversation): boolean =>
  one.title === other.title && textOf(one) === textOf(other)

/** Of a picture, only its size. */
const textOf = ({ messages }: Conversation): string =>
  JSON.stringify(messages, (_, value) => (value instanceof Blob ? value.size : value))

async function openDatabase(): Promise<IDBPDatabase<Schema> | undefined> {
  try {
    return await openDB<Schema>(NAME, 1, {
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
