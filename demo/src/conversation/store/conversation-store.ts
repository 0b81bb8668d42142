// Stored conversations. In: conversations in progress, in several tabs. Out: the same after a reload,
// from IndexedDB, or from memory if the browser refuses storage.
import { SerialQueue } from '../../../../src/ui/chat/library.ts'
import type { Adding, New } from './add-all.ts'
import type { Found } from './assemble.ts'
import { type Conversation, newConversation, randomId } from './conversations.ts'
import { type Database, draftKeys, isClosed, isFull, NAME, openDatabase, type Stored } from './database.ts'
import { DRAFT, draftOf } from './drafts.ts'

/** first-paint.js reads it. */
const COUNT = 'halfbyte-chats'
/** Milliseconds between retries after a failed write. */
const RETRY_MS = 5000

/** The conversations of some records, merged with the drafts among them. */
async function assembled(records: readonly unknown[]): Promise<ReadonlyMap<string, Found>> {
  const stored = records.filter((record) => record !== undefined)
  return stored.length === 0 ? new Map() : (await import('./assemble.ts')).assembled(stored)
}

/** Stores conversations. Every method except `add` resolves even if the browser denies storage. */
export class ConversationStore {
  /** Resolves when `#database` is known. */
  readonly #opened: Promise<void>
  #database: Database | undefined
  /** The conversations known to this page. If storage is denied, there are no others. */
  readonly #known = new Map<string, Conversation>()
  /** The revisions that this page has read or written. Any other revision was written by another tab. */
  readonly #revisions = new Map<string, string | undefined>()
  /** Keys of the drafts merged into a conversation. They are deleted when it is stored. */
  readonly #drafts = new Map<string, readonly string[]>()
  /** Ids of removed conversations. An answer in progress must not recreate one. */
  readonly #removed = new Set<string>()
  /** Ids of conversations whose current version could not be stored. */
  readonly #unsaved = new Set<string>()
  #retry: ReturnType<typeof setTimeout> | undefined
  /** One write at a time, so that two writes of this page are not mistaken for another tab's. */
  readonly #writes = new SerialQueue()
  /** Tells other tabs the ids of conversations that have changed. */
  readonly #channel = typeof indexedDB === 'undefined' ? undefined : new BroadcastChannel(NAME)
  /** This page's own draft; only one, because it answers one question at a time. */
  #own: { readonly key: string; readonly id: string } | undefined
  /** Frees data that the page can recreate. */
  readonly #makeRoom: () => Promise<void>

  /** The conversations most recently removed by this page, which can be restored until it closes. */
  removed: readonly Conversation[] = []

  /** True if the browser denies storage. Known once the database has been opened. */
  isRefused = false

  /** Why some conversations are only in this page's memory; undefined if all are stored. */
  trouble: 'full' | 'failed' | undefined

  /** Called when another tab has changed a conversation, or removed it. */
  changedElsewhere: (id: string, conversation: Conversation | undefined) => void = () => undefined
  /** Called after each failed write, and when everything is stored again. */
  troubled: () => void = () => undefined

  constructor(makeRoom: () => Promise<void> = () => Promise.resolve()) {
    this.#makeRoom = makeRoom
    this.#opened = this.#reopen()
    this.#channel?.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') void this.#hear(data)
    })
  }

  /** Newest first. */
  get all(): Conversation[] {
    return [...this.#known.values()].sort((a, b) => b.updated - a.updated)
  }

  /** The conversations that could not be stored. */
  get unsaved(): readonly Conversation[] {
    return [...this.#unsaved].flatMap((id) => this.find(id) ?? [])
  }

  find(id: string): Conversation | undefined {
    return this.#known.get(id)
  }

  /** Reads the stored conversations, including unfinished answers of closed pages. */
  async open(): Promise<void> {
    await this.#opened
    this.isRefused = this.#database === undefined
    const records = (await this.#database?.getAll('conversations').catch(() => undefined)) ?? []
    for (const found of (await assembled(records)).values()) this.#learn(found)
    this.#mark()
  }

  /**
   * The conversation as currently stored, or the local version if that could not be stored; undefined if it
   * is not stored, or storage is denied.
   */
  async newest(id: string): Promise<Conversation | undefined> {
    await this.#opened
    return this.#read(id).catch(() => undefined)
  }

  /**
   * Stores a conversation and returns it. If another tab has changed it in the meantime, both versions stay:
   * this one gets a new id. If it cannot be stored, it stays in memory, `trouble` says so, and this store
   * tries again.
   */
  async put(conversation: Conversation): Promise<Conversation> {
    const { id } = conversation
    if (this.#removed.has(id)) return conversation
    this.#known.set(id, conversation)
    this.#mark()
    await this.#opened
    const put = await this.#writes.run(() => this.#tried(id, () => this.#write(conversation)))
    if (put !== undefined) this.#channel?.postMessage(put.id)
    return put ?? conversation
  }

  /**
   * Stores a conversation whose answer is streaming. Begins and commits the write in this task, without
   * reading, so that it works while the page is closing. `left` are the messages to keep if no answer comes;
   * they are already stored if `isStored`. A later `put` replaces this write.
   */
  draft(grown: Conversation, left: Conversation['messages'], isStored: boolean): void {
    const { id } = grown
    if (this.#database === undefined || this.#removed.has(id)) return
    if (this.#own?.id !== id) {
      if (this.#own !== undefined) this.#drafts.set(this.#own.id, this.#draftsOf(this.#own.id))
      this.#own = { key: DRAFT + randomId(), id }
    }
    const { key } = this.#own
    const rest = isStored ? 1 : 2
    const draft = draftOf(key, grown, left, this.#unsaved.has(id) ? grown.messages.length : rest)
    if (draft === undefined) return
    const write = async () => {
      const change = this.#transaction()
      change.store.put(draft).catch(() => undefined)
      change.commit()
      await change.done
    }
    void this.#again(write).catch((error: unknown) => this.#fail(id, error))
  }

  /** Retries failed writes. */
  async retry(): Promise<void> {
    clearTimeout(this.#retry)
    this.#retry = undefined
    for (const conversation of this.unsaved) await this.put(conversation)
  }

  /** Runs `write` in one transaction. Rejects if that fails; then nothing is stored. */
  async add(write: Adding): Promise<readonly New[]> {
    await this.#opened
    const fresh = await this.#writes.run(() => this.#again(() => write(this.#database, this.#known)))
    for (const { conversation, revision } of fresh) {
      const { id } = conversation
      this.removed = this.removed.filter((removed) => removed.id !== id)
      this.#removed.delete(id)
      this.#known.set(id, conversation)
      this.#revisions.set(id, revision)
      this.#channel?.postMessage(id)
    }
    this.#mark()
    return fresh
  }

  /** They stay in `removed` until others are removed. */
  async remove(ids: readonly string[]): Promise<void> {
    this.removed = ids.flatMap((id) => this.find(id) ?? [])
    for (const id of ids) {
      this.#removed.add(id)
      this.#known.delete(id)
      this.#unsaved.delete(id)
    }
    this.#mark()
    await this.#opened
    await this.#delete(ids).catch(() => undefined)
    for (const id of ids) this.#channel?.postMessage(id)
    this.#settle()
    await this.retry()
  }

  /** Restores one of the most recently removed conversations. */
  async restore(id: string): Promise<void> {
    const restored = this.removed.find((removed) => removed.id === id)
    this.removed = this.removed.filter((removed) => removed.id !== id)
    if (restored === undefined) return
    this.#removed.delete(id)
    this.#revisions.delete(id)
    await this.put(restored)
  }

  /**
   * Runs `work` while no other tab is answering in the conversation. Rejects with the signal's reason if
   * aborted before that. Pages over plain HTTP have no locks; there, `put` keeps both tabs' turns.
   */
  async alone(id: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const { locks } = navigator
    if (locks === undefined) return work()
    await locks.request(`${NAME} ${id}`, { signal }, work)
  }

  async #reopen(): Promise<void> {
    this.#database = await openDatabase()
  }

  /** Throws if there is no database. */
  #transaction() {
    if (this.#database === undefined) throw new DOMException('there is no database', 'NotFoundError')
    return this.#database.transaction('conversations', 'readwrite')
  }

  /** Undefined if the write of a conversation fails, even after making room. */
  async #tried<T>(id: string, write: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await this.#again(write)
      this.#unsaved.delete(id)
      this.#settle()
      return done
    } catch (error) {
      this.#fail(id, error)
      return undefined
    }
  }

  #fail(id: string, error: unknown): void {
    if (this.#removed.has(id)) return
    this.trouble = isFull(error) ? 'full' : 'failed'
    this.#unsaved.add(id)
    this.#retry ??= setTimeout(() => void this.retry(), RETRY_MS)
    this.troubled()
  }

  /** Writes, and retries once if the failure can be fixed. */
  async #again<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      if (isClosed(error)) await this.#reopen()
      else if (isFull(error) && this.trouble === undefined) await this.#makeRoom()
      else throw error
      return await write()
    }
  }

  /** After a conversation was stored or removed. */
  #settle(): void {
    if (this.trouble === undefined || this.#unsaved.size > 0) return
    this.trouble = undefined
    this.troubled()
  }

  async #write(conversation: Conversation): Promise<Conversation> {
    const { id } = conversation
    if (this.#database === undefined) return conversation
    const change = this.#transaction()
    const stored = (await change.store.get(id)) as Stored | undefined
    const isForeign = stored !== undefined && stored.revision !== this.#revisions.get(id)
    const put = isForeign ? { ...conversation, id: newConversation().id } : conversation
    const revision = randomId()
    for (const key of this.#draftsOf(id)) if (key !== put.id) change.store.delete(key).catch(() => undefined)
    change.store.put({ ...put, revision }).catch(() => undefined)
    await change.done
    this.#revisions.set(put.id, revision)
    this.#drafts.delete(id)
    if (stored === undefined || !isForeign) return put
    for (const found of (await assembled([stored])).values()) this.#learn(found)
    this.#known.set(put.id, put)
    return put
  }

  /** Removes conversations, and the answers that other pages have started in them. */
  async #delete(ids: readonly string[]): Promise<void> {
    if (this.#database === undefined) return
    const change = this.#transaction()
    const drafts = await change.store.getAll(draftKeys())
    const begun = drafts.filter((record) => 'draftOf' in record && ids.includes(record.draftOf.id))
    for (const id of [...ids, ...begun.map((draft) => draft.id)])
      change.store.delete(id).catch(() => undefined)
    await change.done
  }

  /** Keys of the drafts to delete when a conversation is stored. */
  #draftsOf(id: string): readonly string[] {
    const drafts = this.#drafts.get(id) ?? []
    return this.#own?.id === id ? [...drafts, this.#own.key] : drafts
  }

  async #read(id: string): Promise<Conversation | undefined> {
    // The stored version is older.
    if (this.#unsaved.has(id)) return this.find(id)
    const store = this.#database?.transaction('conversations').store
    const [record, drafts = []] = await Promise.all([store?.get(id), store?.getAll(draftKeys())])
    const all = await assembled([record, ...drafts.filter((draft) => draft.id !== this.#own?.key)])
    const found = all.get(id)
    return found && this.#learn(found)
  }

  #learn({ conversation, revision, drafts }: Found): Conversation {
    const { id } = conversation
    this.#known.set(id, conversation)
    this.#revisions.set(id, revision)
    this.#drafts.set(id, drafts)
    return conversation
  }

  async #hear(id: string): Promise<void> {
    await this.#opened
    // If it cannot be read, the local version stays.
    const conversation = await this.#read(id).catch(() => this.find(id))
    if (conversation === undefined) {
      this.#removed.add(id)
      this.#known.delete(id)
    } else this.#removed.delete(id)
    this.changedElsewhere(id, conversation)
  }

  /** The next first paint must know whether there is a conversation, before the database can be read. */
  #mark(): void {
    try {
      localStorage.setItem(COUNT, String(this.#known.size))
    } catch {
      // Without storage there are no conversations on the next visit either.
    }
  }
}
