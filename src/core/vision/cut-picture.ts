// Splits an image into the squares that a tower reads, as each model's processor does.
import { checkPixels, type Pixels } from '../formats/pixels.ts'
import { opaque } from './opaque.ts'
import { crop, type Picture, type Rows, resize, resizeRows } from './resize.ts'
import { patchesIn, type Sides, type Tower } from './tower.ts'
import { wholeSides } from './whole-picture.ts'

/** An image in the form that a tower reads. */
export interface CutPicture {
  /** Squares of the tower's size, or the whole image, with three bytes per pixel. */
  readonly tiles: readonly Picture[]
  /** How the image appears in the prompt: texts, and the indices of tiles. */
  readonly parts: readonly (string | number)[]
}

/** The properties of a tower that `cutPicture` uses. Can be sent to another thread. */
export type CutRules = Pick<
  Tower,
  | 'cut'
  | 'projector'
  | 'filter'
  | 'imageSize'
  | 'patchSize'
  | 'merge'
  | 'mean'
  | 'longestEdge'
  | 'shortestEdge'
  | 'pixels'
>

export function cutRules(tower: Tower): CutRules {
  const { cut, projector, filter, imageSize, patchSize, merge, mean, longestEdge, shortestEdge, pixels } =
    tower
  return { cut, projector, filter, imageSize, patchSize, merge, mean, longestEdge, shortestEdge, pixels }
}

/** Throws `unsupported` for an image without pixels or with too many. */
export function cutPicture(rules: CutRules, pixels: Pixels): CutPicture {
  checkPixels(pixels)
  const { imageSize, filter } = rules
  switch (rules.cut) {
    case 'tiles':
      return cutIntoTiles(rules, opaque(pixels))
    case 'padded':
      return asOne(rules, padded(rules, opaque(pixels)))
    case 'cropped':
      return { tiles: [cropped(rules, opaque(pixels))], parts: [0] }
    case 'whole': {
      const { width, height } = wholeSides(rules, pixels)
      return {
        tiles: [resizeRows(opaque(pixels), width, height, filter)],
        parts: ['<|vision_start|>', 0, '<|vision_end|>'],
      }
    }
    case 'stretched':
      return asOne(rules, resizeRows(opaque(pixels), imageSize, imageSize, filter))
  }
}

const asOne = ({ projector }: CutRules, square: Picture): CutPicture => ({
  tiles: [square],
  // The same texts as in transformers' Gemma3Processor.
  parts: projector === 'gemma3' ? ['\n\n<start_of_image>', 0, '<end_of_image>\n\n'] : [0],
})

/**
 * LLaVA 1.5's `expand2square`: centres the image on a square of the mean colour, which CLIP's processor then
 * resizes.
 */
function padded({ mean, imageSize, filter }: CutRules, rows: Rows): Picture {
  const { width, height } = rows
  const side = Math.max(width, height)
  const frame = {
    ...{ width: side, height: side, left: (side - width) >> 1, top: (side - height) >> 1 },
    colour: mean.map((value) => Math.trunc(value * 255)),
  }
  return resizeRows(rows, imageSize, imageSize, filter, { frame })
}

/** transformers' CLIPImageProcessor: resizes the shorter side to a given length, then crops the centre. */
function cropped({ imageSize, shortestEdge, filter }: CutRules, rows: Rows): Picture {
  const side = (own: number) => Math.trunc((shortestEdge * own) / Math.min(rows.width, rows.height))
  const [width, height] = [side(rows.width), side(rows.height)]
  const start = (own: number) => (own - imageSize) >> 1
  const part = { left: start(width), top: start(height), width: imageSize, height: imageSize }
  return resizeRows(rows, width, height, filter, { part })
}

/** Maximum side of an image in transformers, whatever its configuration says. */
const LONGEST = 4096

/**
 * transformers' Idefics3ImageProcessor and Idefics3Processor: the image is enlarged or reduced to its
 * longest side, then to whole tiles; the tiles are ordered row by row, followed by the image as one tile.
 */
function cutIntoTiles({ imageSize: tile, longestEdge, filter }: CutRules, given: Rows): CutPicture {
  const [width, height] = reducedTo(LONGEST, ...longestOf(longestEdge, given))
  const first = resizeRows(given, width, height, filter)
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
function longestOf(longest: number, { width, height }: Sides): [width: number, height: number] {
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

/** Merges adjacent texts. */
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
