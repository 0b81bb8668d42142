// Tests image headers. In: the first bytes of GIF and WebP files, and whole PNG and JPEG files, with forged
// dimensions. Out: the file type, or an error before anything is decoded.
import { encode as encodePng } from 'fast-png'
import { encode as encodeJpeg } from 'jpeg-js'
import { expect, test } from 'vitest'
import { checkPicture, kindOf } from './check-picture.ts'

const text = (words: string) => [...words].map((letter) => letter.charCodeAt(0))
const u16 = (value: number) => [value & 255, value >> 8]
const u24 = (value: number) => [value & 255, (value >> 8) & 255, value >> 16]
const riff = (chunk: string, ...content: number[]) =>
  Uint8Array.from([
    ...text('RIFF'),
    0,
    0,
    0,
    0,
    ...text('WEBP'),
    ...text(chunk),
    0,
    0,
    0,
    0,
    ...content,
    ...Array(10).fill(0),
  ])
const lossless = (width: number, height: number) => {
  const bits = (width - 1) | ((height - 1) << 14)
  return riff('VP8L', 0x2f, bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, (bits >> 24) & 255)
}
const square = { width: 2, height: 2, data: new Uint8Array(16) }

test.each([
  ['gif', (side: number) => Uint8Array.from([...text('GIF89a'), ...u16(side), ...u16(side)])],
  ['webp', (side: number) => riff('VP8X', 0, 0, 0, 0, ...u24(side - 1), ...u24(side - 1))],
  [
    'webp',
    (side: number) => riff('VP8 ', 0, 0, 0, 0x9d, 1, 0x2a, ...u16(side & 0x3fff), ...u16(side & 0x3fff)),
  ],
  ['webp', (side: number) => lossless(side, side)],
] as const)('%s: dimensions within the limits pass, others are rejected', (kind, fileOf) => {
  expect(kindOf(fileOf(40))).toBe(kind)
  expect(() => checkPicture(fileOf(40))).not.toThrow()
  expect(() => checkPicture(fileOf(8193))).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringContaining('8193 x 8193 pixels') }),
  )
  expect(() => checkPicture(fileOf(40).subarray(0, kind === 'gif' ? 9 : 20))).toThrow('ends early')
})

test('PNG and JPEG get the same checks as in the decoders, and other types pass', () => {
  const png = encodePng({ ...square, channels: 4 })
  const jpeg = Uint8Array.from(encodeJpeg(square, 80).data)
  expect([png, jpeg].map(kindOf)).toEqual(['png', 'jpeg'])
  for (const file of [png, jpeg, Uint8Array.from(text('BM')), new Uint8Array()])
    expect(() => checkPicture(file)).not.toThrow()
  const frame = jpeg.findIndex((byte, at) => byte === 0xff && jpeg[at + 1] === 0xc0)
  jpeg.set([0x27, 0x08, 0x27, 0x08], frame + 5)
  expect(() => checkPicture(jpeg)).toThrow(/9992 x 9992 pixels; pass one of/)
  expect(() => checkPicture(png.subarray(0, 40))).toThrow(/ends early|beyond its end/)
})
