// Evaluator of DeformConv (Dai et al. 2017, Zhu et al. 2018): a convolution whose taps move by given offsets.
import { type Evaluation, given, intOf, unfit } from '../ir/operator.ts'
import { countOf, reader, stridesOf, type Tensor, writer, zeros } from '../ir/tensor.ts'
import { type Axis, axesOf, lengthOf } from '../operators/images/conv.ts'

/** Optional inputs. */
const BIAS = 3
const FACTORS = 4

/** The elements of a plane that one tap reads between, with their weights. */
interface Sample {
  readonly at: Int32Array
  readonly weight: Float64Array
}

export function evaluateDeformConv(context: Evaluation): Tensor {
  const { node, inputs } = context
  const [x, filters, offsets] = [given(context, 0), given(context, 1), given(context, 2)]
  const [batch = 0, channels = 0, ...sizes] = x.dims
  const [outputs = 0, own = 0, ...kernel] = filters.dims
  const groups = intOf(node, 'group', 1)
  const parts = intOf(node, 'offset_group', 1)
  const axes = axesOf(node, sizes, kernel)
  const places = (axes ?? []).map((axis, at) => Number(lengthOf(axis, sizes[at]!)))
  const taps = countOf(kernel)
  const count = countOf(places)
  const [bias, factors] = [inputs[BIAS], inputs[FACTORS]]
  const isFit =
    axes !== undefined &&
    own * groups === channels &&
    outputs % groups === 0 &&
    channels % parts === 0 &&
    `${offsets.dims}` === `${[batch, parts * taps * axes.length, ...places]}` &&
    (bias === undefined || `${bias.dims}` === `${outputs}`) &&
    (factors === undefined || `${factors.dims}` === `${[batch, parts * taps, ...places]}`)
  if (!isFit)
    throw unfit(
      node,
      `filters [${filters.dims}] and offsets [${offsets.dims}] do not fit its input [${x.dims}]`,
    )
  const corners = 2 ** axes.length
  context.spend(batch * count * taps * corners * (parts + outputs * own))
  const [read, weightAt, shift] = [x, filters, bias].map((each) => each && reader(each))
  const made = zeros(x.dtype, [batch, outputs, ...places])
  const write = writer(made)
  const area = countOf(sizes)
  for (let b = 0; b < batch; b++)
    for (let place = 0; place < count; place++) {
      const samples = samplesAt({ axes, sizes, places, taps, kernel }, parts, b, place, offsets, factors)
      for (let output = 0; output < outputs; output++) {
        const first = Math.floor((output * groups) / outputs) * own
        let sum = shift?.(output) ?? 0
        for (let channel = first; channel < first + own; channel++) {
          const part = Math.floor((channel * parts) / channels)
          const plane = (b * channels + channel) * area
          for (let tap = 0; tap < taps; tap++) {
            const { at, weight } = samples[part * taps + tap]!
            let value = 0
            for (let corner = 0; corner < corners; corner++)
              if (weight[corner] !== 0) value += weight[corner]! * read!(plane + at[corner]!)
            sum += value * weightAt!((output * own + channel - first) * taps + tap)
          }
        }
        write((b * outputs + output) * count + place, sum)
      }
    }
  return made
}

interface Windows {
  readonly axes: readonly Axis[]
  readonly sizes: readonly number[]
  readonly places: readonly number[]
  readonly kernel: readonly number[]
  readonly taps: number
}

/** [offset group][tap]: what each tap reads at a place. Corners outside of the image have the weight 0. */
function samplesAt(
  { axes, sizes, places, kernel, taps }: Windows,
  parts: number,
  batch: number,
  place: number,
  offsets: Tensor,
  factors: Tensor | undefined,
): Sample[] {
  const rank = axes.length
  const count = countOf(places)
  const [steps, taken, placed] = [stridesOf(sizes), stridesOf(kernel), stridesOf(places)]
  const read = reader(offsets)
  const factor = factors === undefined ? () => 1 : reader(factors)
  return Array.from({ length: parts * taps }, (_, line) => {
    const row = batch * parts * taps + line
    const at = new Int32Array(2 ** rank)
    const weight = new Float64Array(2 ** rank).fill(factor(row * count + place))
    for (const [axis, { stride, dilation, before }] of axes.entries()) {
      const own = Math.floor(place / placed[axis]!) % places[axis]!
      const step = Math.floor((line % taps) / taken[axis]!) % kernel[axis]!
      const exact = own * stride - before + step * dilation + read((row * rank + axis) * count + place)
      const low = Math.floor(exact)
      for (let corner = 0; corner < at.length; corner++) {
        const isHigh = (corner >> axis) & 1
        const index = low + isHigh
        const isInside = index >= 0 && index < sizes[axis]!
        at[corner]! += isInside ? index * steps[axis]! : 0
        weight[corner]! *= isInside ? (isHigh ? exact - low : 1 - exact + low) : 0
      }
    }
    return { at, weight }
  })
}
