// Exchange. In: conversations. Out: Markdown to read, JSON that another page can import, and back.
import { HalfbyteError } from '../../../../src/index.ts'
import { bytes } from '../../shell/units.ts'
import { t } from '../../words/words.ts'
import { type Conversation, readConversation } from '../store/conversations.ts'

const FORMAT = 'halfbyte-conversations'
const VERSION = 1
/** Largest file that is read, in bytes. */
export const MOST_BYTES = 64e6

/** The messages as they are shown, under headings that say whose they are. */
export function toMarkdown({ title, messages }: Conversation): string {
  const parts = messages.map(({ role, content, model }) => {
    const speaker = role === 'user' ? t('you') : (model ?? t('model'))
    return `## ${speaker}\n\n${content.trim()}`
  })
  return `${[`# ${title}`, ...parts].join('\n\n')}\n`
}

/** Everything that is stored of the conversations, with all versions. */
export function toJson(conversations: readonly Conversation[]): string {
  return `${JSON.stringify({ format: FORMAT, version: VERSION, conversations }, undefined, 1)}\n`
}

/** Reads what `toJson` wrote. Throws `format` if the text is anything else or nothing in it can be read. */
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
  const whole = conversations.map(readWhole).filter((found) => found !== undefined)
  if (whole.length < conversations.length) {
    const detail = { damaged: conversations.length - whole.length, all: conversations.length }
    throw new HalfbyteError('format', t('importDamaged', detail), detail)
  }
  return whole
}

/** Undefined also if some of its messages cannot be read. */
function readWhole(record: unknown): Conversation | undefined {
  const read = readConversation(record)
  const { length } = Object(record).messages ?? []
  return read !== undefined && length > 0 && read.messages.length === length ? read : undefined
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch (cause) {
    throw new HalfbyteError('format', t('importNoJson'), {}, { cause })
  }
}

/** Reads a file of conversations. Throws `format`, also if it is too large. */
export async function readFile(file: File): Promise<readonly Conversation[]> {
  if (file.size > MOST_BYTES) {
    throw new HalfbyteError('format', t('importLarge', { size: bytes(file.size), most: bytes(MOST_BYTES) }), {
      bytes: file.size,
      most: MOST_BYTES,
    })
  }
  return fromJson(await file.text())
}

/** A name that every file system takes. */
export function fileName(title: string, ending: 'md' | 'json'): string {
  const name = title.replace(/[^\p{L}\p{M}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '')
  return `${[...name].slice(0, 60).join('') || 'chat'}.${ending}`
}
