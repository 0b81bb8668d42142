// Inputs for small encoders, used in tests of networks.
import type { NetworkTensor } from '../../helpers/tensors.ts'

/** A tensor of integers. `value` is called with each flat index. */
export const ids = (dims: readonly number[], value: (at: number) => number): NetworkTensor => ({
  dtype: 'i64',
  dims,
  data: BigInt64Array.from({ length: dims.reduce((a, b) => a * b, 1) }, (_, at) => BigInt(value(at))),
})

/**
 * Inputs of a BERT with `vocabulary` tokens. `mask` is 1 for each token that is read. Default: all tokens.
 */
export const encoderInputs = (
  vocabulary: number,
  [batch, tokens]: readonly [batch: number, tokens: number],
  mask: (at: number) => number = () => 1,
) => ({
  input_ids: ids([batch, tokens], (at) => (at * 7) % vocabulary),
  attention_mask: ids([batch, tokens], mask),
  token_type_ids: ids([batch, tokens], (at) => at % 2),
})
