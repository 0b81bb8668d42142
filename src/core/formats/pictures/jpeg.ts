// The markers of a JPEG file (ITU-T T.81, annex B). In: a file. Out: the dimensions of its frame, or an error
// if decoding it would take more memory or work than its file size justifies. Nothing is decoded here.
import { checkSides, MAX_SCAN_STEPS, tooMuchWork } from '../pixels.ts'

interface Jpeg {
  readonly width: number
  readonly height: number
  /** Number of channels: 1 for grey, 3 for colour, 4 for CMYK. */
  readonly channels: number
  /** Where a decoder stops reading: after the end marker, or at the last byte. */
  readonly end: number
}

interface Channel {
  readonly id: number
  /** Blocks of 8 x 8 samples. */
  readonly blocks: number
}

interface Frame extends Pick<Jpeg, 'width' | 'height'> {
  readonly isProgressive: boolean
  readonly channels: readonly Channel[]
}

const SOI = 0xd8
const EOI = 0xd9
const SOS = 0xda
/** Frames with 8-bit samples and Huffman codes: baseline, extended and progressive. */
const PROGRESSIVE = 0xc2
/**
 * Segments other than frames that decoders of such frames read or skip: tables, comments and application
 * data.
 */
const isSegment = (marker: number): boolean =>
  marker === 0xc4 ||
  marker === 0xdb ||
  marker === 0xdc ||
  marker === 0xdd ||
  marker === 0xfe ||
  (marker & 0xf0) === 0xe0

/**
 * Throws `unsupported` for an image above the limits, and an `Error` with the reason for other kinds of JPEG
 * and damaged files. Rejects any marker that a decoder might interpret differently, so the decoder sees
 * exactly the frame and scans counted here.
 */
export function readJpeg(bytes: Uint8Array): Jpeg {
  let frame: Frame | undefined
  let visited = 0
  let end = bytes.length
  for (let at = 2; ; ) {
    const start = nextMarker(bytes, at)
    if (start === undefined) break
    const marker = bytes[start + 1]!
    if (marker === EOI) {
      end = start + 2
      break
    }
    const content = segmentAt(bytes, start)
    at = start + 4 + content.length
    if (marker >= 0xc0 && marker <= PROGRESSIVE) {
      if (frame !== undefined) throw new Error('it has two frames')
      frame = readFrame(content, marker === PROGRESSIVE)
    } else if (marker === SOS) {
      if (frame === undefined) throw new Error('its pixels come before its frame')
      visited += scannedBlocks(content, frame)
    } else if (!isSegment(marker)) throw new Error(`it has the marker 0x${marker.toString(16)}`)
  }
  if (frame === undefined || visited === 0) throw new Error('it ends before its pixels')
  // A progressive scan may merely refine earlier ones, so each of its bytes costs as much as visiting a
  // block. In other scans, a byte costs a quarter of that.
  const steps = visited + Math.ceil(frame.isProgressive ? end : end / 4)
  if (steps > MAX_SCAN_STEPS) throw tooMuchWork('steps in its scans', steps, MAX_SCAN_STEPS)
  const blocks = frame.channels.reduce((sum, each) => sum + each.blocks, 0)
  // The mean of each block takes at least one bit. In a frame that is not progressive, the end of a block
  // takes another.
  const bits = blocks * (frame.isProgressive ? 1 : 2)
  if (8 * end < bits)
    throw new Error(`its ${end} bytes are too few for ${frame.width} x ${frame.height} pixels`)
  return { width: frame.width, height: frame.height, channels: frame.channels.length, end }
}

/**
 * The position of the next marker, or undefined at the end. Stuffed bytes and restart markers belong to the
 * scan's data.
 */
function nextMarker(bytes: Uint8Array, from: number): number | undefined {
  for (let at = bytes.indexOf(0xff, from); at >= 0 && at + 1 < bytes.length; ) {
    const marker = bytes[at + 1]!
    const isData = marker === 0 || (marker >= 0xd0 && marker <= 0xd7)
    if (marker !== 0xff && !isData) {
      if (marker === SOI) throw new Error('it has two start markers')
      return at
    }
    at = bytes.indexOf(0xff, at + (marker === 0xff ? 1 : 2))
  }
  return undefined
}

function segmentAt(bytes: Uint8Array, marker: number): Uint8Array {
  const length = (bytes[marker + 2] ?? 0) * 256 + (bytes[marker + 3] ?? 0)
  if (length < 2 || marker + 2 + length > bytes.length) throw new Error('it ends early')
  return bytes.subarray(marker + 4, marker + 2 + length)
}

function readFrame(content: Uint8Array, isProgressive: boolean): Frame {
  const [depth = 0, high = 0, low = 0, wide = 0, narrow = 0, count = 0] = content
  if (depth !== 8) throw new Error(`it has ${depth} bits per sample, but only 8 are supported`)
  const [height, width] = [high * 256 + low, wide * 256 + narrow]
  checkSides(width, height)
  if (![1, 3, 4].includes(count) || content.length !== 6 + 3 * count)
    throw new Error(`it has ${count} channels, but only 1, 3 or 4 are supported`)
  const given = Array.from({ length: count }, (_, index) => {
    const [id = 0, factors = 0] = content.subarray(6 + 3 * index)
    return { id, across: factors >> 4, down: factors & 15 }
  })
  if (given.some(({ across, down }) => across < 1 || across > 4 || down < 1 || down > 4))
    throw new Error('it has channels of impossible sizes')
  const unitWidth = 8 * Math.max(...given.map(({ across }) => across))
  const unitHeight = 8 * Math.max(...given.map(({ down }) => down))
  const units = Math.ceil(width / unitWidth) * Math.ceil(height / unitHeight)
  const channels = given.map(({ id, across, down }) => ({ id, blocks: units * across * down }))
  return { width, height, isProgressive, channels }
}

/** Total number of blocks in the channels of a scan. */
function scannedBlocks(content: Uint8Array, { channels }: Frame): number {
  const [count = 0] = content
  if (count < 1 || count > 4 || content.length !== 4 + 2 * count) throw new Error('it has a damaged scan')
  let blocks = 0
  for (let index = 0; index < count; index++) {
    const id = content[1 + 2 * index]
    const channel = channels.find((each) => each.id === id)
    if (channel === undefined) throw new Error('a scan has a channel that its frame lacks')
    blocks += channel.blocks
  }
  return blocks
}
