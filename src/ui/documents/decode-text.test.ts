// In: texts in many encodings, and bytes that are not text. Out: the text, or undefined.
import { expect, test } from 'vitest'
import { decodeText } from './decode-text.ts'

const TEXT = 'Zwölf Boxkämpfer: naïve cafés, 12 €.\nEnde'
const utf16 = (text: string, isBig: boolean, mark = '') => {
  const bytes = Buffer.from(mark + text, 'utf16le')
  return isBig ? bytes.swap16() : bytes
}
/** Windows-1252 is Latin-1 except for a few signs such as the euro. */
const windows1252 = (text: string) => Buffer.from(text.replaceAll('€', '\x80'), 'latin1')

test.each([
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${TEXT}`)],
  ['UTF-16LE with a mark', utf16(TEXT, false, '\ufeff')],
  ['UTF-16BE with a mark', utf16(TEXT, true, '\ufeff')],
  ['UTF-16LE', utf16(TEXT, false)],
  ['UTF-16BE', utf16(TEXT, true)],
  ['Windows-1252', windows1252(TEXT)],
])('%s is decoded', (_, bytes) => {
  expect(decodeText(bytes)).toBe(TEXT)
})

test('a web page in its declared encoding, and UTF-16 without Latin letters', () => {
  const page = Buffer.concat([
    Buffer.from('<meta charset="windows-1251"><p>'),
    Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]),
  ])
  expect(decodeText(page)).toMatch(/Привет$/)
  expect(decodeText(utf16('人が 木の下で', false))).toBe('人が 木の下で')
})

test('pictures, archives and cut UTF-16 are not text', () => {
  for (const bytes of [
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13),
    Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0, 0, 0),
    Uint8Array.of(0xff, 0xfe, 0xfd),
    Buffer.from('a\0b'),
  ])
    expect(decodeText(bytes)).toBeUndefined()
})
