// The table of handlers, which translate operators into the graph of a step.
import type { RaisedOperator } from '../operator-table.ts'
import { causalConvolution, convolution, lastColumns } from './handlers/convolution.ts'
import {
  add,
  cast,
  divideBy,
  fastGelu,
  gelu,
  multiply,
  multiplyRows,
  quickGelu,
  relu,
  same,
  scale,
  sigmoid,
  sliceRows,
  splitRows,
  swish,
  tanh,
  viewWeight,
} from './handlers/elementwise.ts'
import * as gpt2 from './handlers/embed.ts'
import { gather, gatherBlocks } from './handlers/embed.ts'
import * as fused from './handlers/fused.ts'
import { groupQueryAttention } from './handlers/group-attention.ts'
import {
  dequantize,
  gemm,
  matMul,
  matMulBlocks,
  matMulLevels,
  multiplyCodes,
  multiplyDynamic,
  multiplyScales,
  quantize,
  quantizeRows,
  transposeMatrix,
} from './handlers/linear.ts'
import { multiHeadAttention } from './handlers/multi-head.ts'
import {
  addToStatistic,
  centred,
  divide,
  inverse,
  layerNorm,
  mean,
  multiplyStatistic,
  power,
  rmsNorm,
  root,
  skipLayerNorm,
  skipRmsNorm,
  squared,
} from './handlers/norms.ts'
import * as pairs from './handlers/pairs.ts'
import * as recurrent from './handlers/recurrent.ts'
import {
  addTurned,
  concat,
  divideHeads,
  expand,
  gatherHeads,
  multiplyHeads,
  negate,
  reshape,
  slice,
  split,
  tile,
  transpose,
  unsqueeze,
} from './handlers/rotation.ts'
import {
  addMask,
  capScores,
  chooseByMask,
  divideScores,
  fillGaps,
  findGaps,
  multiplyMatrices,
  scaleScores,
  softmax,
} from './handlers/scores.ts'
import type { Handler, Handlers } from './translator.ts'

/** The result of the first handler that accepts the node. */
const any =
  (...handlers: readonly Handler[]): Handler =>
  async (t, node) => {
    for (const handler of handlers) if (await handler(t, node)) return true
    return false
  }

/** Every operator whose row says that it is raised has a handler. */
const RAISED: Readonly<Record<RaisedOperator, Handler>> = {
  Add: any(add, addTurned, addMask, addToStatistic, recurrent.add),
  Sub: centred,
  Mul: any(
    multiplyScales,
    multiply,
    multiplyStatistic,
    multiplyHeads,
    scaleScores,
    squared,
    multiplyRows,
    recurrent.multiply,
    scale,
  ),
  Div: any(divide, divideHeads, divideScores, divideBy),
  Pow: power,
  ReduceMean: mean,
  Sqrt: root,
  Reciprocal: inverse,
  Tanh: any(tanh, capScores),
  Sigmoid: any(sigmoid, recurrent.sigmoid),
  Gelu: gelu,
  Relu: relu,
  Swish: swish,
  Identity: any(same, viewWeight),
  Cast: any(cast, viewWeight),
  Gather: any(recurrent.pick, gatherHeads, pairs.pick, gather),
  Tile: tile,
  MatMul: any(matMul, multiplyMatrices, recurrent.matMul),
  Gemm: gemm,
  MatMulInteger: multiplyCodes,
  DynamicQuantizeLinear: quantizeRows,
  QuantizeLinear: quantize,
  DequantizeLinear: dequantize,
  Reshape: any(viewWeight, pairs.reshape, reshape, recurrent.relay),
  Transpose: any(viewWeight, transposeMatrix, transpose, recurrent.transpose),
  Unsqueeze: any(unsqueeze, pairs.apart, recurrent.relay),
  Squeeze: any(pairs.together, recurrent.relay),
  Expand: expand,
  Slice: any(slice, pairs.slice, sliceRows, lastColumns, recurrent.slice),
  Split: any(split, pairs.split, splitRows, recurrent.split),
  Conv: convolution,
  Neg: any(negate, recurrent.negative),
  Concat: any(concat, pairs.concat, recurrent.concat),
  Where: any(fillGaps, chooseByMask),
  IsNaN: findGaps,
  Softmax: softmax,
  Exp: recurrent.exponential,
  Softplus: recurrent.softplus,
  ReduceSum: recurrent.reduceSum,
  Einsum: recurrent.einsum,
  RotaryEmbedding: fused.rotaryEmbedding,
  Attention: fused.attention,
  RMSNormalization: rmsNorm,
  SimplifiedLayerNormalization: rmsNorm,
  LayerNormalization: layerNorm,
  'com.microsoft:SimplifiedLayerNormalization': rmsNorm,
  'com.microsoft:SkipSimplifiedLayerNormalization': skipRmsNorm,
  'com.microsoft:SkipLayerNormalization': skipLayerNorm,
  'com.microsoft:EmbedLayerNormalization': gpt2.embedLayerNorm,
  'com.microsoft:Attention': gpt2.attention,
  'com.microsoft:RotaryEmbedding': fused.contribRotaryEmbedding,
  'com.microsoft:QuickGelu': quickGelu,
  'com.microsoft:Gelu': gelu,
  'com.microsoft:FastGelu': fastGelu,
  'com.microsoft:GatherBlockQuantized': gatherBlocks,
  'com.microsoft:MatMulNBits': matMulBlocks,
  'com.microsoft:MatMulBnb4': matMulLevels,
  'com.microsoft:DynamicQuantizeMatMul': multiplyDynamic,
  'com.microsoft:GroupQueryAttention': groupQueryAttention,
  'com.microsoft:MultiHeadAttention': multiHeadAttention,
  'com.microsoft:CausalConvWithState': causalConvolution,
}

export const HANDLERS: Handlers = new Map(Object.entries(RAISED))
