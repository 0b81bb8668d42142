// The vision tower of a multimodal model: its sizes, and how its rows become rows of the language model.
//
// A tower reads an image as patches that attend to each other; a projector turns its rows into rows of the
// language model.
import { type Fields, unbuiltVariant } from '../arch/config/fields.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Activation } from '../graph/ir.ts'
import type { Filter } from './resize.ts'

/**
 * `mlp`: LLaVA's; `idefics3`: SmolVLM's, which merges squares of rows; `gemma3`: Gemma 3's, which takes the
 * mean of squares; `qwen2vl_merger` and `qwen2.5vl_merger`: Qwen2-VL's and Qwen2.5-VL's, which merge squares
 * and then apply an `mlp`. The names are llama.cpp's.
 */
export type Projector = 'mlp' | 'idefics3' | 'gemma3' | 'qwen2vl_merger' | 'qwen2.5vl_merger'

/**
 * How an image becomes squares. `tiles`: SmolVLM's tiles. `padded`: centred on a square of the mean colour.
 * `cropped`: the centre of the image, resized so that its shorter side is `shortestEdge`. `stretched`:
 * resized to a square. `whole`: not a square, but resized to a whole number of merged squares per side, as
 * close to the image as possible.
 */
type Cut = 'tiles' | 'padded' | 'cropped' | 'stretched' | 'whole'

export interface Tower {
  /** The file's name, for messages. */
  readonly name: string
  readonly projector: Projector
  /** Pixels per side of the image (for `whole`: of a square as large as the largest image) and of a patch. */
  readonly imageSize: number
  readonly patchSize: number
  readonly hiddenSize: number
  readonly layers: number
  readonly heads: number
  readonly intermediateSize: number
  readonly normEpsilon: number
  /** `quick_gelu`: x * sigmoid(1.702 x), as in CLIP. */
  readonly activation: Activation | 'quick_gelu'
  readonly projectorActivation: Activation
  /** True if a class row, which the projector does not read, precedes the rows of the patches. */
  readonly hasClass: boolean
  /** Norms before the first and after the last layer. */
  readonly hasPreNorm: boolean
  readonly hasPostNorm: boolean
  /** Rows per side of a square that becomes one row of the language model. */
  readonly merge: number
  /** Numbers in a row of the language model. */
  readonly width: number
  /** Per channel, red first, for pixels from 0 to 1. */
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
  readonly cut: Cut
  readonly filter: Filter
  /** Pixels on the longer side of an image that is split into tiles. */
  readonly longestEdge: number
  /** Pixels on the shorter side of an image that is cropped. */
  readonly shortestEdge: number
  /** Minimum and maximum number of pixels of an image that is read as `whole`. */
  readonly pixels?: readonly [least: number, most: number] | undefined
  /** Absent: every layer attends to all rows. */
  readonly windows?: TowerWindows | undefined
}

/** Layers whose rows attend only to rows in the same square window of the image. */
export interface TowerWindows {
  /** Patches per side of a window; windows at the right and lower edges of an image may be smaller. */
  readonly side: number
  /** Whether a layer attends to all rows. */
  readonly isFull: (layer: number) => boolean
}

/** The sides of an image, in pixels or in patches. */
export interface Sides {
  readonly width: number
  readonly height: number
}

/** Patches per side of a square image. */
const gridOf = ({ imageSize, patchSize }: Tower): number => imageSize / patchSize

/** Patches per row and column of an image. */
export const patchesIn = (
  { patchSize, imageSize }: Tower,
  { width, height }: Sides = { width: imageSize, height: imageSize },
): Sides => ({ width: width / patchSize, height: height / patchSize })

/** Maximum number of rows of the tower for one image. */
export const towerRows = (tower: Tower): number => gridOf(tower) ** 2 + (tower.hasClass ? 1 : 0)

/**
 * Whether rows are rotated by their coordinates and squares are merged, so that there is no position table.
 */
export const isPlaced = ({ projector }: Pick<Tower, 'projector'>): boolean =>
  projector === 'qwen2vl_merger' || projector === 'qwen2.5vl_merger'

/** Whether norms are RMS norms without biases, and feed-forward blocks have a gate. */
export const hasGates = ({ projector }: Pick<Tower, 'projector'>): boolean => projector === 'qwen2.5vl_merger'

/** Numbers in a row that the projector reads. */
export const gatheredWidth = ({ projector, hiddenSize, merge }: Tower): number =>
  projector === 'gemma3' ? hiddenSize : hiddenSize * merge ** 2

/** Rows of the language model for one image. Default: the maximum. */
export const pictureRows = (tower: Tower, { width, height } = patchesIn(tower)): number =>
  (width * height) / tower.merge ** 2

/**
 * The rows of each square side by side, top to bottom and left to right, in the order of `pixel_shuffle` in
 * transformers' Idefics3; or their mean. The class row is omitted.
 */
export function gather(
  tower: Tower,
  { width, height }: Sides,
  rowAt: (row: number) => Float32Array,
  into: Float32Array,
): void {
  const { merge, hiddenSize, hasClass, projector } = tower
  const first = hasClass ? 1 : 0
  let at = 0
  for (let y = 0; y < height; y += merge) {
    for (let x = 0; x < width; x += merge) {
      for (let square = 0; square < merge * merge; square++) {
        const row = (y + Math.floor(square / merge)) * width + x + (square % merge)
        if (projector === 'gemma3') addTo(into.subarray(at, at + hiddenSize), rowAt(first + row), merge ** -2)
        else {
          into.set(rowAt(first + row), at)
          at += hiddenSize
        }
      }
      if (projector === 'gemma3') at += hiddenSize
    }
  }
}

function addTo(sum: Float32Array, row: Float32Array, share: number): void {
  for (let i = 0; i < sum.length; i++) sum[i]! += row[i]! * share
}

/** No tower has exceeded these limits, so a header with larger numbers is almost certainly wrong. */
const MAX = {
  imageSize: 1 << 11,
  patchSize: 1 << 7,
  hiddenSize: 1 << 13,
  layers: 1 << 7,
  heads: 1 << 7,
  intermediateSize: 1 << 15,
  merge: 1 << 4,
  width: 1 << 14,
  longestEdge: 1 << 13,
  shortestEdge: 1 << 12,
} as const
/** Maximum number of patches per step. */
const MAX_ROWS = 1 << 13

/**
 * Throws `architecture` for impossible numbers, `unsupported` for head sizes that the kernels do not support.
 */
export function checkTower(tower: Tower): Tower {
  const { name, imageSize, patchSize, merge, hiddenSize, heads, normEpsilon, mean, deviation, windows } =
    tower
  for (const key of Object.keys(MAX) as (keyof typeof MAX)[]) {
    const value = tower[key]
    if (Number.isSafeInteger(value) && value > 0 && value <= MAX[key]) continue
    throw wrong(`${key} is ${value} but must be a whole number from 1 to ${MAX[key]}`)
  }
  if (imageSize % (patchSize * merge) !== 0) {
    throw wrong(`images of ${imageSize} pixels cannot be divided into squares of ${merge} x ${patchSize}`)
  }
  if (towerRows(tower) > MAX_ROWS)
    throw wrong(`an image has ${towerRows(tower)} patches, more than ${MAX_ROWS}`)
  if (!(normEpsilon >= 0 && normEpsilon < 1)) throw wrong(`the epsilon of norms is ${normEpsilon}`)
  if (tower.cut === 'cropped' && tower.shortestEdge < imageSize)
    throw wrong(`a square of ${imageSize} pixels cannot be cropped from a side of ${tower.shortestEdge}`)
  for (const list of [mean, deviation]) {
    if (list.length !== 3 || !list.every((value) => value >= 0 && value <= 1))
      throw wrong(`the mean or deviation of channels is [${list}] but must be three numbers from 0 to 1`)
  }
  if (deviation.some((value) => value === 0)) throw wrong('the deviation of a channel is 0')
  if (windows !== undefined && !(windows.side >= merge && windows.side % merge === 0))
    throw wrong(`windows of ${windows.side} patches are not a whole number of squares of ${merge}`)
  const headDim = hiddenSize / heads
  if (!Number.isInteger(headDim) || headDim % 4 !== 0 || headDim > 256) {
    throw unbuiltVariant(name, `a head width of ${headDim}`, 'a multiple of 4 up to 256')
  }
  return tower

  function wrong(sentence: string): HalfbyteError {
    return new HalfbyteError(
      'architecture',
      `${name}: ${sentence}; the configuration is wrong, so fetch or convert the file again`,
      { file: name },
    )
  }
}

/** The steps that all transformers processors apply to an image. */
export const PICTURE_STEPS: readonly string[] = ['do_resize', 'do_rescale', 'do_normalize']

/** Throws `unsupported` for a processor that skips one of `steps`, or scales pixels differently. */
export function checkSteps(processor: Fields, steps: readonly string[]): void {
  const { file } = processor
  for (const key of steps)
    if (!processor.fact(key, true)) throw unbuiltVariant(file, `${key} false`, `${key} true`)
  const factor = processor.number('rescale_factor', 1 / 255)
  if (Math.abs(factor * 255 - 1) > 1e-6)
    throw unbuiltVariant(file, `rescale_factor ${factor}`, 'rescale_factor 1/255')
}

/** The error for a file that is given as a tower but is not one. */
export const noTower = (file: string): HalfbyteError =>
  new HalfbyteError(
    'architecture',
    `${file} is not a vision tower; give the mmproj file that belongs to the model (GGUF, architecture clip), ` +
      'or a folder of safetensors whose config.json has a vision_config',
    { file },
  )
