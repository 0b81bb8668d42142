// Removes a detector's boxes that overlap a better one.
import { checkKeys, readFrom, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { checkValues, choice, type OptionKind, real, whole } from '../../core/base/options/option-kinds.ts'
import { type Box, boxOf, overlap } from '../onnx/evaluators/overlap.ts'
import { type Numbers, oneRow, rowsOf } from './rows.ts'
import { byScore } from './top-k.ts'

/** Options of `nonMaxSuppression`; every key is optional. */
export interface SuppressionOptions {
  /** A box is removed if its intersection over union with a better box exceeds this: 0 to 1. Default: 0.5. */
  readonly iouThreshold?: number | undefined
  /** Boxes with a lower score are ignored. Default: all scores are considered. */
  readonly scoreThreshold?: number | undefined
  /** Maximum number of boxes that are returned. Default: 300. */
  readonly maxBoxes?: number | undefined
  /**
   * The class of each box: boxes of different classes do not remove each other. Default: all in one class.
   */
  readonly classes?: Numbers | undefined
  /**
   * The four numbers of a box. `corners`: left, top, right, bottom; any two opposite corners will do.
   * `center`: the center's x and y, width, height. Default: `corners`.
   */
  readonly format?: 'corners' | 'center' | undefined
}

const OPTIONS = {
  iouThreshold: real(0, 1),
  scoreThreshold: { wanted: 'a number', fits: (value) => typeof value === 'number' && !Number.isNaN(value) },
  maxBoxes: whole(1),
  classes: { wanted: 'a list of numbers', fits: () => true },
  format: choice(['corners', 'center']),
} satisfies Record<keyof SuppressionOptions, OptionKind>

/**
 * Non-maximum suppression: keeps the box with the highest score, removes those that overlap it, and repeats
 * this with the rest. `boxes` has four numbers per box in any unit ([boxes, 4], [1, boxes, 4] or a flat
 * list); `scores` has one per box. Returns the positions of the boxes that are kept, best first.
 *
 * ```ts
 * const kept = nonMaxSuppression(boxes, scores, { iouThreshold: 0.45, scoreThreshold: 0.25 })
 * const found = kept.map((at) => boxes.data.slice(4 * at, 4 * at + 4))
 * ```
 *
 * Boxes with a score of NaN are ignored. Throws `unsupported` if the numbers of boxes, scores and classes
 * differ, and for an option that is out of range.
 */
export function nonMaxSuppression(
  boxes: Numbers,
  scores: Numbers,
  options: SuppressionOptions = {},
): number[] {
  const {
    iouThreshold = 0.5,
    scoreThreshold = Number.NEGATIVE_INFINITY,
    maxBoxes = 300,
    classes,
    format = 'corners',
  } = checkedOptions(options)
  const each = oneRow('scores', scores)
  const kinds = classes === undefined ? undefined : oneRow('classes', classes)
  const corners = boxesOf(boxes, format)
  checkLength('scores', each.length, corners.length)
  if (kinds !== undefined) checkLength('classes', kinds.length, corners.length)
  const kept: number[] = []
  for (const at of byScore(each)) {
    if (kept.length === maxBoxes) break
    if (!(each[at]! >= scoreThreshold)) continue
    const box = corners[at]!
    const isFree = kept.every(
      (other) => kinds?.[other] !== kinds?.[at] || overlap(corners[other]!, box) <= iouThreshold,
    )
    if (isFree) kept.push(at)
  }
  return kept
}

function checkedOptions(options: SuppressionOptions): SuppressionOptions {
  return readFrom('the options', () => {
    checkKeys('the options', options, Object.keys(OPTIONS))
    checkValues(OPTIONS, options)
    return options
  })
}

function boxesOf(boxes: Numbers, format: 'corners' | 'center'): Box[] {
  const { data, dims } = rowsOf('boxes', boxes)
  const isFlat = dims.length === 1 ? data.length % 4 === 0 : dims.at(-1) === 4
  if (!isFlat || dims.slice(0, -2).some((size) => size !== 1))
    throw wrongOption('boxes', `a tensor with dims [${dims}]`, 'one of [boxes, 4]')
  return Array.from({ length: data.length / 4 }, (_, box) =>
    boxOf((at) => data[at]!, box * 4, format === 'center'),
  )
}

function checkLength(name: string, length: number, boxes: number): void {
  if (length === boxes) return
  throw new HalfbyteError(
    'unsupported',
    `${name} has ${length} numbers but there are ${boxes} boxes; give one for each box`,
    { name, length, boxes },
  )
}
