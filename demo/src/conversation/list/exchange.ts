// Import and export. In: conversations. Out: Markdown to read, JSON that another page can import, and back.
import { HalfbyteError } from '../../../../src/index.ts'
import { fromBase64, parseJson, toBase64 } from '../../../../src/ui/chat/library.ts'
import { bytes } from '../../shell/units.ts'
import { t } from '../../words/later-words.ts'
import type { Picture } from '../files/attachments.ts'
import { addAll } from '../store/add-all.ts'
import type { Conversation, StoredMessage } from '../store/conversations.ts'
import { isFull } from '../store/database.ts'
import { RecordReader } from '../store/read-conversation.ts'
import type { ListActs } from './conversation-list.ts'

const FORMAT = 'halfbyte-conversations'
const VERSION = 1
/** Maximum file size in bytes. */
export const MAX_BYTES = 64e6

/** The messages as displayed, under headings with their speakers. */
export function toMarkdown({ title, messages }: Conversation): string {
  const parts = messages.map(({ role, content, pictures = [], model }) => {
    const speaker = role === 'user' ? t('you') : (model ?? t('model'))
    const shown = pictures.map(({ name }) => `${t('pictureNamed', { name })}\n\n`).join('')
    return `## ${speaker}\n\n${shown}${content.trim()}`
  })
  return `${[`# ${title}`, ...parts].join('\n\n')}\n`
}

/** Everything that is stored of the conversations, with all versions; images as base64. */
export async function toJson(conversations: readonly Conversation[]): Promise<string> {
  const files = new Map<Blob, unknown>()
  for (const { file } of conversations.flatMap(({ messages }) => picturesOf(messages))) {
    files.set(file, { type: file.type, base64: toBase64(new Uint8Array(await file.arrayBuffer())) })
  }
  const written = (_: string, value: unknown) => (value instanceof Blob ? files.get(value) : value)
  return `${JSON.stringify({ format: FORMAT, version: VERSION, conversations }, written, 1)}\n`
}

/** All images, including those of all versions. */
const picturesOf = (messages: readonly StoredMessage[]): readonly Picture[] =>
  messages.flatMap(({ pictures = [], others = [] }) => [...pictures, ...others.flatMap(picturesOf)])

/** An image's file from the output of `toJson`; undefined for anything else. */
function fileOf(value: unknown): Blob | undefined {
  const { type, base64 } = Object(value)
  if (typeof type !== 'string' || !type.startsWith('image/') || typeof base64 !== 'string') return undefined
  try {
    return new Blob([fromBase64(base64)], { type })
  } catch {
    return undefined
  }
}

/** Reads the output of `toJson`. Throws `format` for any other text or if nothing in it can be read. */
export function fromJson(text: string): readonly Conversation[] {
  const { format, version, conversations } = parse(text)
  if (format !== FORMAT || !Array.isArray(conversations)) {
    throw new HalfbyteError('format', t('importNone'))
  }
  if (version !== VERSION) {
    const found = String(version)
    const detail = { found, readable: VERSION }
    throw new HalfbyteError('format', t('importVersion', detail), detail)
  }
  const whole = conversations.flatMap((record) => readWhole(record) ?? [])
  if (whole.length < conversations.length) {
    const detail = { damaged: conversations.length - whole.length, all: conversations.length }
    throw new HalfbyteError('format', t('importDamaged', detail), detail)
  }
  return whole
}

/** Undefined if any part of it is damaged or it has no messages. */
function readWhole(record: unknown): Conversation | undefined {
  const reader = new RecordReader(fileOf)
  const read = reader.conversation(record)
  return reader.damaged === 0 && read?.messages.length !== 0 ? read : undefined
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(parseJson(text))
  } catch (cause) {
    throw new HalfbyteError('format', t('importNoJson'), {}, { cause })
  }
}

/** Reads a file of conversations. Throws `format` if it is invalid or too large. */
export async function readFile(file: File): Promise<readonly Conversation[]> {
  if (file.size > MAX_BYTES) {
    throw new HalfbyteError('format', t('importLarge', { size: bytes(file.size), most: bytes(MAX_BYTES) }), {
      bytes: file.size,
      most: MAX_BYTES,
    })
  }
  return fromJson(await file.text())
}

/** A name that every file system accepts. */
export function fileName(title: string, ending: 'md' | 'json'): string {
  const name = title.replace(/[^\p{L}\p{M}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '')
  return `${[...name].slice(0, 60).join('') || 'chat'}.${ending}`
}

/**
 * Imports a file of conversations, all or none, and reports how many. Throws like `readFile`, and
 * `storage-full` or `internal` if they cannot be stored.
 */
export async function importFile(file: File, add: ListActs['add']): Promise<string> {
  const read = await readFile(file)
  const all = read.length
  try {
    const { length: count } = await add((...here) => addAll(read, ...here))
    if (count < all) return t(count === 0 ? 'importedKnown' : 'importedSome', { count, all })
    return t('imported', { count })
  } catch (cause) {
    if (isFull(cause)) throw new HalfbyteError('storage-full', t('importFull'), {}, { cause })
    throw new HalfbyteError('internal', t('importFailed'), {}, { cause })
  }
}
