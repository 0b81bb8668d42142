// Reads the chunks of a PNG (W3C, "Portable Network Graphics", third edition). In: a file. Out: its header,
// palette and transparent colour, and the position of its pixels. Nothing is inflated here.
import { checkSides, MAX_ROW_BYTES, tooMuchWork } from '../pixels.ts'
import { crc32 } from './crc32.ts'

export const GREY = 0
export const INDEXED = 3

/** Channels and depths by colour type. */
const COLOURS: ReadonlyMap<number, { readonly channels: number; readonly depths: readonly number[] }> =
  new Map([
    [GREY, { channels: 1, depths: [1, 2, 4, 8, 16] }],
    [2, { channels: 3, depths: [8, 16] }],
    [INDEXED, { channels: 1, depths: [1, 2, 4, 8] }],
    [4, { channels: 2, depths: [8, 16] }],
    [6, { channels: 4, depths: [8, 16] }],
  ])

/** The pixels of one pass: the first column and row, and the steps to the next ones. */
export interface Pass {
  readonly x: number
  readonly y: number
  readonly dx: number
  readonly dy: number
  readonly width: number
  readonly height: number
}

const ONE_PASS = [[0, 0, 1, 1]] as const
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

export interface Png {
  readonly width: number
  readonly height: number
  /** Bits per sample, colour type, and samples per pixel. */
  readonly depth: number
  readonly colour: number
  readonly channels: number
  readonly passes: readonly Pass[]
  /** Bytes of the inflated pixels: rows, each preceded by the number of its filter. */
  readonly rowBytes: number
  /** Three bytes per colour. */
  readonly palette: Uint8Array | undefined
  /** Opacities of the palette, or one 16-bit sample per channel. */
  readonly transparency: Uint8Array | undefined
  /** Chunks of one zlib stream. */
  readonly data: readonly Uint8Array[]
}

/** Maximum number of bytes that a byte of deflated data expands to. */
const MAX_INFLATION = 1032

/** Bytes of a row without its filter number. */
export const rowStride = ({ depth, channels }: Pick<Png, 'depth' | 'channels'>, width: number): number =>
  Math.ceil((width * channels * depth) / 8)

/**
 * Throws `unsupported` for an image above the limits, and an `Error` with the reason for a damaged file. The
 * zlib stream verifies the pixels' checksum; the others are verified here.
 */
export function readPng(bytes: Uint8Array): Png {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const data: Uint8Array[] = []
  let head: ReturnType<typeof readHead> | undefined
  let palette: Uint8Array | undefined
  let transparency: Uint8Array | undefined
  for (let at = 8; ; ) {
    if (at + 12 > bytes.length) throw new Error('it ends early')
    const length = view.getUint32(at)
    const end = at + 8 + length
    if (end + 4 > bytes.length) throw new Error(`a chunk of ${length} bytes extends beyond its end`)
    const name = String.fromCharCode(...bytes.subarray(at + 4, at + 8))
    if ((name === 'IHDR') !== (head === undefined)) throw new Error('its header is missing or occurs twice')
    const content = bytes.subarray(at + 8, end)
    if (name === 'IDAT') data.push(content)
    else if (name === 'IEND') break
    else if (name === 'IHDR' || name === 'PLTE' || name === 'tRNS') {
      if (crc32(bytes.subarray(at + 4, end)) !== view.getUint32(end))
        throw new Error(`its ${name} chunk has the wrong checksum`)
      if (name === 'IHDR') head = readHead(content)
      else if (name === 'PLTE') palette ??= content
      else transparency ??= content
    }
    at = end + 4
  }
  if (head === undefined) throw new Error('its header is missing')
  checkColours(head, palette, transparency)
  const packed = data.reduce((sum, { length }) => sum + length, 0)
  if (packed * MAX_INFLATION < head.rowBytes)
    throw new Error(`its ${packed} bytes of pixels are too few for ${head.width} x ${head.height}`)
  return { ...head, palette, transparency, data }
}

function readHead(content: Uint8Array) {
  if (content.length !== 13) throw new Error(`its header has ${content.length} bytes, not 13`)
  const view = new DataView(content.buffer, content.byteOffset)
  const [width, height] = [view.getUint32(0), view.getUint32(4)]
  const [depth = 0, colour = 0, packing = 0, filter = 0, interlace = 0] = content.subarray(8)
  checkSides(width, height)
  const { channels, depths } = COLOURS.get(colour) ?? { channels: 0, depths: [] }
  if (!depths.includes(depth)) throw new Error(`it has ${depth} bits with colour type ${colour}`)
  if (packing !== 0 || filter !== 0 || interlace > 1)
    throw new Error(`it is packed, filtered and interlaced as ${packing}, ${filter} and ${interlace}`)
  const passes = (interlace === 1 ? ADAM7 : ONE_PASS)
    .map(([x, y, dx, dy]) => {
      return { x, y, dx, dy, width: Math.ceil((width - x) / dx), height: Math.ceil((height - y) / dy) }
    })
    .filter((pass) => pass.width > 0 && pass.height > 0)
  const rowBytes = passes.reduce(
    (sum, pass) => sum + pass.height * (1 + rowStride({ depth, channels }, pass.width)),
    0,
  )
  if (rowBytes > MAX_ROW_BYTES) throw tooMuchWork('bytes of rows', rowBytes, MAX_ROW_BYTES)
  return { width, height, depth, colour, channels, passes, rowBytes }
}

function checkColours(
  { colour, channels }: Pick<Png, 'colour' | 'channels'>,
  palette: Uint8Array | undefined,
  transparency: Uint8Array | undefined,
): void {
  const colours = (palette?.length ?? 0) / 3
  if (colour === INDEXED && !(colours >= 1 && colours <= 256 && Number.isInteger(colours)))
    throw new Error(`its palette has ${palette?.length ?? 0} bytes`)
  if (transparency === undefined) return
  const { length } = transparency
  const isRight = colour === INDEXED ? length <= colours : length === 2 * channels && colour < INDEXED
  if (!isRight) throw new Error(`its transparency has ${length} bytes with colour type ${colour}`)
}
