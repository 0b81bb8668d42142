// In: Word documents: one from a real program, generated, damaged and hostile ones. Out: their text, or a
// typed error.
import { expect, test } from 'vitest'
import { zipFile } from '../../../../test/conformance/testing/documents/zip-file.ts'
import { fixture } from '../../../../test/helpers/fixture.ts'
import { MAX_EXPANDED } from '../kinds.ts'
import { docxText } from './docx-text.ts'

const read = (bytes: Uint8Array<ArrayBuffer>) => docxText('a.docx', bytes)
const fault = (document: string) => ({ name: 'HalfbyteError', detail: { document, name: 'a.docx' } })
const paragraph = (text: string, properties = '') =>
  `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`
const document = (body: string) =>
  `<?xml version="1.0"?><w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`
const docx = (body: string, more: Readonly<Record<string, string>> = {}) =>
  zipFile({ 'word/document.xml': document(body), ...more })

test('a document of a real program has headings, paragraphs, a table and a list', async () => {
  const text = await read(fixture('documents/ironclad.docx'))
  expect(text).toMatch(/^# Ironclad warship\n\nAn ironclad is a steam-propelled warship/)
  expect(text.match(/^#+ .*$/gm)).toEqual(expect.arrayContaining(['# The ironclad', '## Steam propulsion']))
  expect(text).toContain('Ship | Navy | Launched\nGloire | French | 1859\nHMS Warrior | British | 1860')
  expect(text).toMatch(/\n\nA metal-skinned hull\n/)
})

test('styles name headings in any language; deleted text, fields and fallbacks are left out', async () => {
  const styles = `<w:styles><w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>`
  const body = [
    paragraph('Kapitel', '<w:pStyle w:val="berschrift2"/>'),
    '<w:p><w:r><w:t>Old</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:tab/><w:t xml:space="preserve">new &amp; young</w:t></w:r></w:p>',
    '<w:p><w:r><w:instrText>PAGE</w:instrText><w:t>seen</w:t></w:r></w:p>',
    '<w:p><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:p><w:r><w:t>twice</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent><w:r><w:t>around</w:t></w:r></w:p>',
    paragraph('item', '<w:numPr><w:ilvl w:val="1"/></w:numPr>'),
    '<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>inner</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>',
  ].join('')
  const notes = `<w:footnotes>${paragraph('a note')}</w:footnotes>`
  expect(await read(docx(body, { 'word/styles.xml': styles, 'word/footnotes.xml': notes }))).toBe(
    '## Kapitel\n\nOld new & young\n\nseen\n\nbox\n\naround\n\n  - item\n\na inner | b\n\na note',
  )
})

test('entities that a document defines are not expanded', async () => {
  const bomb = `<!DOCTYPE x [<!ENTITY a "${'ha'.repeat(50)}">]>${document(paragraph('&a;'))}`
  expect(await read(zipFile({ 'word/document.xml': bomb }))).toBe('&a;')
})

test('decompressing a bomb stops at the limit, whatever size it announces', async () => {
  const zeros = new Uint8Array(MAX_EXPANDED + 1)
  await expect(read(zipFile({ 'word/document.xml': zeros }))).rejects.toMatchObject(fault('long'))
  const lying = zipFile({ 'word/document.xml': zeros }, { announced: 1000 })
  expect(lying.length).toBeLessThan(50_000)
  await expect(read(lying)).rejects.toMatchObject(fault('long'))
})

test('locked, old and other files are rejected with their next step', async () => {
  const locked = zipFile({ 'word/document.xml': 'x' }, { isEncrypted: true })
  await expect(read(locked)).rejects.toMatchObject(fault('locked'))
  const compound = Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, ...Buffer.from('EncryptedPackage', 'utf16le'))
  await expect(read(compound)).rejects.toMatchObject(fault('locked'))
  await expect(read(compound.slice(0, 12))).rejects.toMatchObject(fault('kind'))
  await expect(read(zipFile({ 'xl/workbook.xml': '<x/>' }))).rejects.toMatchObject(fault('kind'))
  await expect(read(new Uint8Array())).rejects.toMatchObject(fault('damaged'))
})

test('a small document that is truncated anywhere, or has a changed byte, gives text or a typed error', async () => {
  const bytes = docx(paragraph('Hello'))
  const outcomes = new Set<string>()
  const tryOne = async (forged: Uint8Array<ArrayBuffer>) =>
    outcomes.add(
      await read(forged).then(
        (text) => (text === 'Hello' ? 'whole' : 'other text'),
        (error) => error.detail.document,
      ),
    )
  for (let at = 0; at < bytes.length; at++) {
    await tryOne(bytes.slice(0, at))
    for (const change of [0x01, 0xff])
      await tryOne(bytes.map((byte, index) => (index === at ? byte ^ change : byte)))
  }
  // Names of entries and unused fields have no checksum; the text has one.
  expect([...outcomes].sort()).toEqual(['damaged', 'kind', 'locked', 'long', 'whole'])
})
