// Past findings: images of a few bytes that needed gigabytes or minutes.
import { deflateSync } from 'node:zlib'
import type { CorpusEntry } from '../corpus.ts'
import { pngOf } from '../mutate/picture-files.ts'

const picture = (title: string, bytes: () => Uint8Array): CorpusEntry => ({
  title,
  input: () => ({ kind: 'picture', cut: 'stretched', bytes: bytes() }),
})
const sizes = (width: number, height: number, cut: string): CorpusEntry => ({
  title: `a picture of ${width} x ${height} that is ${cut}`,
  input: () => ({ kind: 'sizes', cut, width: `${width}`, height: `${height}` }),
})

const bomb = () => deflateSync(Buffer.alloc(1 << 27))
const pixel = () => deflateSync(Buffer.from([0, 1, 2, 3]))

/** A progressive frame with one grey channel, and scans whose 1-bit codes are runs of empty blocks. */
function scans(side: number, count: number, bytesEach: number): Uint8Array {
  const segment = (marker: number, ...data: number[]) => [0xff, marker, 0, data.length + 2, ...data]
  const oneCode = (table: number, symbol: number) => segment(0xc4, table, 1, ...Array(15).fill(0), symbol)
  const sides = [side >> 8, side & 255]
  const scan = [...segment(0xda, 1, 1, 0x10, 1, 63, 0), ...Array(bytesEach).fill(0)]
  return Uint8Array.from([
    ...[0xff, 0xd8, ...segment(0xdb, 0, ...Array(64).fill(1))],
    ...segment(0xc2, 8, ...sides, ...sides, 1, 1, 0x11, 0),
    ...[...oneCode(0, 0), ...oneCode(0x10, 0xe0)],
    ...Array.from({ length: count }, () => scan).flat(),
    ...[0xff, 0xd9],
  ])
}

export const CORPUS: readonly CorpusEntry[] = [
  picture('a PNG of one pixel whose data inflate to 128 MB', () => pngOf(1, 1, [['IDAT', bomb()]])),
  picture('a PNG of one pixel whose colour profile inflates to 128 MB', () =>
    pngOf(1, 1, [
      ['iCCP', Buffer.concat([Buffer.from('x\0\0', 'latin1'), bomb()])],
      ['IDAT', pixel()],
    ]),
  ),
  picture('a PNG of 9,992 x 9,992 in a few bytes', () => pngOf(9992, 9992, [['IDAT', pixel()]])),
  picture('a JPEG of 9,992 x 9,992 in 322 bytes', () => scans(9992, 1, 150)),
  picture('a JPEG of 6,000 x 6,000 in a few bytes', () => scans(6000, 1, 150)),
  picture('a JPEG of 300 scans', () => scans(2000, 300, 40)),
  picture('a JPEG of 3,000 scans', () => scans(2000, 3000, 10)),
  ...['padded', 'cropped', 'tiles', 'stretched', 'whole'].flatMap((cut) => [
    sizes(1, 16_384, cut),
    sizes(16_384, 1, cut),
  ]),
]
