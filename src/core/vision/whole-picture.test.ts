// Tests the sizes of images that are read as a whole. In: every size up to 4,096 x 4,096. Out: the same
// dimensions as from transformers' `smart_resize`, by hash; and edge cases of its formula.
import { expect, test } from 'vitest'
import { joinBytes } from '../base/bytes.ts'
import { sha256 } from '../base/sha256.ts'
import { pixelRange, wholeSides } from './whole-picture.ts'

const STEP = 28
const MAX_SIDE = 4096
const MAX_RATIO = 200

const rulesOf = (least: number, most: number) => {
  const patches = { patchSize: STEP / 2, merge: 2 }
  return { ...patches, ...pixelRange(patches, [least, most]) }
}

/**
 * Columns and rows of squares for each height, as two u16 in little-endian order; 0 and 0 if the image is
 * rejected.
 */
function column(rules: ReturnType<typeof rulesOf>, width: number): Uint8Array {
  const squares = new Uint16Array(2 * MAX_SIDE)
  for (let height = 1; height <= MAX_SIDE; height++) {
    if (Math.max(width, height) > MAX_RATIO * Math.min(width, height)) continue
    const found = wholeSides(rules, { width, height })
    squares[2 * height - 2] = found.width / STEP
    squares[2 * height - 1] = found.height / STEP
  }
  return new Uint8Array(squares.buffer)
}

/**
 * SHA-256 of all widths, generated with transformers 5.24.0: `smart_resize(height, width, 28, least, most)`
 * for every `each`th width from 1 to 4,096 and, for each, all heights from 1 to 4,096.
 */
test.each([
  [1, 3136, 802_816, 'b23b7ad876fbff04c8789062bdabe622958cd01a1857a0df409f8850da0bc82d'],
  [7, 200_704, 802_816, '6a1ef8a37026987e3a533aab3cbbbaf2100ed1ef6ade368c6afb1e1d7d884152'],
  [7, 3136, 200_704, 'e8cf2b9f7fa360832b78f17174552d472990829a2c5f2dc3dd5216b67d9609f6'],
])(
  'sizes up to 4,096 x 4,096 match, with a width step of %i, from %i to %i pixels',
  async (each, least, most, hash) => {
    const rules = rulesOf(least, most)
    const columns = Array.from({ length: Math.ceil(MAX_SIDE / each) }, (_, at) =>
      column(rules, 1 + at * each),
    )
    expect(await sha256(joinBytes(columns))).toBe(hash)
  },
)

/** Sizes where a product or quotient is whole in one order of the formula and not in another. */
test.each([
  [1600, 900, 1176, 644],
  [1984, 1116, 1176, 672],
  [29, 29, 56, 56],
  [1, 9, 28, 168],
  [20, 4000, 28, 4004],
  [42, 42, 56, 56],
  [70, 70, 56, 56],
  [1, 200, 28, 812],
])('%i x %i is read as %i x %i', (width, height, wide, high) => {
  expect(wholeSides(rulesOf(3136, 802_816), { width, height })).toEqual({ width: wide, height: high })
})

test('a longer image is rejected', () => {
  expect(() => wholeSides(rulesOf(3136, 802_816), { width: 1, height: 201 })).toThrow(/201 times the shorter/)
})
