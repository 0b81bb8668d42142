// Attention. In: queries, keys and values, a mask, a past. Out: values weighted by the softmax of scores, keys and
// values with their past.
import { flagOf, floatOf, intOf } from '../ir/attributes.ts'
import { broadcastIndices } from '../ir/broadcast.ts'
import { addDims, type Dim, multiplyDims } from '../ir/dims.ts'
import type { Node, Type } from '../ir/graph.ts'
import { type Evaluation, given, type Inference, type Operator, unclaimed, unfit } from '../ir/operator.ts'
import { type DType, FLOATS, reader, type Tensor, writer, zeros } from '../ir/tensor.ts'

const MASKS: readonly DType[] = [...FLOATS, 'bool']

const attention: Operator = {
  name: 'Attention',
  domain: '',
  versions: [23, 26],
  schema: {
    inputs: [3, 6],
    outputs: [1, 3],
    attributes: {
      ...{ is_causal: 'int', scale: 'float', softcap: 'float', softmax_precision: 'int' },
      ...{ q_num_heads: 'int', kv_num_heads: 'int', qk_matmul_output_mode: 'int' },
    },
    dtypes: [FLOATS, FLOATS, FLOATS, MASKS, FLOATS],
  },
  mapping: 'many-to-many',
  layout: 'ILD fixed',
  infer: inferAttention,
  evaluate: evaluateAttention,
}

/** [batch, heads, tokens, width of a head] of an input that may be [batch, tokens, heads * width]. */
function shapeOf<D extends Dim>(node: Node, dims: readonly D[], attribute: string): D[] {
  if (dims.length === 4) return [...dims]
  const heads = intOf(node, attribute, 0)
  const width = dims[2]
  if (dims.length !== 3 || heads < 1 || typeof width !== 'number')
    throw unfit(node, `an input of shape [${dims}] has ${heads} heads`)
  return [dims[0]!, heads as D, dims[1]!, (width / heads) as D]
}

function inferAttention({ node, inputs }: Inference): readonly (Type | undefined)[] {
  const [query, key, value, , past] = inputs
  if (query?.dims === undefined || key?.dims === undefined || value?.dims === undefined) {
    return [query && { dtype: query.dtype }, key && { dtype: key.dtype }, value && { dtype: value.dtype }]
  }
  const q = shapeOf(node, query.dims, 'q_num_heads')
  const [k, v] = [shapeOf(node, key.dims, 'kv_num_heads'), shapeOf(node, value.dims, 'kv_num_heads')]
  const before = (node.inputs[4] ?? '') === '' ? 0 : past?.dims?.[2]
  const grown = (dims: readonly Dim[]) => before !== undefined && dims.with(2, addDims(before, dims[2]!))
  const [b, h, t] = q as [Dim, Dim, Dim]
  const made = query.dims.length === 4 ? [b, h, t, v[3]!] : [b, t, multiplyDims(h, v[3]!)]
  return [
    { dtype: query.dtype, dims: made },
    { dtype: key.dtype, dims: grown(k) || undefined },
    { dtype: value.dtype, dims: grown(v) || undefined },
  ]
}

/** [batch][heads][tokens][width], whatever the axes were. */
function headsOf(node: Node, tensor: Tensor, attribute: string): Tensor {
  const dims = shapeOf(node, tensor.dims, attribute)
  if (tensor.dims.length === 4) return tensor
  const [batch, heads, tokens, width] = dims as [number, number, number, number]
  const made = zeros(tensor.dtype, dims)
  for (let at = 0, next = 0; at < batch * heads; at++) {
    const [b, h] = [Math.floor(at / heads), at % heads]
    for (let t = 0; t < tokens; t++) {
      const from = ((b * tokens + t) * heads + h) * width
      for (let d = 0; d < width; d++) made.data[next++] = tensor.data[from + d]!
    }
  }
  return made
}

/** Past positions, then new ones. */
function grown(past: Tensor | undefined, tensor: Tensor): Tensor {
  if (past === undefined) return tensor
  const [batch, heads, tokens, width] = tensor.dims as [number, number, number, number]
  const before = past.dims[2]!
  const made = zeros(tensor.dtype, [batch, heads, before + tokens, width])
  for (let at = 0; at < batch * heads; at++) {
    const to = at * (before + tokens) * width
    made.data.set(past.data.subarray(at * before * width, (at + 1) * before * width) as never, to)
    const from = at * tokens * width
    made.data.set(tensor.data.subarray(from, from + tokens * width) as never, to + before * width)
  }
  return made
}

function evaluateAttention(context: Evaluation): readonly Tensor[] {
  const { node, inputs } = context
  if (intOf(node, 'qk_matmul_output_mode', 0) !== 0) throw unclaimed(node, 'its scores are asked for')
  const q = headsOf(node, given(context, 0), 'q_num_heads')
  const k = grown(inputs[4], headsOf(node, given(context, 1), 'kv_num_heads'))
  const v = grown(inputs[5], headsOf(node, given(context, 2), 'kv_num_heads'))
  const [batch, heads, tokens, dim] = q.dims as [number, number, number, number]
  const [, kvHeads, total, width] = v.dims as [number, number, number, number]
  const hidden = maskReader(node, inputs[3], [batch, heads, tokens, total])
  const before = inputs[4]?.dims[2] ?? 0
  const isCausal = flagOf(node, 'is_causal')
  const [scale, cap] = [floatOf(node, 'scale', 1 / Math.sqrt(dim)), floatOf(node, 'softcap', 0)]
  const isFlat = given(context, 0).dims.length === 3
  const made = zeros(q.dtype, isFlat ? [batch, tokens, heads * width] : [batch, heads, tokens, width])
  const [readQ, readK, readV, write] = [reader(q), reader(k), reader(v), writer(made)]
  const scores = new Float64Array(total)
  for (let row = 0; row < batch * heads * tokens; row++) {
    const [b, h, t] = [Math.floor(row / heads / tokens), Math.floor(row / tokens) % heads, row % tokens]
    const shared = b * kvHeads + Math.floor((h * kvHeads) / heads)
    for (let at = 0; at < total; at++) {
      let score = 0
      for (let d = 0; d < dim; d++) score += readQ(row * dim + d) * readK((shared * total + at) * dim + d)
      const scaled = score * scale
      const capped = cap > 0 ? cap * Math.tanh(scaled / cap) : scaled
      scores[at] = capped + (isCausal && at > before + t ? -Infinity : hidden(row * total + at))
    }
    const weights = softmax(scores)
    const out = isFlat ? ((b * tokens + t) * heads + h) * width : row * width
    for (let d = 0; d < width; d++) {
      let value = 0
      for (let at = 0; at < total; at++) value += weights[at]! * readV((shared * total + at) * width + d)
      write(out + d, value)
    }
  }
  return [made, k, v]
}

/** What a mask adds to each score; one that ends early hides the positions after it. */
function maskReader(
  node: Node,
  mask: Tensor | undefined,
  dims: readonly number[],
): (index: number) => number {
  if (mask === undefined) return () => 0
  const [columns = 1, total = 1] = [mask.dims.at(-1), dims.at(-1)]
  if (columns !== total && columns !== 1) throw unclaimed(node, `its mask has ${columns} columns of ${total}`)
  const [at, read] = [broadcastIndices(mask.dims, dims), reader(mask)]
  return mask.dtype === 'bool'
    ? (index) => (read(at[index]!) === 0 ? -Infinity : 0)
    : (index) => read(at[index]!)
}

/** Zeros where every score is minus infinity. */
function softmax(scores: Float64Array): Float64Array {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity)
  if (most === -Infinity) return new Float64Array(scores.length)
  const weights = scores.map((score) => Math.exp(score - most))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return weights.map((weight) => weight / total)
}

export const ATTENTION: readonly Operator[] = [attention]
