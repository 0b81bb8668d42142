// Conversations. In: actions of the user and of other tabs. Out: the open conversation, and all of them.
import type { Explained } from '../models/explain.ts'
import type { OwnSettings } from '../shell/own-settings.ts'
import type { Figures } from './answer.ts'
import type { Adding, New } from './store/add-all.ts'
import { ConversationStore } from './store/conversation-store.ts'
import { type Conversation, newConversation, pinned, renamed, withMessages } from './store/conversations.ts'
import { forked, withVersion } from './store/versions.ts'

/** Removes the stored state of one conversation, or of all. Its code loads when it is needed. */
export const unkeep = async (id?: string): Promise<void> => (await import('./store/kept.ts')).unkeep(id)

/** The conversations of one page, one of which is open. Emits `change`. */
export abstract class Conversations extends EventTarget {
  conversation: Conversation = newConversation()
  isAnswering = false
  figures: Figures | undefined
  /** True if the last message is an answer generated during this visit. */
  hasSpoken = false
  /** The last error in an answer. */
  problem: Explained | undefined
  /** Number of failed attempts to store unsaved conversations. */
  tries = 0
  /** True once something could not be stored during this visit. */
  wasTroubled = false
  /** Stored model state is the first to be removed when the device is full: it can be computed again. */
  protected readonly store = new ConversationStore(() => unkeep())

  constructor() {
    super()
    this.store.changedElsewhere = (id, conversation) => this.#follow(id, conversation)
    this.store.troubled = () => {
      this.tries++
      this.wasTroubled = true
      if (this.trouble === undefined) removeEventListener('beforeunload', askToStay)
      else addEventListener('beforeunload', askToStay)
      this.changed()
    }
  }

  /** Resolves when no answer is in progress. */
  abstract readonly answered: Promise<void>

  /** Ends the answer in progress. */
  abstract stop(): void

  /** Frees a model's state for a removed conversation. */
  protected abstract forget(id: string): Promise<void>

  /** Newest first. */
  get conversations(): readonly Conversation[] {
    return this.store.all
  }

  /** The most recently removed conversations, which can be restored. */
  get removed(): readonly Conversation[] {
    return this.store.removed
  }

  /** Why some conversations are only in this page's memory; undefined if all are stored. */
  get trouble(): ConversationStore['trouble'] {
    return this.store.trouble
  }

  /** The conversations that could not be stored. */
  get unsaved(): readonly Conversation[] {
    return this.store.unsaved
  }

  /** Retries storing them. */
  async retry(): Promise<void> {
    await this.store.retry()
  }

  /** Shows the next newer or older version of message `index`. */
  async turn(index: number, step: 1 | -1): Promise<void> {
    if (this.isAnswering) return
    const changed = withMessages(this.conversation, withVersion(this.conversation.messages, index, step))
    this.conversation = changed
    this.figures = undefined
    this.hasSpoken = false
    this.changed()
    const stored = await this.store.put(changed)
    if (this.conversation === changed) this.conversation = stored
    this.changed()
  }

  /** Forks the conversation at message `index`. */
  async fork(index: number): Promise<void> {
    if (this.isAnswering) return
    const fork = forked(this.conversation, index)
    this.show(fork)
    await this.store.put(fork)
    this.changed()
  }

  fresh(): void {
    const { messages, settings } = this.conversation
    if (messages.length > 0 || settings !== undefined) this.show(newConversation())
  }

  open(id: string): void {
    const conversation = this.store.find(id)
    if (conversation !== undefined && id !== this.conversation.id) this.show(conversation)
  }

  /** Sets a conversation's title. If an answer is in progress, this waits for its end. */
  async rename(id: string, title: string): Promise<void> {
    await this.#change(id, (conversation) => renamed(conversation, title))
  }

  /** Pins or unpins a conversation. If an answer is in progress, this waits for its end. */
  async pin(id: string, isPinned: boolean): Promise<void> {
    await this.#change(id, (conversation) => pinned(conversation, isPinned))
  }

  /** Sets the open conversation's own settings. If an answer is in progress, they are stored at its end. */
  async adapt(settings: OwnSettings | undefined): Promise<void> {
    const { id, messages } = this.conversation
    const change = ({ settings: before, ...plain }: Conversation): Conversation => ({
      ...plain,
      ...(settings && { settings: { ...before, ...settings } }),
    })
    this.conversation = change(this.conversation)
    this.changed()
    if (messages.length > 0) await this.#change(id, change)
  }

  /** Changes the data stored alongside the messages. */
  async #change(id: string, change: (conversation: Conversation) => Conversation): Promise<void> {
    if (id === this.conversation.id) await this.answered
    const conversation = this.store.find(id)
    if (conversation === undefined) return
    const stored = this.store.put(change(conversation))
    if (id === this.conversation.id) this.conversation = change(this.conversation)
    this.changed()
    await stored
  }

  /** Stores the conversations of a file. Resolves to the new ones. */
  async add(write: Adding): Promise<readonly New[]> {
    const fresh = await this.store.add(write)
    this.changed()
    return fresh
  }

  async remove(ids: readonly string[]): Promise<void> {
    const gone = this.store.remove(ids)
    if (ids.includes(this.conversation.id)) this.fresh()
    this.changed()
    await gone
    for (const id of ids) {
      await this.forget(id)
      await unkeep(id)
    }
  }

  /** Restores a recently removed conversation. */
  async restore(id: string): Promise<void> {
    const stored = this.store.restore(id)
    this.changed()
    await stored
  }

  /** Applies another tab's change. */
  #follow(id: string, conversation: Conversation | undefined): void {
    if (id === this.conversation.id) {
      if (conversation === undefined) this.show(newConversation())
      else if (!this.isAnswering) this.conversation = conversation
    }
    this.changed()
  }

  protected show(conversation: Conversation): void {
    this.stop()
    this.conversation = conversation
    this.problem = undefined
    this.figures = undefined
    this.hasSpoken = false
    this.changed()
  }

  protected changed(): void {
    this.dispatchEvent(new Event('change'))
  }
}

/** The browser asks whether to leave the page, in its own words. */
const askToStay = (event: Event): void => event.preventDefault()
