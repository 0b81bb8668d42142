// Newer forms of GroupQueryAttention. In: norms of heads inside the operator, as onnxruntime-genai writes
// Qwen3 for WebGPU, and states of a window, as in Gemma 2. Out: whether they match ONNX Runtime, which on a
// CPU runs the same norms as separate nodes and states of the whole text, and whether other attributes are
// rejected.
import { expect, test } from 'vitest'
import { HEAD_EPSILON } from './decoder.ts'
import type { DecoderForm } from './form.ts'
import { judgeDecoder } from './judge.ts'

const LENGTHS = [1, 3, 9, 20]
const GROUP = { attention: 'group', layers: 2, heads: 4, kvHeads: 2 } as const
const INSIDE: DecoderForm = { ...GROUP, headNorms: 'inside' }
const epsilon = { float: HEAD_EPSILON }

test.each<[string, DecoderForm, Partial<DecoderForm>]>([
  ['norms inside', { ...INSIDE, places: 'op', stated: { qk_norm_epsilon: epsilon } }, {}],
  ['norms of one head of keys', { ...INSIDE, kvHeads: 1, stated: { qk_norm_epsilon: epsilon } }, {}],
  [
    'norms with a separate attribute for epsilon',
    {
      ...INSIDE,
      stated: { qk_norm_epsilon: { float: 1 }, q_norm_epsilon: epsilon, k_norm_epsilon: epsilon },
    },
    {},
  ],
  [
    'states of a window',
    { ...GROUP, places: 'op', window: 5, stated: { sliding_window_cache: 1 } },
    { headNorms: undefined },
  ],
  ['norms outside', { ...GROUP, headNorms: 'apart' }, {}],
  [
    'attributes that state the defaults',
    {
      ...GROUP,
      stated: { smooth_softmax: -1, causal: 1, k_quant_type: { text: 'NONE' }, kv_cache_bit_width: 0 },
    },
    { headNorms: undefined },
  ],
])("%s: the answers match ONNX Runtime's", async (_, form, other) => {
  const twin: DecoderForm = { ...form, headNorms: 'apart', stated: {}, ...other }
  expect(await judgeDecoder(form, LENGTHS, false, twin)).toEqual({ is: 'equal', positions: undefined })
})

test.each<[string, DecoderForm, RegExp]>([
  ['different epsilons', { ...INSIDE, stated: { q_norm_epsilon: epsilon } }, /are normed differently/],
  ['rows that see later ones', { ...GROUP, stated: { causal: 0 } }, /see later positions \(causal\)/],
  [
    'window states without a window',
    { ...GROUP, stated: { sliding_window_cache: 1 } },
    /but it has no window \(local_window_size\)/,
  ],
  [
    'lengths of states of a window',
    {
      ...GROUP,
      window: 5,
      stated: { sliding_window_cache: 1 },
      lengths: (g, _, { total }) => g.op('Sub', [g.unsqueeze(total, 0), g.int(1)]),
    },
    /other nodes read its state past_key_values\.0\.key, which only holds a window/,
  ],
  [
    'states of codes',
    { ...GROUP, stated: { k_quant_type: { text: 'PER_TENSOR' } } },
    /its state is quantised/,
  ],
  ['sinks by an attribute', { ...GROUP, stated: { smooth_softmax: 1 } }, /has a sink for each head/],
  ['scores as outputs', { ...GROUP, stated: { qk_output: 1 } }, /its scores are used as an output/],
])('%s are rejected by name', async (_, form, why) => {
  expect(await judgeDecoder(form, LENGTHS)).toEqual({ is: 'refused', why: expect.stringMatching(why) })
})
