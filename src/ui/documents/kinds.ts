// Kinds of documents, recognized by their names and types, and how large each may be.

type DocumentKind = 'pdf' | 'docx' | 'html' | 'table' | 'markdown' | 'text'

/** Maximum bytes of a file of each kind. A compressed file expands to at most `MAX_EXPANDED`. */
export const MAX_BYTES: Readonly<Record<DocumentKind, number>> = {
  pdf: 20e6,
  docx: 20e6,
  html: 8e6,
  table: 4e6,
  markdown: 4e6,
  text: 4e6,
}
/** Maximum bytes of one part of a compressed file. */
export const MAX_EXPANDED = 32e6
/** Maximum characters of a document's text: about 500 dense pages. */
export const MAX_LETTERS = 1_500_000
export const MAX_PAGES = 2000
/** Maximum number of documents in one message. */
export const MAX_DOCUMENTS = 8

const NAMES: readonly (readonly [RegExp, DocumentKind])[] = [
  [/\.pdf$/i, 'pdf'],
  [/\.docx$/i, 'docx'],
  [/\.(?:x?html?)$/i, 'html'],
  [/\.(?:csv|tsv|tab)$/i, 'table'],
  [/\.(?:md|markdown)$/i, 'markdown'],
]

const TYPES: ReadonlyMap<string, DocumentKind> = new Map(
  Object.entries({
    'application/pdf': 'pdf',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'text/html': 'html',
    'application/xhtml+xml': 'html',
    'text/csv': 'table',
    'text/tab-separated-values': 'table',
    'text/markdown': 'markdown',
  }),
)

/** The kind of a file. Any other file may be plain text; its bytes decide. */
export const kindOf = (name: string, type = ''): DocumentKind =>
  NAMES.find(([pattern]) => pattern.test(name))?.[1] ?? TYPES.get(type.split(';', 1)[0] ?? '') ?? 'text'

/**
 * True if lines that begin with `#` are headings in the text that was read from a file of this name. In
 * scripts and settings they are comments. Texts without a file have no file name extension.
 */
export const hasHeadings = (name: string): boolean =>
  ['docx', 'html', 'markdown'].includes(kindOf(name)) || !/\.\w{1,8}$/.test(name)

/** For the file picker. */
export const ACCEPTED = '.pdf,.docx,.html,.htm,.csv,.tsv,.md,.markdown,.txt,.log,.json,.xml,text/*'
