// Tests resized images. In: patterns of odd sizes. Out: the same bytes as from Pillow, by hash.
import { expect, test } from 'vitest'
import { sha256 } from '../base/sha256.ts'
import { crop, type Filter, type Picture, resize, resizeRows } from './resize.ts'
import { patternAt } from './testing/pattern.ts'

function pattern(width: number, height: number): Picture {
  const data = new Uint8ClampedArray(width * height * 3)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = (y * width + x) * 3
      data.set(patternAt(x, y), at)
    }
  }
  return { width, height, data }
}

/** Generated with Pillow 12.1.0: `Image.fromarray(pattern).resize((width, height), filter)`. */
const PILLOW: readonly (readonly [number, number, number, number, Filter, string])[] = [
  [37, 23, 16, 16, 'bilinear', 'bb947380b8afd08e6e3be3601a17dfdb8f4e2ec1e94596647a8493878f10a0d5'],
  [37, 23, 16, 16, 'bicubic', '9a96c25c98abd287e0353d590fd6aeee90374b7aa4530442ffa30978980df720'],
  [37, 23, 16, 16, 'lanczos', 'cade0ff810e59aa83cdd95cff6d4b73101480c4710a8f4d187e4e42e2239f787'],
  [16, 16, 37, 23, 'bilinear', 'eabbea3626fc0c11c26ab299cd7da530fd28a04d250949b3a30b8957918f11bb'],
  [16, 16, 37, 23, 'bicubic', '9223ddf1b0e788bd99bf03f4720bc368c57f454051ff3a010e629099cf24849f'],
  [16, 16, 37, 23, 'lanczos', '813e67817627100cb727aa02ccc77e5db3bce0ac0157ff42a0e4f37922f035f8'],
  [100, 61, 99, 61, 'bilinear', 'a3dfdb3ec35da2bd92a6bbff4cf13b01faad8c6efb54a2d4d330882f16b47eeb'],
  [100, 61, 99, 61, 'bicubic', '5028d5e4e1d132ca42c730cff3676189aa8f8597d9801eb294416ea00ab6ec01'],
  [100, 61, 99, 61, 'lanczos', '36447cc7daaaa7ebbe36694f6ccdfc4b93846b87ba35658e54cd597c822ca438'],
  [5, 3, 64, 7, 'bilinear', 'e7b81911987aa7cca6753895f8582e25c50497a6f7209c3d2b04567c68ca9d33'],
  [5, 3, 64, 7, 'bicubic', '99bc545627fc49041e733803ed0675e9e1af4d9d13a7ec3e21c344e1ad95aa3e'],
  [5, 3, 64, 7, 'lanczos', '3736ff0922c5a481ac701353f17b3bb6dcf5e93efe4ad239267a2bae3ff93c1c'],
  [301, 200, 14, 200, 'bilinear', '4e635f345042f9c4e79dc7dc26b0bfdd282e1a3fe4ccb1d68b215161825640c1'],
  [301, 200, 14, 200, 'bicubic', 'eb8989b0ce872b645533afce84133b671ea6644eff258dd03172c043e9c9dace'],
  [301, 200, 14, 200, 'lanczos', 'd0b90983e23e707989341352326a2021894b5b99febd86ea1cc2a8d94ff7530f'],
  [1, 1, 9, 5, 'bilinear', '41a9a42d8072d429502781344a47e9c041ccfcd5455d014064c9227ae54e0187'],
  [1, 1, 9, 5, 'bicubic', '41a9a42d8072d429502781344a47e9c041ccfcd5455d014064c9227ae54e0187'],
  [1, 1, 9, 5, 'lanczos', '41a9a42d8072d429502781344a47e9c041ccfcd5455d014064c9227ae54e0187'],
  [257, 3, 31, 90, 'bilinear', '3811f5cee79cd22d03f795df690751adf81973fc54160f3d227404e458ec96bb'],
  [257, 3, 31, 90, 'bicubic', 'deb0c19f00f110580d6db9a350ede799351e0541d8fce3b0d10df87c6a95c0b0'],
  [257, 3, 31, 90, 'lanczos', '722a37966d4da7ef662856f6e8b6369a10eb2fae102a187a3130358649c0792a'],
  [64, 64, 64, 32, 'bilinear', '63106c1fbc526d0356da98bc9d6632f082ac546ed31b3379032c6a969f2c3a4d'],
  [64, 64, 64, 32, 'bicubic', '6dd7a894c5d2cfe7bcceff06cb37f304ca370f9714b6ce533e129eb58e12b8f8'],
  [64, 64, 64, 32, 'lanczos', 'c81708b0e96aba372abba5a686fd09c3f8b3c3d56c50f1d8942d136c75714227'],
]

test.each(PILLOW)(
  '%i x %i to %i x %i with the filter %s matches Pillow',
  async (fromWidth, fromHeight, width, height, filter, hash) => {
    const found = resize(pattern(fromWidth, fromHeight), width, height, filter)
    expect([found.width, found.height]).toEqual([width, height])
    expect(await sha256(new Uint8Array(found.data))).toBe(hash)
  },
)

test('a part of an image has the same pixels as in the whole result', () => {
  const whole = pattern(7, 5)
  const part = crop(whole, 2, 1, 3, 2)
  expect([...part.data]).toEqual([
    ...whole.data.subarray((7 + 2) * 3, (7 + 5) * 3),
    ...whole.data.subarray((14 + 2) * 3, (14 + 5) * 3),
  ])
})

test('a part reads only the rows and columns that it needs', () => {
  const read: number[] = []
  const rows = {
    width: 1 << 14,
    height: 4096,
    row: (y: number) => {
      read.push(y)
      return new Uint8Array(3 << 14)
    },
  }
  // The whole result would have 8 GB.
  const part = { left: 1 << 20, top: 1 << 9, width: 4, height: 2 }
  const { data } = resizeRows(rows, 1 << 21, 1 << 10, 'bicubic', { part })
  expect(data.length).toBe(4 * 2 * 3)
  expect([read[0], read.at(-1), read.length]).toEqual([2042, 2061, 20])
})
