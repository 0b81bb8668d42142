// The passes. In: nothing. Out: those that every graph gets, in their order.
import { simplify } from './passes/algebra.ts'
import { shareCommon } from './passes/common.ts'
import { removeDead } from './passes/dead.ts'
import { foldConstants, foldShapes } from './passes/fold.ts'
import { joinGelus } from './passes/gelu.ts'
import { joinGemms } from './passes/gemm.ts'
import type { Pass } from './passes/pass.ts'
import { mergeSlices } from './passes/slices.ts'

export const PASSES: readonly Pass[] = [
  foldConstants,
  foldShapes,
  simplify,
  mergeSlices,
  joinGelus,
  joinGemms,
  shareCommon,
  removeDead,
]
