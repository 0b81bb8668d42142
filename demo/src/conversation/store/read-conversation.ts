// Reading conversations. In: untrusted records of the database or of an imported file. Out: conversations
// whose every field is valid, and how many parts of the record were not.
import { parseOwn } from '../../shell/own-settings.ts'
import type { UsedTool } from '../../tools/tools.ts'
import type { Picture } from '../files/attachments.ts'
import {
  type Conversation,
  type Ending,
  MAX_TITLE,
  newConversation,
  type Read,
  type StoredMessage,
  withMessages,
} from './conversations.ts'

/** More messages than any conversation has. */
const MAX_MESSAGES = 2 ** 32
/** Versions within versions, which a damaged record may nest arbitrarily. */
const MAX_DEPTH = 32
/** Maximum UTF-16 units of an id; the page's own ids have 32. */
const MAX_ID = 128
/** The latest time that a `Date` can have. */
const MAX_TIME = 8.64e15

const ENDINGS: readonly unknown[] = ['cancelled', 'length', 'interrupted', 'loop'] satisfies Ending[]

const fields = (value: unknown): Readonly<Record<string, unknown>> => Object(value)

const isText = (value: unknown): value is string => typeof value === 'string'
const isName = (value: unknown): value is string => isText(value) && value !== ''
const isTrue = (value: unknown): value is true => value === true
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
const isEnding = (value: unknown): value is Ending => ENDINGS.includes(value)

export const isBelow = (value: unknown, end: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < end

/** An id becomes part of an address, where lone surrogates are invalid. */
const isId = (value: unknown): value is string =>
  isName(value) && value.length <= MAX_ID && value.isWellFormed()

/** Any other time makes an invalid `Date`, with which the list could not be displayed. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= MAX_TIME

function isUsedTool(value: unknown): value is UsedTool {
  const { id, name, arguments: given, result, state } = fields(value)
  const isKnown = state === undefined || state === 'failed' || state === 'running'
  return [id, name, result].every(isText) && isObject(given) && isKnown
}

function isRead(value: unknown): value is Read {
  const { by, text, all } = fields(value)
  if (by === 'whole') return true
  return (by === 'words' || by === 'meaning') && isText(text) && isBelow(all, MAX_MESSAGES)
}

const asBlob = (value: unknown): Blob | undefined => (value instanceof Blob ? value : undefined)

/** Reads records. Invalid parts are dropped and counted. */
export class RecordReader {
  /** Number of dropped fields and messages. */
  damaged = 0
  readonly #fileOf: (value: unknown) => Blob | undefined

  /** `fileOf` converts a record's image data to a file. Default: it already is a file. */
  constructor(fileOf: (value: unknown) => Blob | undefined = asBlob) {
    this.#fileOf = fileOf
  }

  /**
   * Undefined for a record without an id or a list of messages, which is not a conversation. An invalid or
   * missing time counts as the oldest.
   */
  conversation(record: unknown): Conversation | undefined {
    const { id, title, isNamed, isPinned, updated, messages, settings } = fields(record)
    if (!isId(id) || !Array.isArray(messages)) {
      this.damaged++
      return undefined
    }
    const named = this.#field(title, isName)?.slice(0, MAX_TITLE)
    const isGiven = this.#field(isNamed, isTrue)
    const own = parseOwn(this.#field(settings, isObject))
    return {
      ...withMessages({ ...newConversation(), id }, this.messages(messages)),
      ...(named !== undefined && { title: named, ...(isGiven && { isNamed: isGiven }) }),
      ...(this.#field(isPinned, isTrue) && { isPinned: true }),
      ...(own && { settings: own }),
      updated: this.#field(updated, isTime) ?? 0,
    }
  }

  messages(messages: readonly unknown[], depth = 0): readonly StoredMessage[] {
    return messages.flatMap((message) => this.#message(message, depth) ?? [])
  }

  #message(message: unknown, depth: number): StoredMessage | undefined {
    const { role, content, thoughts, ending, model, seenFrom, read, place, declined, ...lists } =
      fields(message)
    if ((role !== 'user' && role !== 'assistant') || !isText(content)) {
      this.damaged++
      return undefined
    }
    const others = this.#versions(lists['others'], role, depth)
    // A call that was running when the page closed has no result.
    const used = this.#list(lists['used'], isUsedTool).filter(({ state }) => state !== 'running')
    const pictures = this.#list(lists['pictures'], isObject).flatMap((item) => this.#picture(item))
    const optional = {
      ending: this.#field(ending, isEnding),
      model: this.#field(model, isName),
      thoughts: this.#field(thoughts, isText),
      seenFrom: this.#field(seenFrom, (value) => isBelow(value, MAX_MESSAGES)),
      read: this.#field(read, isRead),
      declined: this.#field(declined, isTrue),
      place: this.#field(place, (value) => isBelow(value, others.length)),
    }
    return {
      role,
      content,
      ...(pictures.length > 0 && { pictures }),
      ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
      ...(used.length > 0 && { used }),
      ...(others.length > 0 && { others }),
    }
  }

  #picture(record: object): readonly Picture[] {
    const { name, file: stored } = fields(record)
    const file = this.#fileOf(stored)
    if (isText(name) && file !== undefined) return [{ name, file }]
    this.damaged++
    return []
  }

  /** Each version begins with a message of the same role. */
  #versions(others: unknown, role: string, depth: number): readonly (readonly StoredMessage[])[] {
    const isVersions = (value: unknown): value is readonly unknown[] =>
      isList(value) && (depth < MAX_DEPTH || value.length === 0)
    return this.#list(this.#field(others, isVersions), isList).flatMap((version) => {
      const messages = this.messages(version, depth + 1)
      if (messages[0]?.role === role) return [messages]
      this.damaged++
      return []
    })
  }

  /** The value of an optional field; undefined if it is absent or invalid. */
  #field<Valid>(value: unknown, isValid: (value: unknown) => value is Valid): Valid | undefined {
    if (value === undefined) return undefined
    if (isValid(value)) return value
    this.damaged++
    return undefined
  }

  #list<Valid>(values: unknown, isValid: (value: unknown) => value is Valid): readonly Valid[] {
    return (this.#field(values, isList) ?? []).flatMap((item) => {
      const valid = this.#field(item, isValid)
      return valid === undefined ? [] : [valid]
    })
  }
}

/**
 * Checks a record of the database, which another release, an extension or a disk fault may have written.
 * Invalid parts are dropped. Undefined if the record is not a conversation.
 */
export const readConversation = (record: unknown): Conversation | undefined =>
  new RecordReader().conversation(record)
