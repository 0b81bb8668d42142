// Reads a file that a user attaches: PDF, DOCX, HTML, CSV, Markdown or plain text. Out: its text, in which form
// feeds separate pages and `#` marks headings. Each reader loads with the first file of its kind.
import { decodeText } from './decode-text.ts'
import { documentError } from './document-error.ts'
import { kindOf, MAX_BYTES, MAX_LETTERS } from './kinds.ts'
import type { OnPages } from './pdf/pdf-text.ts'

/** A document's text under its file's name. */
export interface TextDocument {
  readonly name: string
  readonly text: string
}

export interface ReadOptions {
  /** Starts the worker that reads PDFs. */
  readonly startPdf: () => Worker | Promise<Worker>
  /** Size of a file in the user's language, for the sentence of an error. */
  readonly sizeText: (bytes: number) => string
  readonly signal?: AbortSignal | undefined
  readonly onPages?: OnPages | undefined
}

/**
 * Throws a `documentError`, whose message is for users: `kind` if the file's bytes are none of these, `large`,
 * `long`, `locked`, `scanned`, `empty` and `damaged`. Rejects with the signal's reason once it is aborted.
 */
export async function readDocument(file: File, options: ReadOptions): Promise<TextDocument> {
  const name = plainName(file)
  const { signal, sizeText } = options
  const most = MAX_BYTES[kindOf(name, file.type)]
  if (file.size > most)
    throw documentError('large', name, { size: sizeText(file.size), most: sizeText(most), bytes: file.size })
  const bytes = new Uint8Array(await bytesOf(file, name))
  signal?.throwIfAborted()
  const text = (await textOf(name, file.type, bytes, options)).replaceAll(/\r\n?/g, '\n').trimEnd()
  if (text.trim() === '') throw documentError('empty', name)
  if (text.length > MAX_LETTERS) throw documentError('long', name, { why: `${text.length} characters` })
  return { name, text }
}

async function textOf(
  name: string,
  type: string,
  bytes: Uint8Array<ArrayBuffer>,
  options: ReadOptions,
): Promise<string> {
  const { signal, startPdf } = options
  switch (kindOf(name, type)) {
    case 'pdf': {
      const { pdfText } = await part(name, import('./pdf/pdf-text.ts'))
      return pdfText(name, bytes, startPdf, options)
    }
    case 'docx': {
      const { docxText } = await part(name, import('./docx/docx-text.ts'))
      return docxText(name, bytes, signal)
    }
    case 'html': {
      const { htmlText } = await part(name, import('./html-text.ts'))
      return htmlText(name, plainText(name, bytes), signal)
    }
    default:
      return plainText(name, bytes)
  }
}

function plainText(name: string, bytes: Uint8Array): string {
  const text = decodeText(bytes)
  if (text === undefined) throw documentError('kind', name)
  return text
}

/** A folder, or a file that has changed or disappeared on the device, cannot be read. */
const bytesOf = (file: File, name: string): Promise<ArrayBuffer> =>
  file.arrayBuffer().catch((cause: unknown) => {
    throw documentError('damaged', name, { why: String(cause) }, cause)
  })

const part = <T>(name: string, loading: Promise<T>): Promise<T> =>
  loading.catch((cause: unknown) => {
    throw documentError('part', name, { why: String(cause) }, cause)
  })

/** On one line, so that a message can quote it. */
const plainName = ({ name }: File): string => name.replaceAll(/\s+/g, ' ')
