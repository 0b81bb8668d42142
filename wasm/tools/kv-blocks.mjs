// Keys and values in a block of 64 positions (wasm/attention/kv.h), for the benches.

/** The codes of the formats in ops. */
export const KV_CODES = { f32: 0, int8: 1, fp8: 2 }

/** Bytes of one layer's keys and of its values in a block. `k` and `v`: their formats. */
export const partBytes = ({ kvHeads, dim, k, v }) => {
  const each = (stored, words) => kvHeads * 64 * (stored === 'f32' ? 4 * dim : dim + 4 * words)
  return [each(k, 3), each(v, v === 'fp8' ? 1 : 2)]
}
