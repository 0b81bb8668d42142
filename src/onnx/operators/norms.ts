// Norms and rotation. In: a tensor, weights or angles. Out: the tensor normed over its last axes, or rotated.
import { flagOf, floatOf, intOf } from '../ir/attributes.ts'
import { axisOf, broadcastIndices } from '../ir/broadcast.ts'
import type { Dim } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import type { Inference, Operator } from '../ir/operator.ts'
import { type Evaluation, given, unclaimed, unfit } from '../ir/operator.ts'
import { countOf, FLOATS, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'

const sameType = ({ inputs: [input] }: Inference) => [input && { dtype: input.dtype, dims: input.dims }]

/** Over the axes from `axis` on. Sums are f64, which is within what `stash_type` asks for. */
function norm(name: string, version: number, isCentred: boolean): Operator {
  return {
    name,
    domain: '',
    versions: [version, 26],
    schema: {
      inputs: [2, isCentred ? 3 : 2],
      outputs: [1, isCentred ? 3 : 1],
      attributes: { axis: 'int', epsilon: 'float', stash_type: 'int' },
      dtypes: [FLOATS],
    },
    mapping: 'many-to-many',
    layout: 'ILD fixed',
    infer: inferNorm,
    evaluate: (context) => evaluateNorm(context, isCentred),
  }
}

/** The norm; of a layer norm also the means and the inverse deviations, in f32. */
function inferNorm({ node, inputs: [input] }: Inference): readonly (Type | undefined)[] {
  if (input?.dims === undefined) return [input && { dtype: input.dtype }]
  const statistics = { dtype: 'f32', dims: statisticDims(node, input.dims) } as const
  return [{ dtype: input.dtype, dims: input.dims }, statistics, statistics]
}

function statisticDims<D extends Dim>(node: Node, dims: readonly D[]): D[] {
  const axis = axisOf(node, intOf(node, 'axis', -1), dims.length)
  return dims.map((size, at) => (at < axis ? size : (1 as D)))
}

function evaluateNorm(context: Evaluation, isCentred: boolean): readonly Tensor[] {
  const { node, inputs } = context
  const [input, scale] = [given(context, 0), given(context, 1)]
  const axis = axisOf(node, intOf(node, 'axis', -1), input.dims.length)
  const epsilon = floatOf(node, 'epsilon', 1e-5)
  const size = countOf(input.dims.slice(axis))
  const made = zeros(input.dtype, input.dims)
  const means = zeros('f32', statisticDims(node, input.dims))
  const inverses = zeros('f32', means.dims)
  const [read, write] = [reader(input), writer(made)]
  const weights = [scale, inputs[2]].map((tensor) => {
    if (tensor === undefined) return undefined
    const [at, value] = [broadcastIndices(tensor.dims, input.dims), reader(tensor)]
    return (index: number) => value(at[index]!)
  })
  for (let start = 0; start < made.data.length; start += size) {
    let [mean, square] = [0, 0]
    if (isCentred) for (let at = 0; at < size; at++) mean += read(start + at) / size
    for (let at = 0; at < size; at++) square += (read(start + at) - mean) ** 2 / size
    const factor = 1 / Math.sqrt(square + epsilon)
    means.data[start / size] = mean
    inverses.data[start / size] = factor
    for (let at = start; at < start + size; at++)
      write(at, (read(at) - mean) * factor * weights[0]!(at) + (weights[1]?.(at) ?? 0))
  }
  return [made, means, inverses]
}

/** x of [b, h, t, d], or [b, t, h * d]; angles [b, t, d / 2], or tables that positions choose rows of. */
const rotaryEmbedding: Operator = {
  name: 'RotaryEmbedding',
  domain: '',
  versions: [23, 26],
  schema: {
    inputs: [3, 4],
    outputs: [1, 1],
    attributes: { interleaved: 'int', num_heads: 'int', rotary_embedding_dim: 'int' },
    dtypes: [FLOATS, FLOATS, FLOATS, ['i64']],
  },
  mapping: 'one-to-one',
  layout: 'ILD fixed',
  infer: sameType,
  evaluate: (context) => [evaluateRotation(context)],
}

function evaluateRotation(context: Evaluation): Tensor {
  const { node, inputs } = context
  const [input, cos, sin] = [given(context, 0), given(context, 1), given(context, 2)]
  const isFlat = input.dims.length === 3
  const heads = isFlat ? intOf(node, 'num_heads', 0) : input.dims[1]!
  if (heads === 0) throw unclaimed(node, 'it has rows and does not say of how many heads')
  const [batch = 1, tokens = 1] = isFlat ? input.dims : [input.dims[0]!, input.dims[2]!]
  const dim = isFlat ? input.dims[2]! / heads : input.dims[3]!
  const stated = intOf(node, 'rotary_embedding_dim', 0)
  const half = (stated === 0 ? dim : stated) / 2
  if (cos.dims.at(-1) !== half)
    throw unfit(node, `its angles are [${cos.dims}] where rows of ${half} are due`)
  const isInterleaved = flagOf(node, 'interleaved')
  const positions = inputs[3] && reader(inputs[3])
  const made: Tensor = { ...input, data: input.data.slice() }
  const [read, write, c, s] = [reader(input), writer(made), reader(cos), reader(sin)]
  for (let b = 0; b < batch; b++) {
    for (let t = 0; t < tokens; t++) {
      const row = positions === undefined ? b * tokens + t : positions(b * tokens + t)
      for (let h = 0; h < heads; h++) {
        const start = isFlat ? ((b * tokens + t) * heads + h) * dim : ((b * heads + h) * tokens + t) * dim
        for (let pair = 0; pair < half; pair++) {
          const first = start + (isInterleaved ? 2 * pair : pair)
          const second = start + (isInterleaved ? 2 * pair + 1 : pair + half)
          const [x, y] = [read(first), read(second)]
          const [cosine, sine] = [c(row * half + pair), s(row * half + pair)]
          write(first, x * cosine - y * sine)
          write(second, x * sine + y * cosine)
        }
      }
    }
  }
  return made
}

export const NORMS: readonly Operator[] = [
  norm('RMSNormalization', 23, false),
  norm('LayerNormalization', 17, true),
  rotaryEmbedding,
]
