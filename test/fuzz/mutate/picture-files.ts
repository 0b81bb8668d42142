// Image files. In: random numbers. Out: PNG and JPEG files that are valid except for one change, with correct
// checksums, so that decoders reach the change.
import { deflateSync } from 'node:zlib'
import { encode as encodeJpeg } from 'jpeg-js'
import { crc32 } from '../../../src/core/formats/pictures/crc32.ts'
import type { Random } from '../../helpers/random.ts'
import { mutateBytes } from './mutate-bytes.ts'

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
/** Channels by colour type. */
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }
/** Values near the limits of bytes, passes and sizes. */
const SIDES = [
  0,
  1,
  2,
  3,
  4,
  5,
  7,
  8,
  9,
  15,
  16,
  17,
  33,
  255,
  256,
  257,
  9992,
  16_384,
  16_385,
  65_535,
  2 ** 31 - 1,
]

function chunk(name: string, data: Uint8Array): Buffer {
  const out = Buffer.alloc(12 + data.length)
  out.writeUInt32BE(data.length)
  out.write(name, 4, 'latin1')
  out.set(data, 8)
  out.writeUInt32BE(crc32(out.subarray(4, 8 + data.length)), 8 + data.length)
  return out
}

/** First column and row of Adam7's passes, and the steps to the next. */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

interface RowShape {
  readonly width: number
  readonly height: number
  /** Channels per pixel. */
  readonly bits: number
  readonly interlace: number
}

/**
 * The rows of all passes, or only some for large images; rarely one row too many or one with an invalid
 * filter.
 */
function drawRows(random: Random, { width, height, bits, interlace }: RowShape): Buffer {
  const rows: Buffer[] = []
  for (const [x, y, dx, dy] of interlace === 1 ? PASSES : ([[0, 0, 1, 1]] as const)) {
    const wide = Math.min(64, Math.ceil((width - x) / dx))
    const high = Math.min(64, Math.ceil((height - y) / dy))
    for (let row = 0; row < high && wide > 0; row++) {
      const bytes = randomBytes(random, 1 + Math.ceil((wide * bits) / 8))
      bytes[0] = random.below(random.chance(0.998) ? 5 : 9)
      rows.push(Buffer.from(bytes))
    }
  }
  if (random.chance(0.05)) rows.push(...rows.slice(-1))
  return Buffer.concat(rows)
}

/** A PNG with 8-bit colours and these chunks between its header and its end. */
export function pngOf(
  width: number,
  height: number,
  parts: readonly (readonly [string, Uint8Array])[],
): Uint8Array {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  head.set([8, 2], 8)
  return fileOf([['IHDR', head], ...parts, ['IEND', new Uint8Array()]])
}

const fileOf = (parts: readonly (readonly [string, Uint8Array])[]): Uint8Array =>
  new Uint8Array(
    Buffer.concat([Uint8Array.from(SIGNATURE), ...parts.map(([name, data]) => chunk(name, data))]),
  )

/**
 * A PNG of any type, depth and interlacing, some of which do not exist, with chunks left out or duplicated.
 */
export function drawPng(random: Random): Uint8Array {
  const side = () => (random.chance(0.9) ? random.between(1, 20) : random.pick(SIDES))
  const [width, height] = [side(), side()]
  const colour = random.chance(0.95) ? random.pick([0, 2, 3, 4, 6]) : random.below(8)
  const depth = random.chance(0.9)
    ? random.pick(colour === 0 || colour === 3 ? [1, 2, 4, 8] : [8, 16])
    : random.below(20)
  const interlace = random.chance(0.7) ? 0 : random.chance(0.9) ? 1 : 2
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  head.set([depth, colour, 0, 0, interlace], 8)
  const rows = drawRows(random, { width, height, bits: (CHANNELS[colour] ?? 1) * depth, interlace })
  const packed = deflateSync(random.chance(0.05) ? Buffer.alloc(1 << 20) : rows)
  const data = random.chance(0.85) ? packed : mutateBytes(random, packed)
  const cut = random.below(data.length + 1)
  const parts = [
    chunk('IHDR', head),
    ...(random.chance(0.05) ? [chunk('iCCP', mutateBytes(random, packed))] : []),
    ...(colour === 3 || random.chance(0.1)
      ? [chunk('PLTE', randomBytes(random, 3 * random.between(0, 20)))]
      : []),
    ...(random.chance(0.3) ? [chunk('tRNS', randomBytes(random, random.below(9)))] : []),
    ...(random.chance(0.7)
      ? [chunk('IDAT', data)]
      : [chunk('IDAT', data.subarray(0, cut)), chunk('IDAT', data.subarray(cut))]),
    chunk('IEND', new Uint8Array()),
  ]
  if (random.chance(0.1)) parts.splice(random.below(parts.length), 1)
  if (random.chance(0.1)) parts.splice(random.below(parts.length), 0, random.pick(parts))
  const file = Buffer.concat([Uint8Array.from(SIGNATURE), ...parts])
  return random.chance(0.8) ? new Uint8Array(file) : mutateBytes(random, new Uint8Array(file))
}

const randomBytes = (random: Random, count: number) => Uint8Array.from({ length: count }, () => random.word())

/** Files to change. `quality`: quality of a JPEG. */
export function jpegs(): readonly Uint8Array[] {
  return [
    [16, 12, 60],
    [33, 5, 90],
    [8, 8, 1],
  ].map(([width = 1, height = 1, quality]) => {
    const data = Buffer.from(Uint8Array.from({ length: width * height * 4 }, (_, at) => (at * 37) % 256))
    return new Uint8Array(encodeJpeg({ width, height, data }, quality).data)
  })
}

/** Bytes before the pixels: the tables, the frame header and the scan header. */
const headOf = (bytes: Uint8Array): number =>
  bytes.findIndex((byte, at) => byte === 0xff && bytes[at + 1] === 0xda) + 14

/** A JPEG with changed bytes, another kind of frame, other sampling, or repeated scans. */
export function drawJpeg(random: Random, goods: readonly Uint8Array[]): Uint8Array {
  const good = random.pick(goods).slice()
  const frame = good.findIndex((byte, at) => byte === 0xff && good[at + 1] === 0xc0)
  if (random.chance(0.3)) good[frame + 1] = random.pick([0xc1, 0xc2, 0xc3, 0xc9, 0xca])
  if (random.chance(0.3)) good[frame + 11 + 3 * random.below(3)] = random.word()
  if (random.chance(0.1)) good.set(randomBytes(random, 4), frame + 5)
  if (random.chance(0.1)) {
    const scan = good.subarray(headOf(good) - 14, good.length - 2)
    const times = random.chance(0.9) ? random.below(20) : 2000
    return new Uint8Array(
      Buffer.concat([good.subarray(0, -2), ...Array(times).fill(scan), good.subarray(-2)]),
    )
  }
  return random.chance(0.7) ? mutateBytes(random, good, [], headOf(good)) : good
}
