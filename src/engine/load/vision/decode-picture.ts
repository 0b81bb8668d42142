// Decodes PNG and JPEG files where no browser does: in Node, Bun and Deno.
import { convertIndexedToRgb, type DecodedPng, decode as decodePng } from 'fast-png'
import { decode as decodeJpeg } from 'jpeg-js'
import type { Pixels } from '../../../formats/pixels.ts'
import { turned, turnOf } from './turn-picture.ts'

/** More pixels than any camera has; a file of a few bytes can claim any number. */
const MOST_PIXELS = 1e8
/** For the coefficients of so many pixels. */
const MOST_MEGABYTES = 2048

const PNG_HEAD = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const startsWith = (bytes: Uint8Array, head: readonly number[]) =>
  head.every((byte, at) => bytes[at] === byte)

/**
 * The pixels of a file, upright: a JPEG file's own orientation is applied, as in browsers. Throws an `Error`
 * with the reason for other types, damaged files and more than 100 million pixels.
 */
export function decodePicture(bytes: Uint8Array): Pixels {
  if (startsWith(bytes, PNG_HEAD)) return pngPixels(bytes)
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) {
    const limits = { maxResolutionInMP: MOST_PIXELS / 1e6, maxMemoryUsageInMB: MOST_MEGABYTES }
    const { width, height, data } = decodeJpeg(bytes, { useTArray: true, formatAsRGBA: true, ...limits })
    return turned({ width, height, data }, turnOf(bytes))
  }
  throw new Error('outside a browser, only PNG and JPEG are decoded')
}

function pngPixels(bytes: Uint8Array): Pixels {
  // The header is the first chunk: its length, its name, then width and height.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const pixels = bytes.length < 24 ? 0 : view.getUint32(16) * view.getUint32(20)
  if (pixels === 0 || pixels > MOST_PIXELS) throw new Error(`its header claims ${pixels} pixels`)
  const png = decodePng(bytes, { checkCrc: true })
  const { width, height } = png
  const data = new Uint8ClampedArray(4 * width * height)
  if (png.palette === undefined) writeSamples(png, data)
  else writeChannels(convertIndexedToRgb(png), png.palette[0]?.length ?? 3, data)
  return { width, height, data }
}

/** Every sample in eight bits. */
function eightBits(
  { width, height, depth, channels }: DecodedPng,
  sampleAt: (x: number, y: number) => number,
): Uint8Array {
  const most = 2 ** depth - 1
  const out = new Uint8Array(width * height * channels)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width * channels; x++) {
      const sample = sampleAt(x, y)
      out[y * width * channels + x] = depth === 16 ? sample >> 8 : (sample * 255) / most
    }
  }
  return out
}

/** `channels`: grey, grey and opacity, three colours, or these and opacity; 8 bits each. */
function writeChannels(samples: ArrayLike<number>, channels: number, data: Uint8ClampedArray): void {
  const isGrey = channels < 3
  const hasOpacity = channels % 2 === 0
  for (let from = 0, to = 0; to < data.length; from += channels, to += 4) {
    for (let i = 0; i < 3; i++) data[to + i] = samples[isGrey ? from : from + i]!
    data[to + 3] = hasOpacity ? samples[from + channels - 1]! : 255
  }
}

/** Samples of 1, 2 or 4 bits are packed in rows of whole bytes; of 16 bits, the higher eight are kept. */
function writeSamples(png: DecodedPng, data: Uint8ClampedArray): void {
  const { width, height, depth, channels, transparency } = png
  const most = 2 ** depth - 1
  const stride = Math.ceil((width * channels * depth) / 8)
  const sampleAt = (x: number, y: number): number => {
    if (depth >= 8) return png.data[y * width * channels + x]!
    const bit = x * depth
    return (png.data[y * stride + (bit >> 3)]! >> (8 - depth - (bit & 7))) & most
  }
  writeChannels(depth === 8 ? png.data : eightBits(png, sampleAt), channels, data)
  if (transparency === undefined) return
  for (let pixel = 0; pixel < width * height; pixel++) {
    const x = (pixel % width) * channels
    const y = Math.floor(pixel / width)
    let isClear = true
    for (let i = 0; i < channels; i++) isClear &&= sampleAt(x + i, y) === transparency[i]
    if (isClear) data[4 * pixel + 3] = 0
  }
}
