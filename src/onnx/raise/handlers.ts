// Handlers. In: an operator's domain and name. Out: what translates it into the plan's IR.
import { add, fastGelu, gelu, multiply, quickGelu, same, sigmoid } from './handlers/elementwise.ts'
import { gather, gatherBlocks } from './handlers/embed.ts'
import { groupQueryAttention } from './handlers/group-attention.ts'
import { gemm, matMul, matMulBlocks } from './handlers/linear.ts'
import { layerNorm, rmsNorm, skipLayerNorm, skipRmsNorm } from './handlers/norms.ts'
import type { Handlers } from './translator.ts'

/** `domain:operator`, '' for ONNX's own. */
export const HANDLERS: Handlers = new Map([
  [':Add', add],
  [':Mul', multiply],
  [':Sigmoid', sigmoid],
  [':Gelu', gelu],
  [':Identity', same],
  [':Cast', same],
  [':Gather', gather],
  [':MatMul', matMul],
  [':Gemm', gemm],
  [':RMSNormalization', rmsNorm],
  [':SimplifiedLayerNormalization', rmsNorm],
  [':LayerNormalization', layerNorm],
  ['com.microsoft:SimplifiedLayerNormalization', rmsNorm],
  ['com.microsoft:SkipSimplifiedLayerNormalization', skipRmsNorm],
  ['com.microsoft:SkipLayerNormalization', skipLayerNorm],
  ['com.microsoft:QuickGelu', quickGelu],
  ['com.microsoft:Gelu', gelu],
  ['com.microsoft:FastGelu', fastGelu],
  ['com.microsoft:GatherBlockQuantized', gatherBlocks],
  ['com.microsoft:MatMulNBits', matMulBlocks],
  ['com.microsoft:GroupQueryAttention', groupQueryAttention],
])
