// Rotary positions. In: the type of heads. Out: that of the rotated ones.
import type { Operator } from '../ir/operator.ts'
import { FLOATS } from '../ir/tensor.ts'
import { define, sameType } from './define.ts'

export const rotaryEmbedding: Operator = define({
  name: 'RotaryEmbedding',
  since: 23,
  inputs: [3, 4],
  attributes: { interleaved: 'int', num_heads: 'int', rotary_embedding_dim: 'int' },
  dtypes: [FLOATS, FLOATS, FLOATS, ['i64']],
  mapping: 'one-to-one',
  layout: 'ILD fixed',
  infer: sameType,
})

export const ROTARY: readonly Operator[] = [rotaryEmbedding]
