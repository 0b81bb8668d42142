// Tests image tiles. In: patterns. Out: the same tiles as from transformers' Idefics3ImageProcessor, by hash;
// the positions of tiles in a prompt; and patches.
import { describe, expect, test } from 'vitest'
import { joinBytes } from '../base/bytes.ts'
import { sha256 } from '../base/sha256.ts'
import type { Pixels } from '../formats/pixels.ts'
import { cutPicture, patchesOf } from './cut-picture.ts'
import { crop, resize } from './resize.ts'
import { patternAt } from './testing/pattern.ts'
import type { Tower } from './tower.ts'

function pattern(width: number, height: number, alpha = 255): Pixels {
  const data = new Uint8ClampedArray(width * height * 4)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 4
      data.set(patternAt(x, y), at)
      data[at + 3] = alpha
    }
  }
  return { width, height, data }
}

const towerOf = (imageSize: number, more: Partial<Tower> = {}) =>
  ({
    ...{ projector: 'idefics3', imageSize, patchSize: 4, longestEdge: 4 * imageSize },
    ...{ cut: 'tiles', filter: 'lanczos', ...more },
    ...{ mean: [0.5, 0.4, 0.3], deviation: [0.5, 0.25, 0.125] },
  }) as Tower

/**
 * Width, height, side of a tile, tiles on the longest side; rows, columns (0: one tile), tiles, their
 * bytes.
 */
type Case = readonly [number, number, number, number, number, number, number, string]

/**
 * Generated with transformers 4.57.1 and Pillow 12.1.0: `Idefics3ImageProcessor(size={"longest_edge": side *
 * tiles}, max_image_size={"longest_edge": side}, do_rescale=False, do_normalize=False, do_pad=False)`.
 */
const PROCESSED: readonly Case[] = [
  [40, 21, 12, 2, 1, 2, 3, 'a839253abd0b40a13f74ca3c584cf4ff04f2ede156d724df9d0e01ba2d414beb'],
  [9, 9, 12, 1, 0, 0, 1, 'dbefeacdbdacd2a7a7cbf5bc99c32322c50abadb70ebe8b4d9e04e91591badc6'],
  [9, 12, 12, 2, 2, 2, 5, 'c62d013419888b02f27662450859e7555cc70d0005ea9b103bf3e1fed997091c'],
  [100, 37, 16, 4, 2, 4, 9, '9e3d3da49813925f7f1c130048c48ec29c0c8b24d397d6b17e11e41389d0fedb'],
  [37, 100, 16, 4, 4, 2, 9, '2d6f27c99e88840b71e13c20864c33685e419fe4ccd63fa5ca5431a7608891ee'],
  [333, 250, 24, 4, 3, 4, 13, '6425487d0e20635ad9cfcf3511fb540b551f1baba07fe970ab244ad687cb45e9'],
  [5, 50, 16, 3, 3, 1, 4, 'de98e95696e8c234adff51cf541df2f4323e67239c243527f73e4fd6689cc4c7'],
  [64, 64, 16, 4, 4, 4, 17, '83fcf840bb6d1125066cf1b3cca95a1c3ec27b85bfccccaece2f091bf4f616cc'],
]

test.each(PROCESSED)('%i x %i in tiles of %i, at most %i', async (...given) => {
  const [width, height, side, most, rows, columns, count, hash] = given
  const tower = towerOf(side, { longestEdge: side * most })
  const { tiles, parts } = cutPicture(tower, pattern(width, height))
  expect(tiles.map((tile) => [tile.width, tile.height])).toEqual(Array(count).fill([side, side]))
  expect(await sha256(joinBytes(tiles.map(({ data }) => new Uint8Array(data))))).toBe(hash)
  const frame = '<fake_token_around_image>'
  const texts = Array.from({ length: rows * columns }, (_, tile) => {
    const row = Math.floor(tile / columns)
    const column = tile % columns
    const start = row > 0 && column === 0 ? '\n' : ''
    return [`${start}${frame}<row_${row + 1}_col_${column + 1}>`, tile]
  })
  const whole = `${rows > 0 ? '\n\n' : ''}${frame}<global-img>`
  expect(parts).toEqual([...texts.flat(), whole, count - 1, frame])
})

describe('a tower that reads a single square', () => {
  const tower = towerOf(8, { cut: 'padded', filter: 'bicubic' })

  test('gets the image centred on the mean colour', () => {
    const { tiles, parts } = cutPicture(tower, pattern(8, 4))
    expect(parts).toEqual([0])
    const { data } = tiles[0]!
    const mean = [127, 102, 76]
    const pixel = (x: number, y: number) => [...data.subarray((y * 8 + x) * 3, (y * 8 + x) * 3 + 3)]
    const own = pattern(8, 4).data
    expect(pixel(3, 1)).toEqual(mean)
    expect(pixel(3, 6)).toEqual(mean)
    expect(pixel(3, 2)).toEqual([...own.subarray(3 * 4, 3 * 4 + 3)])
    expect(pixel(7, 5)).toEqual([...own.subarray((3 * 8 + 7) * 4, (3 * 8 + 7) * 4 + 3)])
  })

  test('sees white where an image is transparent', () => {
    const { tiles } = cutPicture(tower, pattern(8, 8, 0))
    expect([...tiles[0]!.data]).toEqual(Array(192).fill(255))
  })
})

describe('a thin image', () => {
  const sizes = [
    [3, 60],
    [60, 3],
    [1, 41],
    [41, 1],
    [2, 2],
    [7, 40],
  ] as const

  test.each(sizes)('of %i x %i is padded without creating the whole square', (width, height) => {
    const tower = towerOf(8, { cut: 'padded', filter: 'bicubic' })
    const side = Math.max(width, height)
    const colour = tower.mean.map((value) => Math.trunc(value * 255))
    const square = { width: side, height: side, data: new Uint8ClampedArray(side * side * 4) }
    for (let at = 0; at < square.data.length; at += 4) square.data.set([...colour, 255], at)
    const { data } = pattern(width, height)
    for (let y = 0; y < height; y++) {
      const start = ((y + ((side - height) >> 1)) * side + ((side - width) >> 1)) * 4
      square.data.set(data.subarray(y * width * 4, (y + 1) * width * 4), start)
    }
    const drawn = cutPicture({ ...tower, cut: 'stretched' }, square)
    expect(cutPicture(tower, pattern(width, height)).tiles).toEqual(drawn.tiles)
  })

  test.each(sizes)('of %i x %i is cropped as if the whole image were resized', (width, height) => {
    const tower = towerOf(8, { cut: 'cropped', filter: 'bicubic', shortestEdge: 9 })
    const side = (own: number) => Math.trunc((9 * own) / Math.min(width, height))
    const rgb = pattern(width, height).data.filter((_, at) => at % 4 < 3)
    const whole = resize({ width, height, data: rgb }, side(width), side(height), 'bicubic')
    const left = (whole.width - 8) >> 1
    const middle = crop(whole, left, (whole.height - 8) >> 1, 8, 8)
    expect(cutPicture(tower, pattern(width, height)).tiles).toEqual([middle])
  })

  test.each(['padded', 'cropped', 'stretched', 'tiles'] as const)('with the longest side is %s', (cut) => {
    const tower = towerOf(336, { cut, filter: 'bicubic', shortestEdge: 336 })
    for (const [width, height] of [
      [1 << 14, 1],
      [1, 1 << 14],
    ] as const) {
      const { tiles } = cutPicture(tower, pattern(width, height))
      expect(tiles.map((tile) => tile.data.length)).toEqual(Array(tiles.length).fill(336 * 336 * 3))
      expect(tiles.length).toBeLessThanOrEqual(5)
    }
  })
})

test('patches are ordered row by row, and each patch channel by channel', () => {
  const tower = towerOf(8)
  const tile = cutPicture({ ...tower, cut: 'padded' }, pattern(8, 8)).tiles[0]!
  const { data } = tile
  const patches = patchesOf(tower, tile)
  const valueAt = (patch: number, channel: number, y: number, x: number) => {
    const top = Math.floor(patch / 2) * 4
    const left = (patch % 2) * 4
    const value = data[((top + y) * 8 + left + x) * 3 + channel]!
    return Math.fround((value / 255 - tower.mean[channel]!) / tower.deviation[channel]!)
  }
  const expected = Float32Array.from({ length: 192 }, (_, i) =>
    valueAt(Math.floor(i / 48), Math.floor(i / 16) % 3, Math.floor(i / 4) % 4, i % 4),
  )
  expect(patches).toEqual(expected)
})

test.each([
  [{ ...pattern(3, 3), width: 4 }, '4 x 3 pixels in 36 bytes'],
  [{ width: 0, height: 0, data: new Uint8ClampedArray() }, '0 x 0'],
  [{ width: 1.5, height: 2, data: new Uint8ClampedArray(12) }, '1.5 x 2'],
  [{ width: 20_000, height: 1, data: new Uint8ClampedArray(80_000) }, '20000 x 1'],
])('an image with an impossible size is rejected: %#', (pixels, words) => {
  expect(() => cutPicture(towerOf(8), pixels)).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringContaining(words) }),
  )
})
