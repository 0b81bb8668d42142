// Evaluators of fused operators. In: nothing. Out: how to compute operators that reading a model never
// computes. Tests, which compare graphs on random inputs, pass them to `evaluate`; a page does not load them.
import type { Evaluators } from '../evaluate.ts'
import { attention } from '../operators/attention.ts'
import {
  rotaryEmbedding as contribRotary,
  groupQueryAttention,
  multiHeadAttention,
} from '../operators/contrib/attention.ts'
import { gatherBlockQuantized, matMulNBits } from '../operators/contrib/blocks.ts'
import { rotaryEmbedding } from '../operators/rotary.ts'
import { evaluateAttention } from './attention.ts'
import { evaluateGather, evaluateProduct } from './blocks.ts'
import { evaluateContribRotary, evaluateGroups, evaluateMulti } from './contrib-attention.ts'
import { evaluateRotary } from './rotary.ts'

export const FUSED: Evaluators = new Map([
  [attention, evaluateAttention],
  [rotaryEmbedding, (context) => [evaluateRotary(context)]],
  [contribRotary, (context) => [evaluateContribRotary(context)]],
  [matMulNBits, (context) => [evaluateProduct(context)]],
  [gatherBlockQuantized, (context) => [evaluateGather(context)]],
  [groupQueryAttention, evaluateGroups],
  [multiHeadAttention, evaluateMulti],
])
