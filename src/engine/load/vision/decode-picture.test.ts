// Pictures decoded outside a browser. In: PNG and JPEG files of all kinds, turned, forged and cut. Out: their
// pixels, or the reason why there are none.
import { deflateSync } from 'node:zlib'
import { encode as encodePng } from 'fast-png'
import { encode as encodeJpeg } from 'jpeg-js'
import { describe, expect, test } from 'vitest'
import { decodePicture } from './decode-picture.ts'

/** 2 x 2: black, white, a red and a blue, of full opacity but the last. */
const COLOURS = [0, 0, 0, 255, 255, 255, 255, 255, 200, 10, 20, 255, 30, 40, 250, 128]

const chunk = (name: string, data: Uint8Array) => {
  const out = new Uint8Array(12 + data.length)
  const view = new DataView(out.buffer)
  view.setUint32(0, data.length)
  out.set(new TextEncoder().encode(name), 4)
  out.set(data, 8)
  view.setUint32(8 + data.length, crc(out.subarray(4, 8 + data.length)))
  return out
}
function crc(bytes: Uint8Array): number {
  let sum = ~0
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0)
  }
  return ~sum >>> 0
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

  test('claims of impossible sizes, damage and cuts have a reason', () => {
    const whole = png({ width: 3, height: 2, depth: 8, type: 0 }, [
      [1, 2, 3],
      [4, 5, 6],
    ])
    for (let length = 0; length < whole.length - 12; length++)
      expect(() => decodePicture(whole.subarray(0, length)), `${length}`).toThrow(/\S/)
    const huge = png({ width: 2 ** 31 - 1, height: 2 ** 31 - 1, depth: 8, type: 0 }, [[1]])
    expect(() => decodePicture(huge)).toThrow(/its header claims \d+ pixels/)
    expect(() => decodePicture(png({ width: 0, height: 5, depth: 8, type: 0 }, []))).toThrow(
      /claims 0 pixels/,
    )
    const damaged = Uint8Array.from(whole)
    damaged[45]! ^= 1
    expect(() => decodePicture(damaged)).toThrow(/\S/)
  })
})

describe('JPEG', () => {
  /** Four quarters: black, white, red, blue, from the upper left. */
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
  /** The nearest of the four colours in the middle of each quarter. */
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
    // What is in the quarters of the upright picture.
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

  test('a cut file has pixels or a reason, and a forged size a reason', () => {
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
    expect(() => decodePicture(forged)).toThrow(/maxResolutionInMP|limit|exceeded/i)
  })
})

test('other types are refused by name', () => {
  expect(() => decodePicture(new TextEncoder().encode('RIFF....WEBPVP8 '))).toThrow(/only PNG and JPEG/)
  expect(() => decodePicture(new Uint8Array(0))).toThrow(/only PNG and JPEG/)
})
