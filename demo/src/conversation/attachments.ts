// Attachments. In: text files. Out: a message that quotes them, and the parts of such a message.
import { HalfbyteError } from '../../../src/index.ts'
import { bytes } from '../shell/units.ts'
import { t } from '../words/words.ts'

export interface Attachment {
  readonly name: string
  readonly text: string
}

/** Bytes of one file, and files of one message. A model's context holds far less than both together. */
export const MOST_BYTES = 200_000
export const MOST_FILES = 8

const MODEL = /\.(gguf|hbm|safetensors|bin|onnx)$/i
/** What is neither a model nor a text, so that a person meant to show it. */
const SHOWN = /^(?:image|audio|video|font)\/|pdf|zip|msword|officedocument|opendocument|epub|rtf/
const TEXT =
  /\.(txt|md|markdown|csv|tsv|log|ya?ml|toml|ini|html?|css|xml|svg|[cm]?[jt]sx?|py|rb|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|tex|srt|diff|patch)$/i

/** True for files to attach. JSON belongs to a model where weights lie beside it. */
export function areTexts(files: readonly File[]): boolean {
  if (files.some(({ name }) => MODEL.test(name))) return false
  return files.every(
    ({ name, type }) => type.startsWith('text/') || TEXT.test(name) || /\.jsonl?$/i.test(name),
  )
}

/**
 * True for files that a person means to attach: texts, and what the page cannot read, of which it then says
 * so.
 */
export function areAttached(files: readonly File[]): boolean {
  if (areTexts(files)) return true
  return files.some(({ type }) => SHOWN.test(type)) && !files.some(({ name }) => MODEL.test(name))
}

/**
 * Reads text files. Throws `unsupported` for one that is too large and `format` for one that is not UTF-8
 * text; the messages are sentences for people.
 */
export async function readTexts(files: readonly File[], taken = 0): Promise<readonly Attachment[]> {
  const count = files.length + taken
  if (count > MOST_FILES) {
    throw new HalfbyteError('unsupported', t('tooMany', { most: MOST_FILES, count }), {
      count,
      most: MOST_FILES,
    })
  }
  return Promise.all(files.map(readText))
}

async function readText(file: File): Promise<Attachment> {
  const { name, size } = file
  if (size > MOST_BYTES) {
    throw new HalfbyteError(
      'unsupported',
      t('tooLong', { name, size: bytes(size), most: bytes(MOST_BYTES) }),
      { size, most: MOST_BYTES },
    )
  }
  const text = decode(await file.arrayBuffer())
  if (text !== undefined)
    return { name: name.replaceAll(/\s+/g, ' '), text: text.replaceAll('\r\n', '\n').trimEnd() }
  throw new HalfbyteError('format', t('noText', { name }))
}

/** Undefined for what is not UTF-8, or holds characters that no text has. */
function decode(content: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(content)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

/** What the model reads: the person's text, then each file under its name, fenced. */
export function withQuotes(text: string, files: readonly Attachment[]): string {
  const quoted = files.map(({ name, text: inside }) => {
    const fence = fenceFor(inside)
    return `${name}:\n\n${fence}\n${inside}\n${fence}`
  })
  return [...(text === '' ? [] : [text]), ...quoted].join('\n\n')
}

const QUOTED = /(?:^|\n\n)([^\n]+):\n\n(`{3,})\n([\s\S]*?)\n\2(?=\n\n|$)/y

/** The parts of a message that `withQuotes` made. Any other message is all text. */
export function splitQuotes(content: string): {
  readonly text: string
  readonly files: readonly Attachment[]
} {
  for (const { index } of content.matchAll(/^|\n\n(?=[^\n]+:\n\n```)/g)) {
    const files = quotesFrom(content, index)
    if (files !== undefined) return { text: content.slice(0, index), files }
  }
  return { text: content, files: [] }
}

/** Undefined unless there are only quoted files from `start` on. */
function quotesFrom(content: string, start: number): readonly Attachment[] | undefined {
  const files: Attachment[] = []
  QUOTED.lastIndex = start
  let end = start
  for (let found = QUOTED.exec(content); found !== null; found = QUOTED.exec(content)) {
    files.push({ name: found[1] ?? '', text: found[3] ?? '' })
    end = QUOTED.lastIndex
  }
  return files.length > 0 && end === content.length ? files : undefined
}

/** Longer than any fence inside. */
function fenceFor(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ({ 0: run }) => run.length))
  return '`'.repeat(longest + 1)
}
