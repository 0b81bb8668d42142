// Cuts a picture into the squares that a tower reads, as the processor of each model does.
import { HalfbyteError } from '../base/errors.ts'
import type { Pixels } from '../formats/pixels.ts'
import { crop, type Picture, resize } from './resize.ts'
import { patchesIn, type Tower } from './tower.ts'
import { wholeSides } from './whole-picture.ts'

/** What a tower reads of a picture. */
export interface CutPicture {
  /** Squares of the tower's size, or the whole picture: three bytes a pixel. */
  readonly tiles: readonly Picture[]
  /** How the picture stands in the prompt: texts, and the indices of tiles. */
  readonly parts: readonly (string | number)[]
}

const MOST_SIDE = 1 << 14
const MOST_PIXELS = 1 << 26

/** Throws `unsupported` for a picture without pixels or with too many. */
export function cutPicture(tower: Tower, pixels: Pixels): CutPicture {
  checkSize(pixels)
  switch (tower.cut) {
    case 'tiles':
      return cutIntoTiles(tower, pixels)
    case 'padded':
      return whole(tower, padded(tower, opaque(pixels)))
    case 'cropped':
      return { tiles: [cropped(tower, opaque(pixels))], parts: [0] }
    case 'whole': {
      const { width, height } = wholeSides(tower, pixels)
      return {
        tiles: [resize(opaque(pixels), width, height, tower.filter)],
        parts: ['<|vision_start|>', 0, '<|vision_end|>'],
      }
    }
    case 'stretched':
      return whole(tower, opaque(pixels))
  }
}

/** The picture as one square. */
const whole = ({ imageSize, filter, projector }: Tower, picture: Picture): CutPicture => ({
  tiles: [resize(picture, imageSize, imageSize, filter)],
  // The texts of transformers' Gemma3Processor.
  parts: projector === 'gemma3' ? ['\n\n<start_of_image>', 0, '<end_of_image>\n\n'] : [0],
})

function checkSize({ width, height, data }: Pixels): void {
  const isSide = (side: number) => Number.isInteger(side) && side >= 1 && side <= MOST_SIDE
  if (
    isSide(width) &&
    isSide(height) &&
    width * height <= MOST_PIXELS &&
    data.length === width * height * 4
  ) {
    return
  }
  throw new HalfbyteError(
    'unsupported',
    `a picture has ${width} x ${height} pixels in ${data.length} bytes; give one of 1 to ${MOST_SIDE} pixels a side, ` +
      `${MOST_PIXELS} in all, with four bytes each`,
    { width, height },
  )
}

/** What is transparent shows the white of a page. */
function opaque({ width, height, data }: Pixels): Picture {
  const rgb = new Uint8ClampedArray(width * height * 3)
  for (let from = 0, to = 0; from < data.length; from += 4, to += 3) {
    const alpha = data[from + 3]!
    for (let channel = 0; channel < 3; channel++) {
      const value = data[from + channel]!
      rgb[to + channel] = alpha === 255 ? value : 255 + ((value - 255) * alpha) / 255
    }
  }
  return { width, height, data: rgb }
}

/**
 * LLaVA 1.5's `expand2square`: the picture in the middle of a square of the mean colour, which CLIP's
 * processor then resizes.
 */
function padded({ mean }: Tower, { width, height, data }: Picture): Picture {
  const side = Math.max(width, height)
  const square = new Uint8ClampedArray(side * side * 3)
  for (let at = 0; at < square.length; at++) square[at] = Math.trunc(mean[at % 3]! * 255)
  const left = (side - width) >> 1
  const top = (side - height) >> 1
  for (let y = 0; y < height; y++) {
    square.set(data.subarray(y * width * 3, (y + 1) * width * 3), ((top + y) * side + left) * 3)
  }
  return { width: side, height: side, data: square }
}

/** transformers' CLIPImageProcessor: the middle of a picture whose shorter side has a given length. */
function cropped({ imageSize, shortestEdge, filter }: Tower, picture: Picture): Picture {
  const { width, height } = picture
  const side = (own: number) => Math.trunc((shortestEdge * own) / Math.min(width, height))
  const resized = resize(picture, side(width), side(height), filter)
  const start = (own: number) => (own - imageSize) >> 1
  return crop(resized, start(resized.width), start(resized.height), imageSize, imageSize)
}

/** Longest side that transformers gives a picture whatever its configuration says. */
const LONGEST = 4096

/**
 * transformers' Idefics3ImageProcessor and Idefics3Processor: the picture is enlarged or reduced to its
 * longest side, then to whole tiles; the tiles come row by row, and after them the picture as one tile.
 */
function cutIntoTiles({ imageSize: tile, longestEdge, filter }: Tower, pixels: Pixels): CutPicture {
  const [width, height] = reducedTo(LONGEST, ...longestOf(longestEdge, pixels))
  const first = resize(opaque(pixels), width, height, filter)
  const [columns, rows] = tilesOf(tile, width, height)
  const whole = resize(first, columns * tile, rows * tile, filter)
  const frame = '<fake_token_around_image>'
  if (columns === 1 && rows === 1) return { tiles: [whole], parts: [`${frame}<global-img>`, 0, frame] }
  const tiles: Picture[] = []
  const parts: (string | number)[] = []
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      parts.push(`${frame}<row_${row + 1}_col_${column + 1}>`, tiles.length)
      tiles.push(crop(whole, column * tile, row * tile, tile, tile))
    }
    parts.push('\n')
  }
  parts.push(`\n${frame}<global-img>`, tiles.length, frame)
  tiles.push(resize(whole, tile, tile, filter))
  return { tiles, parts: joined(parts) }
}

/** The longer side becomes `longest`; the other stays even. */
function longestOf(longest: number, { width, height }: Pixels): [width: number, height: number] {
  const ratio = width / height
  const even = (side: number) => Math.max(1, side + (side % 2))
  return width >= height
    ? [longest, even(Math.trunc(longest / ratio))]
    : [even(Math.trunc(longest * ratio)), longest]
}

function reducedTo(most: number, width: number, height: number): [width: number, height: number] {
  const ratio = width / height
  if (width >= height && width > most) return [most, Math.max(1, Math.trunc(most / ratio))]
  if (height > width && height > most) return [Math.max(1, Math.trunc(most * ratio)), most]
  return [width, height]
}

function tilesOf(tile: number, width: number, height: number): [columns: number, rows: number] {
  const ratio = width / height
  const up = (side: number) => Math.ceil(side / tile)
  return width >= height
    ? [up(width), Math.max(1, up(Math.trunc((up(width) * tile) / ratio)))]
    : [Math.max(1, up(Math.trunc(up(height) * tile * ratio))), up(height)]
}

/** Texts that follow each other as one. */
function joined(parts: readonly (string | number)[]): (string | number)[] {
  const found: (string | number)[] = []
  for (const part of parts) {
    const last = found.at(-1)
    if (typeof part === 'string' && typeof last === 'string') found[found.length - 1] = last + part
    else found.push(part)
  }
  return found
}

/** The patches [rows * columns][channel, y, x] of a tile, row by row, each channel normalised. */
export function patchesOf(tower: Tower, tile: Picture): Float32Array {
  const { patchSize, mean, deviation } = tower
  const { data, width } = tile
  const { width: columns, height: rows } = patchesIn(tower, tile)
  const patches = new Float32Array(width * tile.height * 3)
  let at = 0
  for (let patch = 0; patch < columns * rows; patch++) {
    const top = Math.floor(patch / columns) * patchSize
    const left = (patch % columns) * patchSize
    for (let channel = 0; channel < 3; channel++) {
      const middle = mean[channel]!
      const spread = deviation[channel]!
      for (let y = top; y < top + patchSize; y++) {
        let from = (y * width + left) * 3 + channel
        for (let x = 0; x < patchSize; x++, from += 3) patches[at++] = (data[from]! / 255 - middle) / spread
      }
    }
  }
  return patches
}
