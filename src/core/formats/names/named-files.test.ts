// Tests named files. In: names from hostile files, and any text. Out: an address in the folder, or a typed
// error.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../base/errors.ts'
import { addressInside, givenPlace, pathInside } from './named-files.ts'

const FOLDERS = [
  'https://models.example/',
  'https://models.example/a/b%20c/',
  'http://127.0.0.1:8080/owner/name/resolve/main/',
  'models/qwen/',
  '/models/',
]
/** Building blocks of path attacks. */
const PIECES = [
  '.',
  '..',
  '/',
  '//',
  '\\',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5c',
  '%',
  '%00',
  '?',
  '#',
  ':',
  '@',
  ' ',
]
const SIGNS = [
  '\t',
  '\n',
  '\r',
  '\0',
  '\u00a0',
  '\u2028',
  '\u3000',
  '\uff0e',
  '\uff0f',
  '\ud800',
  '\udc00',
  '\ufeff',
]
const WORDS = [
  'w.bin',
  'https:',
  'other.example',
  'file',
  'c:',
  '~',
  'x=1',
  'é',
  '😀',
  'model-00001-of-00002',
]
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.constantFrom(...SIGNS), fc.constantFrom(...WORDS)), {
    maxLength: 8,
  })
  .map((pieces) => pieces.join(''))
const names = fc.oneof(
  hostile,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
    .map((units) => String.fromCharCode(...units)),
)

const page = (address: string) => new URL(address, 'https://page.example/place/').href

test('for any text the address begins with the folder’s address, or a format error is thrown', () => {
  let inside = 0
  fc.assert(
    fc.property(fc.constantFrom(...FOLDERS), names, (folder, name) => {
      let address: string
      try {
        address = addressInside(givenPlace(folder), name, 'm.onnx')
      } catch (error) {
        return isHalfbyteError(error) && error.code === 'format'
      }
      inside++
      const from = new URL(page(folder))
      const to = new URL(page(address))
      return (
        address.startsWith(folder) &&
        to.href.startsWith(from.href) &&
        to.href.length > from.href.length &&
        to.search === '' &&
        to.hash === '' &&
        !to.pathname.includes('//') &&
        // However often a server decodes the path, it stays in the folder.
        !decodeURIComponent(to.pathname).split(/[/\\]/).includes('..')
      )
    }),
    { numRuns: 20_000 },
  )
  expect(inside).toBeGreaterThan(500)
})

test('the address has the same parts as the accepted path', () => {
  fc.assert(
    fc.property(hostile, (name) => {
      let path: string
      try {
        path = pathInside(name, 'm.onnx')
      } catch {
        return true
      }
      const address = addressInside(givenPlace('https://models.example/f/'), name, 'm.onnx')
      return decodeURIComponent(address) === `https://models.example/f/${path}`
    }),
    { numRuns: 5000 },
  )
})

test.each([
  ['w.bin', 'w.bin'],
  ['./w.bin', 'w.bin'],
  ['././data/layer 1.bin', 'data/layer%201.bin'],
  ['model.onnx_data', 'model.onnx_data'],
  ['100%.bin', '100%25.bin'],
  ['gewichte-é.bin', 'gewichte-%C3%A9.bin'],
  ['a&b=c;d+e@f.bin', 'a%26b%3Dc%3Bd%2Be%40f.bin'],
])('the name %s becomes %s', (name, path) => {
  expect(addressInside(givenPlace('https://models.example/f/'), name, 'm.onnx')).toBe(
    `https://models.example/f/${path}`,
  )
})

describe('a name that could refer to a file outside the folder is rejected with the reason', () => {
  test.each([
    ['', 'empty part'],
    ['./', 'empty part'],
    ['.///other.host/x?y', '\\?'],
    ['.///other.host/x', 'empty part'],
    [' //host/x', 'empty part|space'],
    ['%2e%2e/x', 'percent-encoded'],
    ['.%2e/x', 'percent-encoded'],
    ['.\t./x', 'control character'],
    ['w.bin?delete=1', 'character \\?'],
    ['w.bin#x', 'character #'],
    ['..\\w.bin', 'character'],
    ['C:w.bin', 'character :'],
    ['https://x/w.bin', 'character :'],
    ['../w.bin', 'consists of dots'],
    ['a/../../w.bin', 'consists of dots'],
    ['a/./w.bin', 'consists of dots'],
    ['/etc/passwd', 'starts at the root'],
    ['a//w.bin', 'empty part'],
    ['a/', 'empty part'],
    ['w.bin ', 'space'],
    ['a./w.bin', 'dot'],
    ['\ud800.bin', 'valid text'],
    ['x'.repeat(1025), '1025 characters'],
  ])('%j', (name, reason) => {
    expect(() => addressInside(givenPlace('https://models.example/f/'), name, 'm.onnx: tensor w')).toThrow(
      expect.objectContaining({
        code: 'format',
        message: expect.stringMatching(`^m.onnx: tensor w names .*(${reason})`),
      }),
    )
  })
})
