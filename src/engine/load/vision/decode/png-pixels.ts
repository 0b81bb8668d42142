// The pixels of a PNG outside a browser: inflated by Node's zlib into no more bytes than the header implies,
// then unfiltered in place and written as four bytes per pixel.
import { inflateSync } from 'node:zlib'
import { joinBytes } from '../../../../core/base/bytes.ts'
import { reasonOf } from '../../../../core/base/errors.ts'
import {
  GREY,
  INDEXED,
  type Pass,
  type Png,
  readPng,
  rowStride,
} from '../../../../core/formats/pictures/png.ts'
import type { Pixels } from '../../../../core/formats/pixels.ts'

/** Throws like `readPng`, and an `Error` for pixels that are damaged or exceed the header's size. */
export function pngPixels(bytes: Uint8Array): Pixels {
  const png = readPng(bytes)
  const rows = inflated(png)
  const { width, height, depth, channels, passes } = png
  const data = new Uint8ClampedArray(4 * width * height)
  const write = rowWriter(png, data)
  const before = Math.max(1, (channels * depth) >> 3)
  let at = 0
  for (const pass of passes) {
    const stride = rowStride(png, pass.width)
    let above: Uint8Array = new Uint8Array(stride)
    for (let row = 0; row < pass.height; row++) {
      const own = rows.subarray(at + 1, at + 1 + stride)
      unfilter(rows[at]!, own, above, before)
      write(own, pass, row)
      above = own
      at += 1 + stride
    }
  }
  return { width, height, data }
}

function inflated({ data, rowBytes }: Png): Uint8Array {
  let rows: Uint8Array
  try {
    // One chunk of the right size: smaller ones would have to be joined, which takes twice the memory.
    rows = inflateSync(joinBytes(data), { maxOutputLength: rowBytes, chunkSize: Math.max(64, rowBytes) })
  } catch (cause) {
    const isLarge = (cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
    const reason = isLarge
      ? `its pixels inflate to more than the ${rowBytes} bytes that its header says`
      : `its pixels do not inflate (${reasonOf(cause)})`
    throw new Error(reason, { cause })
  }
  if (rows.length === rowBytes) return rows
  throw new Error(`its pixels inflate to ${rows.length} bytes, but its header says ${rowBytes}`)
}

/** Undoes a row's filter (W3C, 9.2). `before`: distance in bytes to the pixel on the left. */
// hot
function unfilter(filter: number, row: Uint8Array, above: Uint8Array, before: number): void {
  const { length } = row
  switch (filter) {
    case 0:
      return
    case 1:
      for (let i = before; i < length; i++) row[i]! += row[i - before]!
      return
    case 2:
      for (let i = 0; i < length; i++) row[i]! += above[i]!
      return
    case 3:
      for (let i = 0; i < length; i++) row[i]! += ((i < before ? 0 : row[i - before]!) + above[i]!) >> 1
      return
    case 4:
      for (let i = 0; i < length; i++) {
        const left = i < before ? 0 : row[i - before]!
        const up = above[i]!
        const corner = i < before ? 0 : above[i - before]!
        const toLeft = Math.abs(up - corner)
        const toUp = Math.abs(left - corner)
        const toCorner = Math.abs(left + up - 2 * corner)
        row[i]! += toLeft <= toUp && toLeft <= toCorner ? left : toUp <= toCorner ? up : corner
      }
      return
    default:
      throw new Error(`a row has the filter ${filter}`)
  }
}

type RowWriter = (row: Uint8Array, pass: Pass, at: number) => void

/** Writes the pixels of a row to their places in `data`. */
function rowWriter(png: Png, data: Uint8ClampedArray): RowWriter {
  const { width, depth, channels, colour } = png
  const colours = colour === INDEXED ? paletteOf(png) : undefined
  const clear = colour === INDEXED ? undefined : clearSamples(png)
  const isGrey = colour === GREY || colour === 4
  const hasOpacity = channels % 2 === 0
  const most = 2 ** depth - 1
  const sampleAt =
    depth === 16
      ? (row: Uint8Array, at: number) => row[2 * at]! * 256 + row[2 * at + 1]!
      : depth === 8
        ? (row: Uint8Array, at: number) => row[at]!
        : (row: Uint8Array, at: number) =>
            (row[(at * depth) >> 3]! >> (8 - depth - ((at * depth) & 7))) & most
  // Of the two conversions from 16 bits in the W3C standard, 13.12, browsers and Pillow use the one that
  // drops the low byte.
  const eightBits = (sample: number) => (depth === 16 ? sample >> 8 : (sample * 255) / most)
  if (depth === 8 && colours === undefined && clear === undefined)
    return (row, pass, at) => writeBytes(row, pass, at, { data, width, channels })
  // hot
  return (row, pass, at) => {
    let to = 4 * ((pass.y + at * pass.dy) * width + pass.x)
    const step = 4 * pass.dx
    for (let x = 0; x < pass.width; x++, to += step) {
      const from = x * channels
      if (colours !== undefined) {
        const index = 4 * sampleAt(row, from)
        for (let i = 0; i < 4; i++) data[to + i] = colours[index + i]!
        continue
      }
      for (let i = 0; i < 3; i++) data[to + i] = eightBits(sampleAt(row, isGrey ? from : from + i))
      data[to + 3] = hasOpacity ? eightBits(sampleAt(row, from + channels - 1)) : 255
      if (clear?.every((sample, i) => sampleAt(row, from + i) === sample)) data[to + 3] = 0
    }
  }
}

/** Samples of 8 bits: grey, grey and opacity, three colours, or three colours and opacity. */
// hot
function writeBytes(
  row: Uint8Array,
  { x, y, dx, dy, width: count }: Pass,
  at: number,
  { data, width, channels }: { readonly data: Uint8ClampedArray } & Pick<Png, 'width' | 'channels'>,
): void {
  const [green, blue] = channels < 3 ? [0, 0] : [1, 2]
  const hasOpacity = channels % 2 === 0
  let to = 4 * ((y + at * dy) * width + x)
  for (let from = 0; from < count * channels; from += channels, to += 4 * dx) {
    data[to] = row[from]!
    data[to + 1] = row[from + green]!
    data[to + 2] = row[from + blue]!
    data[to + 3] = hasOpacity ? row[from + channels - 1]! : 255
  }
}

/** Four bytes per index; indices without a colour are black. */
function paletteOf({ palette = new Uint8Array(), transparency = new Uint8Array() }: Png): Uint8Array {
  const colours = new Uint8Array(4 * 256)
  for (let index = 0; index < 256; index++) {
    colours.set(palette.subarray(3 * index, 3 * index + 3), 4 * index)
    colours[4 * index + 3] = transparency[index] ?? 255
  }
  return colours
}

/** The samples of the transparent colour. Bits above the depth are ignored. */
function clearSamples({ transparency, depth }: Png): readonly number[] | undefined {
  if (transparency === undefined) return undefined
  const mask = 2 ** depth - 1
  return Array.from(
    { length: transparency.length / 2 },
    (_, at) => (transparency[2 * at]! * 256 + transparency[2 * at + 1]!) & mask,
  )
}
