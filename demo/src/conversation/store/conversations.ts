// Conversations. In: messages. Out: conversations with a title.
import type { OwnSettings } from '../../shell/own-settings.ts'
import type { UsedTool } from '../../tools/tools.ts'
import type { Picture } from '../files/attachments.ts'

/** Why an answer is incomplete. */
export type Ending = 'cancelled' | 'length' | 'interrupted' | 'loop'

/**
 * How the model read the question's files: completely, or as the passages quoted in `text`, out of `all`,
 * found by words or by meaning. `searching`: passages are still being chosen. `prompt`: the model is still
 * reading, in tokens.
 */
export type Read =
  | { readonly by: 'whole' }
  | { readonly by: 'words' | 'meaning'; readonly text: string; readonly all: number }
  | { readonly by: 'searching' | 'prompt'; readonly done: number; readonly all: number }

export interface StoredMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** Images attached to a question. Absent if there are none. */
  readonly pictures?: readonly Picture[]
  /** The model's thought before its answer. Absent if there was none. */
  readonly thoughts?: string
  /** Absent for questions, and if the model ended the answer itself. */
  readonly ending?: Ending
  /** Name of the model that answered. Absent for questions. */
  readonly model?: string
  /** Index of the first message that the model read for the answer. Absent: it read all. */
  readonly seenFrom?: number
  /** For an answer to a question about files: how the model read them. */
  readonly read?: Read
  /** Tools that were used for the answer, in order. Absent if there were none. */
  readonly used?: readonly UsedTool[]
  /** Present if the page declined the question for the model, and a larger one may answer it. */
  readonly declined?: true
  /** Other versions of this message, oldest first, each with the messages that followed it. */
  readonly others?: readonly (readonly StoredMessage[])[]
  /** Number of versions in `others` that are older than this message. Absent: all of them. */
  readonly place?: number
}

/** A user's message. */
export type Said = Pick<StoredMessage, 'content' | 'pictures'>

/** True if a message has content. A thought counts: its answer may have hit the length limit. */
export const isSaid = ({ content, pictures, thoughts }: Said & Pick<StoredMessage, 'thoughts'>): boolean =>
  content !== '' || pictures !== undefined || thoughts !== undefined

export interface Conversation {
  readonly id: string
  readonly title: string
  /** Present if the user set the title, so that it stays when the first message changes. */
  readonly isNamed?: true
  /** Present if it is pinned. */
  readonly isPinned?: true
  /** Time of the last change, in milliseconds since 1970. */
  readonly updated: number
  readonly messages: readonly StoredMessage[]
  /** Its own settings, which override the page's. Absent in those of earlier releases. */
  readonly settings?: OwnSettings
}

const TITLE_LENGTH = 48
/** Maximum UTF-16 units of a title set by the user. */
export const MAX_TITLE = 120

export function newConversation(): Conversation {
  return { id: randomId(), title: 'New chat', updated: Date.now(), messages: [] }
}

/** The same conversation with other messages. Unless it was renamed, its title is the first message. */
export function withMessages(conversation: Conversation, messages: readonly StoredMessage[]): Conversation {
  const { content = '', pictures = [] } = messages.find(({ role }) => role === 'user') ?? {}
  const line = content.trim().replace(/\s+/g, ' ') || (pictures[0]?.name ?? '')
  const letters = [...line]
  const title = letters.length > TITLE_LENGTH ? `${letters.slice(0, TITLE_LENGTH).join('').trimEnd()}…` : line
  const shown = conversation.isNamed ? conversation.title : title || 'New chat'
  return { ...conversation, title: shown, updated: Date.now(), messages }
}

/** The same conversation with the user's title. An empty title restores the automatic one. */
export function renamed(conversation: Conversation, title: string): Conversation {
  const { isNamed: _, ...plain } = conversation
  const { updated } = conversation
  const line = title.trim().replace(/\s+/g, ' ').slice(0, MAX_TITLE)
  if (line === '') return { ...withMessages(plain, conversation.messages), updated }
  return { ...plain, title: line, isNamed: true }
}

/** The same conversation, pinned or not. */
export function pinned({ isPinned: _, ...plain }: Conversation, isPinned: boolean): Conversation {
  return isPinned ? { ...plain, isPinned } : plain
}

/** `crypto.randomUUID` exists only on secure pages; a phone may open this one over plain HTTP. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
