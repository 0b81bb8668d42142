// Attention: the types of its outputs, which are the result, the keys and values including those of earlier
// steps, and the scores.

import { addDims, type Dim, divideDims, multiplyDims } from '../ir/dims.ts'
import { hasInput, type Node, type Type } from '../ir/graph.ts'
import { define, type Inference, intOf, type Operator, sameType, unfit } from '../ir/operator.ts'
import { FLOATS, INTEGERS } from '../ir/tensor.ts'

export const rotaryEmbedding: Operator = define({
  name: 'RotaryEmbedding',
  since: 23,
  inputs: [3, 4],
  attributes: { interleaved: 'int', num_heads: 'int', rotary_embedding_dim: 'int' },
  dtypes: [FLOATS, FLOATS, FLOATS, ['i64']],
  infer: sameType,
})

export const ROTARY: readonly Operator[] = [rotaryEmbedding]

export const attention: Operator = define({
  name: 'Attention',
  since: 23,
  inputs: [3, 7],
  outputs: [1, 4],
  attributes: {
    is_causal: 'int',
    kv_num_heads: 'int',
    q_num_heads: 'int',
    qk_matmul_output_mode: 'int',
    scale: 'float',
    softcap: 'float',
    softmax_precision: 'int',
    left_window_size: 'int',
    right_window_size: 'int',
  },
  dtypes: [FLOATS, FLOATS, FLOATS, [...FLOATS, ...INTEGERS, 'bool'], FLOATS, FLOATS, ['i64']],
  infer: inferAttention,
})

type Axes = readonly [Dim, Dim, Dim, Dim]

/** [batch][head][row][dim] of an input, if it is known. */
function axesOf(node: Node, type: Type | undefined, count: number | undefined): Axes | undefined {
  const { dims } = type ?? {}
  if (dims?.length === 4) return dims as unknown as Axes
  if (dims?.length !== 3 || count === undefined) return undefined
  if (count < 1) throw unfit(node, `it has ${count} heads`)
  return [dims[0]!, count, dims[1]!, divideDims(dims[2]!, count)]
}

function inferAttention({ node, inputs: [q, k, v, , past] }: Inference): (Type | undefined)[] {
  const query = axesOf(node, q, intOf(node, 'q_num_heads', undefined))
  const own = intOf(node, 'kv_num_heads', undefined)
  const key = axesOf(node, k, own)
  const value = axesOf(node, v, own)
  const hasPast = hasInput(node, 4)
  const before = hasPast ? past?.dims?.[2] : 0
  const grown = (axes: Axes | undefined) =>
    axes && before !== undefined ? axes.with(2, addDims(axes[2], before)) : undefined
  const keys = grown(key)
  const values = grown(value)
  const made =
    query && value
      ? q?.dims?.length === 4
        ? query.with(3, value[3])
        : [query[0], query[2], multiplyDims(query[1], value[3])]
      : undefined
  return [
    q && { dtype: q.dtype, dims: made },
    k && { dtype: k.dtype, dims: keys },
    v && { dtype: v.dtype, dims: values },
    q && { dtype: q.dtype, dims: query && keys ? [...query.slice(0, 3), keys[2]!] : undefined },
  ]
}

export const ATTENTION: readonly Operator[] = [attention]
