// Evaluators of detectors' operators.
import type { Evaluators } from '../evaluate.ts'
import { type Evaluation, flagOf, floatOf, given, intOf, scalarOf, stringOf, unfit } from '../ir/operator.ts'
import { reader, type Tensor, tensorOf, writer, zeros } from '../ir/tensor.ts'
import { within } from '../operators/indexed.ts'
import { boxOf, overlap } from './overlap.ts'

function evaluateSuppression(context: Evaluation): Tensor {
  const { node, inputs } = context
  const [boxes, scores] = [given(context, 0), given(context, 1)]
  const [batch = 0, count = 0, four] = boxes.dims
  const [own, classes = 0, each] = scores.dims
  if (boxes.dims.length !== 3 || four !== 4 || own !== batch || each !== count)
    throw unfit(node, `scores of shape [${scores.dims}] do not fit boxes of shape [${boxes.dims}]`)
  const most = scalarOf(inputs[2]) ?? 0
  const limit = scalarOf(inputs[3]) ?? 0
  const least = scalarOf(inputs[4]) ?? -Infinity
  const [readBox, readScore] = [reader(boxes), reader(scores)]
  const isCentred = flagOf(node, 'center_point_box')
  const selected: number[] = []
  for (let image = 0; image < batch; image++) {
    const all = Array.from({ length: count }, (_, at) => boxOf(readBox, (image * count + at) * 4, isCentred))
    for (let kind = 0; kind < classes; kind++) {
      const score = (at: number) => readScore((image * classes + kind) * count + at)
      const kept: number[] = []
      const order = [...all.keys()]
        .filter((at) => score(at) > least)
        .sort((a, b) => score(b) - score(a) || a - b)
      for (const at of order) {
        if (kept.length >= most) break
        context.spend(kept.length + 1)
        if (kept.every((other) => overlap(all[other]!, all[at]!) <= limit)) kept.push(at)
      }
      for (const at of kept) selected.push(image, kind, at)
    }
  }
  return tensorOf('i64', [selected.length / 3, 3], selected)
}

/** The samples of one bin along one axis: up to two positions each, with weights. Undefined outside. */
type Sample = readonly [low: number, high: number, share: number] | undefined

/**
 * The two pixels around a position, with the weight of the second. Undefined more than a pixel outside the
 * image.
 */
function sampleAt(at: number, size: number): Sample {
  if (at < -1 || at > size) return undefined
  const inside = Math.min(Math.max(at, 0), size - 1)
  const low = Math.floor(inside)
  return [low, Math.min(low + 1, size - 1), inside - low]
}

/** For each bin of an axis, its samples. */
function samplesOf(
  start: number,
  length: number,
  { bins, ratio, size }: { bins: number; ratio: number; size: number },
): Sample[][] {
  const bin = length / bins
  const count = ratio > 0 ? ratio : Math.max(1, Math.ceil(bin))
  return Array.from({ length: bins }, (_, at) =>
    Array.from({ length: count }, (_, each) =>
      sampleAt(start + at * bin + ((each + 0.5) * bin) / count, size),
    ),
  )
}

/** He et al. 2017, section 3: the mean, or the maximum, of samples between pixels. */
function evaluateRoiAlign(context: Evaluation): Tensor {
  const { node } = context
  const [x, boxes, images] = [given(context, 0), given(context, 1), given(context, 2)]
  const [batch = 0, channels = 0, height = 0, width = 0] = x.dims
  const [count = 0, four] = boxes.dims
  if (x.dims.length !== 4 || four !== 4 || `${images.dims}` !== `${count}`)
    throw unfit(node, `boxes of shape [${boxes.dims}] do not fit images of shape [${x.dims}]`)
  const [tall, wide] = [intOf(node, 'output_height', 1), intOf(node, 'output_width', 1)]
  const scale = floatOf(node, 'spatial_scale', 1)
  const ratio = intOf(node, 'sampling_ratio', 0)
  const isLegacy = node.version < 16
  const transform = stringOf(
    node,
    'coordinate_transformation_mode',
    isLegacy ? 'output_half_pixel' : 'half_pixel',
  )
  const isHalf = transform === 'half_pixel'
  const isMax = stringOf(node, 'mode', 'avg') === 'max'
  const [read, corner, imageOf] = [reader(x), reader(boxes), reader(images)]
  const made = zeros(x.dtype, [count, channels, tall, wide])
  const write = writer(made)
  for (let box = 0; box < count; box++) {
    const [x1, y1, x2, y2] = [0, 1, 2, 3].map((at) => corner(box * 4 + at) * scale - (isHalf ? 0.5 : 0)) as [
      number,
      number,
      number,
      number,
    ]
    // Without half pixels, a box is at least one pixel large.
    const long = (from: number, to: number) => (isHalf ? to - from : Math.max(to - from, 1))
    const rows = samplesOf(y1, long(y1, y2), { bins: tall, ratio, size: height })
    const columns = samplesOf(x1, long(x1, x2), { bins: wide, ratio, size: width })
    const image = within(node, imageOf(box), batch)
    context.spend(channels * tall * wide * (rows[0]?.length ?? 0) * (columns[0]?.length ?? 0))
    for (let channel = 0; channel < channels; channel++) {
      const plane = (image * channels + channel) * height * width
      for (const [row, ys] of rows.entries())
        for (const [column, xs] of columns.entries()) {
          const values = ys.flatMap((y) => xs.flatMap((each) => pixels(read, plane, width, y, each, isMax)))
          const total = isMax
            ? values.reduce((a, b) => Math.max(a, b), -Infinity)
            : values.reduce((a, b) => a + b, 0) / (ys.length * xs.length)
          write(((box * channels + channel) * tall + row) * wide + column, total)
        }
    }
  }
  return made
}

/**
 * The weighted pixels around a sample: separately for a maximum, as the standard defines it, or their sum.
 */
function pixels(
  read: (index: number) => number,
  plane: number,
  width: number,
  y: Sample,
  x: Sample,
  isMax: boolean,
): number[] {
  if (y === undefined || x === undefined) return [0]
  const [top, bottom, down] = y
  const [left, right, along] = x
  const at = (row: number, column: number) => read(plane + row * width + column)
  const four = [
    (1 - down) * (1 - along) * at(top, left),
    (1 - down) * along * at(top, right),
    down * (1 - along) * at(bottom, left),
    down * along * at(bottom, right),
  ]
  return isMax ? four : [four.reduce((a, b) => a + b, 0)]
}

export const BOXES: Evaluators = new Map([
  ['NonMaxSuppression', (context) => [evaluateSuppression(context)]],
  ['RoiAlign', (context) => [evaluateRoiAlign(context)]],
])
