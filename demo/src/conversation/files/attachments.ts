// Attachments: what can be attached to a message, and how a message quotes texts.

/** A file's text, which a message quotes. */
export interface TextFile {
  readonly name: string
  readonly text: string
}

/** An image for a vision model: PNG, JPEG, WebP or anything else that the browser decodes. */
export interface Picture {
  readonly name: string
  readonly file: Blob
}

export type Attachment = TextFile | Picture

export const isPicture = (attachment: Attachment): attachment is Picture => 'file' in attachment

const MODEL = /\.(gguf|hbm|safetensors|bin|onnx)$/i
/** Neither a model nor text, so the user wants to show it to the model. */
const SHOWN = /^(?:image|audio|video|font)\/|pdf|zip|msword|officedocument|opendocument|epub|rtf/
const TEXT =
  /\.(txt|md|markdown|csv|tsv|log|ya?ml|toml|ini|html?|css|xml|svg|[cm]?[jt]sx?|py|rb|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|php|sh|sql|tex|srt|diff|patch)$/i

/** True for files to attach. JSON belongs to a model if weights accompany it. */
export function areTexts(files: readonly File[]): boolean {
  if (files.some(({ name }) => MODEL.test(name))) return false
  return files.every(
    ({ name, type }) => type.startsWith('text/') || TEXT.test(name) || /\.jsonl?$/i.test(name),
  )
}

/**
 * True for files that a user means to attach: texts, images, and files that the page cannot read, which it
 * then reports.
 */
export function areAttached(files: readonly File[]): boolean {
  if (areTexts(files)) return true
  return files.some(({ type }) => SHOWN.test(type)) && !files.some(({ name }) => MODEL.test(name))
}

/** The text for the model: the user's text, then each file under its name, fenced. */
export function withQuotes(text: string, files: readonly TextFile[]): string {
  const quoted = files.map(({ name, text: inside }) => {
    const fence = fenceFor(inside)
    return `${name}:\n\n${fence}\n${inside}\n${fence}`
  })
  return [...(text === '' ? [] : [text]), ...quoted].join('\n\n')
}

const QUOTED = /(?:^|\n\n)([^\n]+):\n\n(`{3,})\n([\s\S]*?)\n\2(?=\n\n|$)/y

/** The parts of a message made by `withQuotes`. Any other message is all text. */
export function splitQuotes(content: string): {
  readonly text: string
  readonly files: readonly TextFile[]
} {
  for (const { index } of content.matchAll(/^|\n\n(?=[^\n]+:\n\n```)/g)) {
    const files = quotesFrom(content, index)
    if (files !== undefined) return { text: content.slice(0, index), files }
  }
  return { text: content, files: [] }
}

/** Undefined unless there are only quoted files from `start` on. */
function quotesFrom(content: string, start: number): readonly TextFile[] | undefined {
  const files: TextFile[] = []
  QUOTED.lastIndex = start
  let end = start
  for (let found = QUOTED.exec(content); found !== null; found = QUOTED.exec(content)) {
    files.push({ name: found[1] ?? '', text: found[3] ?? '' })
    end = QUOTED.lastIndex
  }
  return files.length > 0 && end === content.length ? files : undefined
}

/** A fence that is longer than any fence inside the text. */
function fenceFor(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ({ 0: run }) => run.length))
  return '`'.repeat(longest + 1)
}
