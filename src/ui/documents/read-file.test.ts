// In: files of every kind. Out: their text under their name, or an error that names the file and the next
// step.
import { expect, test } from 'vitest'
import { DOCUMENTS, readFixture, startPdf } from '../../../test/conformance/testing/documents/questions.ts'
import { DOCUMENT_WORDS } from '../words/documents.ts'
import { documentSentence } from './document-error.ts'
import { kindOf, MAX_BYTES } from './kinds.ts'
import { readDocument } from './read-file.ts'

const read = (name: string, content: BlobPart, type = '') =>
  readDocument(new File([content], name, { type }), { startPdf, sizeText: (bytes) => `${bytes} B` })

test('files of every kind, written by real programs, are read', async () => {
  const texts = await Promise.all(DOCUMENTS.map(readFixture))
  expect(texts.map(({ name, text }) => [name, text.length > 4000])).toEqual(
    DOCUMENTS.map((name) => [name, true]),
  )
})

test('the file name determines the kind, otherwise the type does', () => {
  expect(['a.PDF', 'a.docx', 'b.htm', 'b.TSV', 'c.md', 'c.py', 'c'].map((name) => kindOf(name))).toEqual([
    'pdf',
    'docx',
    'html',
    'table',
    'markdown',
    'text',
    'text',
  ])
  expect([kindOf('page', 'text/html; charset=utf-8'), kindOf('a.csv', 'text/plain')]).toEqual([
    'html',
    'table',
  ])
})

test('line ends and names are normalised', async () => {
  expect(await read('a \n b.txt', 'one\r\ntwo\rthree\n\n')).toEqual({
    name: 'a b.txt',
    text: 'one\ntwo\nthree',
  })
})

test.each([
  [
    'large',
    'a.txt',
    new Uint8Array(MAX_BYTES.text + 1),
    '4000001 B; a file of this kind may be at most 4000000 B',
  ],
  ['long', 'a.txt', 'x'.repeat(1_500_001), 'Attach part of it'],
  ['empty', 'a.md', ' \n ', 'contains no text'],
  ['empty', 'a.html', '<script>x</script>', 'contains no text'],
  ['kind', 'a.xyz', Uint8Array.of(1, 0, 2), 'Attach a PDF'],
  ['damaged', 'a.docx', 'PK', 'save it again'],
  ['damaged', 'a.pdf', '%PDF-1.7', 'save it again'],
])('%s: %s', async (document, name, content, sentence) => {
  const error = await read(name, content as BlobPart).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    name: 'HalfbyteError',
    message: expect.stringContaining(sentence),
    detail: { document, name },
  })
  expect(documentSentence(error, DOCUMENT_WORDS, 'en')).toBe((error as Error).message)
  const other = { ...DOCUMENT_WORDS, [`document-${document}`]: 'Ach, {name}!' }
  expect(documentSentence(error, other, 'en')).toBe(`Ach, ${name}!`)
})

test('a file that disappeared is reported, and other errors have no sentence', async () => {
  const file = new File(['x'], 'gone.txt')
  file.arrayBuffer = () => Promise.reject(new DOMException('gone', 'NotFoundError'))
  await expect(readDocument(file, { startPdf, sizeText: String })).rejects.toMatchObject({
    detail: { document: 'damaged', name: 'gone.txt' },
  })
  expect(documentSentence(new Error('x'), DOCUMENT_WORDS, 'en')).toBeUndefined()
})
