// The list of passes that every graph gets, in their order.
import { mergeSlices, simplify } from './passes/algebra.ts'
import { takeBranches } from './passes/branches.ts'
import { foldConstants } from './passes/fold.ts'
import { joinGelus, joinGemms } from './passes/fuse.ts'
import type { Pass } from './passes/pass.ts'
import { removeDead, shareCommon } from './passes/redundant.ts'

/** Those without which sizes stay unknown. */
export const NEEDED_PASSES: readonly Pass[] = [foldConstants, takeBranches, removeDead]

export const PASSES: readonly Pass[] = [
  foldConstants,
  takeBranches,
  simplify,
  mergeSlices,
  joinGelus,
  joinGemms,
  shareCommon,
  removeDead,
]
