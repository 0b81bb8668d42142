// Evaluators of operators on signals.
import type { Evaluators } from '../evaluate.ts'
import { axisOf } from '../ir/broadcast.ts'
import { type Evaluation, flagOf, given, scalarOf, unclaimed, unfit } from '../ir/operator.ts'
import { countOf, reader, type Tensor, tensorOf } from '../ir/tensor.ts'
import { outputDtype, transformedAxis } from '../operators/signals.ts'

/** Sum of cosines: `terms[0] - terms[1] cos(2 pi n / N) + terms[2] cos(4 pi n / N)`. */
function evaluateWindow(context: Evaluation, terms: readonly number[]): Tensor {
  const { node } = context
  const size = scalarOf(given(context, 0)) ?? 0
  if (!(size >= 0)) throw unfit(node, `its size is ${size}`)
  context.spend(size)
  const period = flagOf(node, 'periodic', true) ? size : size - 1
  const values = Float64Array.from({ length: size }, (_, at) =>
    terms.reduce(
      (sum, term, each) => sum + (-1) ** each * term * Math.cos((2 * Math.PI * each * at) / period),
      0,
    ),
  )
  return tensorOf(outputDtype(node), [size], values)
}

/** One row of a transform, as real and imaginary parts in turn. */
type Row = Float64Array

/** Sums over all samples for each of `bins`. Bluestein's algorithm, for example, would be faster. */
function transformed(row: Row, length: number, bins: number, sign: number): Row {
  const cos = Float64Array.from({ length }, (_, at) => Math.cos((2 * Math.PI * at) / length))
  const sin = Float64Array.from({ length }, (_, at) => sign * Math.sin((2 * Math.PI * at) / length))
  const made = new Float64Array(2 * bins)
  const samples = Math.min(length, row.length / 2)
  for (let bin = 0; bin < bins; bin++) {
    let [real, imaginary] = [0, 0]
    for (let at = 0, turn = 0; at < samples; at++, turn = (turn + bin) % length) {
      const [a, b] = [row[2 * at]!, row[2 * at + 1]!]
      real += a * cos[turn]! - b * sin[turn]!
      imaginary += a * sin[turn]! + b * cos[turn]!
    }
    made[2 * bin] = real
    made[2 * bin + 1] = imaginary
  }
  return made
}

/** Half a spectrum of `length` bins with its mirror image. */
function whole(row: Row, length: number): Row {
  const made = new Float64Array(2 * length)
  made.set(row.subarray(0, 2 * length))
  for (let bin = row.length / 2; bin < length; bin++) {
    made[2 * bin] = row[2 * (length - bin)] ?? 0
    made[2 * bin + 1] = -(row[2 * (length - bin) + 1] ?? 0)
  }
  return made
}

function evaluateDft(context: Evaluation): Tensor {
  const { node, inputs } = context
  const x = given(context, 0)
  const parts = x.dims.at(-1)
  const axis = axisOf(node, transformedAxis(node, scalarOf(inputs[2])), x.dims.length)
  if (x.dims.length < 2 || axis === x.dims.length - 1 || (parts !== 1 && parts !== 2))
    throw unfit(
      node,
      `it transforms axis ${axis} of [${x.dims}], whose last axis holds the parts of complex numbers`,
    )
  const isInverse = flagOf(node, 'inverse')
  const isHalf = flagOf(node, 'onesided')
  const size = x.dims[axis]!
  const length = scalarOf(inputs[1]) ?? (isInverse && isHalf ? 2 * (size - 1) : size)
  if (!(length > 0)) throw unfit(node, `its length is ${length}`)
  const bins = isHalf && !isInverse ? Math.floor(length / 2) + 1 : length
  const outParts = isHalf && isInverse ? 1 : 2
  const inner = countOf(x.dims.slice(axis + 1, -1))
  const outer = countOf(x.dims.slice(0, axis))
  context.spend(2 * outer * inner * bins * length)
  const read = reader(x)
  const dims = [...x.dims.with(axis, bins).slice(0, -1), outParts]
  const made = new Float64Array(countOf(dims))
  for (let line = 0; line < outer * inner; line++) {
    const [block, at] = [Math.floor(line / inner), line % inner]
    const row = new Float64Array(2 * size)
    for (let each = 0; each < size; each++)
      for (let part = 0; part < parts; part++)
        row[2 * each + part] = read(((block * size + each) * inner + at) * parts + part)
    const from = isHalf && isInverse ? whole(row, length) : row
    const out = transformed(from, length, bins, isInverse ? 1 : -1)
    for (let bin = 0; bin < bins; bin++)
      for (let part = 0; part < outParts; part++)
        made[((block * bins + bin) * inner + at) * outParts + part] =
          out[2 * bin + part]! / (isInverse ? length : 1)
  }
  return tensorOf(x.dtype, dims, made)
}

function evaluateStft(context: Evaluation): Tensor {
  const { node, inputs } = context
  const x = given(context, 0)
  const step = scalarOf(given(context, 1)) ?? 0
  const taper = inputs[2]
  const length = scalarOf(inputs[3]) ?? taper?.data.length ?? 0
  const [batch = 0, samples = 0, parts = 1] = x.dims
  if (
    !(step > 0) ||
    !(length > 0) ||
    length > samples ||
    (taper !== undefined && taper.data.length !== length)
  )
    throw unfit(node, `frames of ${length} every ${step} do not fit a signal of ${samples} and its window`)
  const isHalf = flagOf(node, 'onesided', true)
  if (isHalf && parts === 2) throw unclaimed(node, 'it makes half a spectrum of a complex signal')
  const frames = Math.floor((samples - length) / step) + 1
  const bins = isHalf ? Math.floor(length / 2) + 1 : length
  context.spend(2 * batch * frames * bins * length)
  const read = reader(x)
  const weight = taper === undefined ? () => 1 : reader(taper)
  const made = new Float64Array(batch * frames * bins * 2)
  for (let frame = 0; frame < batch * frames; frame++) {
    const from = Math.floor(frame / frames) * samples + (frame % frames) * step
    const row = Float64Array.from({ length: 2 * length }, (_, at) => {
      const sample = Math.floor(at / 2)
      return at % 2 < parts ? read((from + sample) * parts + (at % 2)) * weight(sample) : 0
    })
    made.set(transformed(row, length, bins, -1), frame * bins * 2)
  }
  return tensorOf(x.dtype, [batch, frames, bins, 2], made)
}

const melOf = (hertz: number): number => 2595 * Math.log10(1 + hertz / 700)
const hertzOf = (mel: number): number => 700 * (10 ** (mel / 2595) - 1)

/** [spectrum bins, mel bins]: triangles of equal width in mel, as the standard rounds them to bins. */
function evaluateMelWeights(context: Evaluation): Tensor {
  const { node } = context
  const [bands, length, rate, low, high] = [0, 1, 2, 3, 4].map((at) => scalarOf(given(context, at)) ?? 0) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const bins = Math.floor(length / 2) + 1
  if (!(bands > 0) || !(length > 0) || !(rate > 0)) throw unfit(node, `it has ${bands} bands of ${bins} bins`)
  context.spend(bands * bins)
  const step = (melOf(high) - melOf(low)) / (bands + 2)
  const edges = Array.from({ length: bands + 2 }, (_, at) =>
    Math.floor(((length + 1) * hertzOf(melOf(low) + at * step)) / rate),
  )
  const made = new Float64Array(bins * bands)
  for (let band = 0; band < bands; band++) {
    const [first, peak, last] = [edges[band]!, edges[band + 1]!, edges[band + 2]!]
    if (first === peak) made[peak * bands + band] = 1
    else for (let bin = first; bin <= peak; bin++) made[bin * bands + band] = (bin - first) / (peak - first)
    if (last > peak)
      for (let bin = peak; bin < last; bin++) made[bin * bands + band] = (last - bin) / (last - peak)
  }
  return tensorOf(outputDtype(node), [bins, bands], made)
}

export const SIGNALS: Evaluators = new Map([
  ['BlackmanWindow', (context) => [evaluateWindow(context, [0.42, 0.5, 0.08])]],
  ['HammingWindow', (context) => [evaluateWindow(context, [25 / 46, 21 / 46])]],
  ['HannWindow', (context) => [evaluateWindow(context, [0.5, 0.5])]],
  ['DFT', (context) => [evaluateDft(context)]],
  ['MelWeightMatrix', (context) => [evaluateMelWeights(context)]],
  ['STFT', (context) => [evaluateStft(context)]],
])
