// Images decoded outside a browser. In: PNG and JPEG files of all kinds, rotated, forged and truncated.
// Out: their pixels, or the reason why they cannot be decoded.
import { deflateSync } from 'node:zlib'
import { encode as encodePng } from 'fast-png'
import { encode as encodeJpeg } from 'jpeg-js'
import { describe, expect, test } from 'vitest'
import { pngOf } from '../../../../test/fuzz/mutate/picture-files.ts'
import { sha256 } from '../../../core/base/sha256.ts'
import { crc32 } from '../../../core/formats/pictures/crc32.ts'
import PILLOW from './decode/testing/pillow.json' with { type: 'json' }
import { decodePicture } from './decode-picture.ts'

/** 2 x 2 pixels: black, white, red and blue, opaque except the last. */
const COLOURS = [0, 0, 0, 255, 255, 255, 255, 255, 200, 10, 20, 255, 30, 40, 250, 128]

const chunk = (name: string, data: Uint8Array) => {
  const out = new Uint8Array(12 + data.length)
  const view = new DataView(out.buffer)
  view.setUint32(0, data.length)
  out.set(new TextEncoder().encode(name), 4)
  out.set(data, 8)
  view.setUint32(8 + data.length, crc32(out.subarray(4, 8 + data.length)))
  return out
}
/** `type`: 0 grey, 2 colours, 3 a palette. `rows` have no filter. */
function png(
  { width, height, depth, type }: { width: number; height: number; depth: number; type: number },
  rows: readonly (readonly number[])[],
  more: Readonly<Record<string, readonly number[]>> = {},
): Uint8Array {
  const head = new Uint8Array(13)
  const view = new DataView(head.buffer)
  view.setUint32(0, width)
  view.setUint32(4, height)
  head.set([depth, type, 0, 0, 0], 8)
  const data = deflateSync(Uint8Array.from(rows.flatMap((row) => [0, ...row])))
  return Buffer.concat([
    Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk('IHDR', head),
    ...Object.entries(more).map(([name, bytes]) => chunk(name, Uint8Array.from(bytes))),
    chunk('IDAT', data),
    chunk('IEND', new Uint8Array(0)),
  ])
}
const pixelsOf = (bytes: Uint8Array) => [...decodePicture(bytes).data]

describe('PNG', () => {
  test('colours with and without opacity, grey, and 16 bits', () => {
    const rgba = { width: 2, height: 2, data: Uint8Array.from(COLOURS), channels: 4 }
    expect(pixelsOf(encodePng(rgba))).toEqual(COLOURS)
    const colours = COLOURS.filter((_, at) => at % 4 < 3)
    const opaque = COLOURS.map((value, at) => (at % 4 === 3 ? 255 : value))
    expect(pixelsOf(encodePng({ ...rgba, data: Uint8Array.from(colours), channels: 3 }))).toEqual(opaque)
    const deep = { ...rgba, depth: 16 as const, data: Uint16Array.from(COLOURS, (value) => value * 257) }
    expect(pixelsOf(encodePng(deep))).toEqual(COLOURS)
    // The low byte is dropped, as in Chromium and Pillow.
    const odd = {
      width: 1,
      height: 1,
      depth: 16 as const,
      data: Uint16Array.of(255, 256, 65_535),
      channels: 3,
    }
    expect(pixelsOf(encodePng(odd))).toEqual([0, 1, 255, 255])
    const grey = { width: 2, height: 1, data: Uint8Array.of(7, 90), channels: 1 }
    expect(pixelsOf(encodePng(grey))).toEqual([7, 7, 7, 255, 90, 90, 90, 255])
    const veiled = { width: 1, height: 1, data: Uint8Array.of(7, 90), channels: 2 }
    expect(pixelsOf(encodePng(veiled))).toEqual([7, 7, 7, 90])
  })

  test('packed samples, palettes and a transparent colour', () => {
    const bits = { width: 3, height: 2, depth: 1, type: 0 }
    const level = (value: number, opacity = 255) => [value, value, value, opacity]
    expect(pixelsOf(png(bits, [[0b10100000], [0b01000000]]))).toEqual(
      [255, 0, 255, 0, 255, 0].flatMap((value) => level(value)),
    )
    const quarters = { width: 3, height: 1, depth: 2, type: 0 }
    expect(pixelsOf(png(quarters, [[0b00011100]], { tRNS: [0, 1] }))).toEqual([
      ...level(0),
      ...level(85, 0),
      ...level(255),
    ])
    const palette = { width: 3, height: 1, depth: 2, type: 3 }
    const PLTE = [1, 2, 3, 40, 50, 60, 7, 8, 9]
    expect(pixelsOf(png(palette, [[0b01100000]], { PLTE }))).toEqual([
      40, 50, 60, 255, 7, 8, 9, 255, 1, 2, 3, 255,
    ])
    expect(pixelsOf(png(palette, [[0b01100000]], { PLTE, tRNS: [9, 128] }))).toEqual([
      40, 50, 60, 128, 7, 8, 9, 255, 1, 2, 3, 9,
    ])
    const red = { width: 3, height: 1, depth: 8, type: 2 }
    expect(pixelsOf(png(red, [[200, 0, 0, 9, 9, 9, 1, 2, 3]], { tRNS: [0, 200, 0, 0, 0, 0] }))).toEqual([
      200, 0, 0, 0, 9, 9, 9, 255, 1, 2, 3, 255,
    ])
  })

  test('impossible sizes, damage and truncation are rejected with a reason', () => {
    const whole = png({ width: 3, height: 2, depth: 8, type: 0 }, [
      [1, 2, 3],
      [4, 5, 6],
    ])
    for (let length = 0; length < whole.length - 12; length++)
      expect(() => decodePicture(whole.subarray(0, length)), `${length}`).toThrow(/\S/)
    const huge = png({ width: 2 ** 31 - 1, height: 2 ** 31 - 1, depth: 8, type: 0 }, [[1]])
    expect(() => decodePicture(huge)).toThrow(/2147483647 x 2147483647 pixels/)
    expect(() => decodePicture(png({ width: 0, height: 5, depth: 8, type: 0 }, []))).toThrow(/0 x 5 pixels/)
    const damaged = Uint8Array.from(whole)
    damaged[45]! ^= 1
    expect(() => decodePicture(damaged)).toThrow(/\S/)
  })
})

describe('JPEG', () => {
  /** Four quarters: black, white, red, blue, starting at the upper left. */
  const SIZE = { width: 32, height: 48 }
  const quarters = [
    [0, 0, 0],
    [255, 255, 255],
    [255, 0, 0],
    [0, 0, 255],
  ]
  const data = new Uint8Array(4 * SIZE.width * SIZE.height)
  for (let y = 0; y < SIZE.height; y++) {
    for (let x = 0; x < SIZE.width; x++) {
      const quarter = (x >= SIZE.width / 2 ? 1 : 0) + (y >= SIZE.height / 2 ? 2 : 0)
      data.set([...quarters[quarter]!, 255], 4 * (y * SIZE.width + x))
    }
  }
  const plain = new Uint8Array(encodeJpeg({ ...SIZE, data }, 95).data)

  /** With an Exif segment of one entry. */
  function oriented(turn: number, little: boolean): Uint8Array {
    const segment = new Uint8Array(36)
    const view = new DataView(segment.buffer)
    view.setUint16(0, 0xffe1)
    view.setUint16(2, 34)
    segment.set(new TextEncoder().encode('Exif'), 4)
    view.setUint16(10, little ? 0x4949 : 0x4d4d)
    view.setUint16(12, 42, little)
    view.setUint32(14, 8, little)
    view.setUint16(18, 1, little)
    view.setUint16(20, 274, little)
    view.setUint16(22, 3, little)
    view.setUint32(24, 1, little)
    view.setUint16(28, turn, little)
    return Buffer.concat([plain.subarray(0, 2), segment, plain.subarray(2)])
  }
  /** The nearest of the four colours at the centre of each quarter. */
  function seen(bytes: Uint8Array): { size: readonly number[]; order: readonly number[] } {
    const { width, height, data: pixels } = decodePicture(bytes)
    const order = [0, 1, 2, 3].map((quarter) => {
      const x = Math.floor(width * (quarter % 2 === 0 ? 0.25 : 0.75))
      const y = Math.floor(height * (quarter < 2 ? 0.25 : 0.75))
      const at = 4 * (y * width + x)
      expect(pixels[at + 3]).toBe(255)
      return quarters.findIndex((colour) =>
        colour.every((value, i) => Math.abs(value - pixels[at + i]!) < 24),
      )
    })
    return { size: [width, height], order }
  }

  test('is upright in each of the eight orientations, in both byte orders', () => {
    // The colours of the upright image's quarters.
    const orders = ['0123', '1032', '3210', '2301', '0213', '2031', '3120', '1302']
    for (const [at, order] of orders.entries()) {
      const expected = {
        size: at < 4 ? [32, 48] : [48, 32],
        order: [...order].map(Number),
      }
      expect(seen(oriented(at + 1, true)), `${at + 1}`).toEqual(expected)
      expect(seen(oriented(at + 1, false)), `${at + 1}`).toEqual(expected)
    }
    expect(seen(plain).order).toEqual([0, 1, 2, 3])
    expect(seen(oriented(9, true)).order).toEqual([0, 1, 2, 3])
  })

  test('a truncated file gives pixels or an error, and a forged size gives an error', () => {
    const whole = oriented(6, true)
    for (let length = 3; length < 700; length += 7) {
      try {
        expect(decodePicture(whole.subarray(0, length)).data.length).toBeGreaterThan(0)
      } catch (error) {
        expect((error as Error).message).not.toBe('')
      }
    }
    const forged = Uint8Array.from(plain)
    const frame = forged.findIndex((byte, at) => byte === 0xff && forged[at + 1] === 0xc0)
    forged.set([0xff, 0xff, 0xff, 0xff], frame + 5)
    expect(() => decodePicture(forged)).toThrow(/65535 x 65535 pixels/)
  })
})

/**
 * Made by Pillow 13.0.0 with libjpeg-turbo 3.2.0 from a pattern of 21 x 19: `Image.save(quality=40,
 * optimize=True)` and the SHA-256 of `Image.open(...).convert('RGB')`. For 4:4:0, a 4:2:2 file is relabelled.
 */
test.each(PILLOW)(
  'a JPEG of $name decodes to the same bytes as in Pillow',
  async ({ width, height, sha256: hash, file }) => {
    const pixels = decodePicture(Uint8Array.from(Buffer.from(file, 'base64')))
    expect([pixels.width, pixels.height]).toEqual([width, height])
    expect(await sha256(Uint8Array.from(pixels.data.filter((_, at) => at % 4 < 3)))).toBe(hash)
    expect(pixels.data.every((value, at) => at % 4 < 3 || value === 255)).toBe(true)
  },
)

describe('an image that claims more pixels than its bytes can contain is rejected before it is decoded', () => {
  const bomb = deflateSync(Buffer.alloc(1 << 24))
  const refused = (bytes: Uint8Array) => {
    try {
      decodePicture(bytes)
      return 'decoded'
    } catch (error) {
      return (error as Error).message
    }
  }

  test('PNG', () => {
    expect(refused(pngOf(1, 1, [['IDAT', bomb]]))).toMatch(/more than the 4 bytes that its header says/)
    expect(refused(pngOf(2, 1, [['IDAT', deflateSync(Buffer.alloc(4))]]))).toMatch(/to 4 bytes.* says 7/)
    expect(refused(pngOf(9000, 7000, [['IDAT', bomb]]))).toMatch(
      /bytes of pixels are too few for 9000 x 7000/,
    )
    expect(refused(pngOf(16_385, 1, [['IDAT', bomb]]))).toMatch(/16385 x 1 pixels; pass one of 1 to 16384/)
    const profile = Buffer.concat([Buffer.from('x\0\0'), bomb])
    const pixel = deflateSync(Buffer.from([0, 1, 2, 3]))
    expect(
      pixelsOf(
        pngOf(1, 1, [
          ['iCCP', profile],
          ['IDAT', pixel],
        ]),
      ),
    ).toEqual([1, 2, 3, 255])
    const deep = png({ width: 8192, height: 8192, depth: 16, type: 6 }, [])
    expect(refused(deep)).toMatch(/536879104 bytes of rows, but at most 268468224/)
  })

  test('JPEG', () => {
    const frame = (sides: readonly number[]) =>
      [0xff, 0xd8, 0xff, 0xc2, 0, 11, 8, ...sides, 1, 1, 0x11, 0] as const
    const scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0]
    const large = frame([0x20, 0, 0x20, 0])
    expect(refused(Uint8Array.of(...large, ...scan, 0xff, 0xd9))).toMatch(
      /27 bytes are too few for 8192 x 8192/,
    )
    const scans = Array(33).fill(scan).flat()
    expect(refused(Uint8Array.of(...large, ...scans, 0xff, 0xd9))).toMatch(
      /steps in its scans, but at most 33554432/,
    )
    expect(refused(Uint8Array.of(...frame([0x27, 0x08, 0x27, 0x08]), ...scan))).toMatch(
      /9992 x 9992 pixels; pass/,
    )
    expect(refused(Uint8Array.of(...large, ...large.slice(2), ...scan))).toMatch(/two frames/)
    expect(refused(Uint8Array.of(...large, 0xff, 0xcc, 0, 2, ...scan))).toMatch(/marker 0xcc/)
  })
})

test('other types are rejected by name', () => {
  expect(() => decodePicture(new TextEncoder().encode('RIFF....WEBPVP8 '))).toThrow(/only PNG and JPEG/)
  expect(() => decodePicture(new Uint8Array(0))).toThrow(/only PNG and JPEG/)
})
