// The English texts about documents, which the page and the widget add to their own.

export const DOCUMENT_WORDS = {
  'document-kind':
    '{name} is not a kind of file that can be read here. Attach a PDF, a Word document (.docx), a web page, a table (.csv) or text.',
  'document-large': '{name} is {size}; a file of this kind may be at most {most}. Attach part of it.',
  'document-long': '{name} is too long to read here. Attach part of it.',
  'document-locked': '{name} is locked by a password. Save a copy without one, and attach that.',
  'document-scanned': '{name} has no text: its pages are pictures. Attach a copy with recognized text (OCR).',
  'document-empty': '{name} contains no text. Attach another file.',
  'document-damaged': '{name} is damaged. Open it in its own program, save it again, and attach that copy.',
  'document-part': 'The part that reads {name} did not load. Check the connection, then attach it again.',
  documentsMany: 'A message can have at most {most} files, and this would make {count}. Attach fewer.',
  documentReading: 'Reading {name}: page {done} of {all}',
  documentsSmall: 'This model is too small to read files: it would make things up. Choose a larger model.',
  placePage: 'page {page}',
  placeLines: 'lines {from}–{to}',
  placeLine: 'line {line}',
  placeRows: 'rows {from}–{to}',
  placeRow: 'row {row}',
} as const

export type DocumentWords = { readonly [Name in keyof typeof DOCUMENT_WORDS]: string }
