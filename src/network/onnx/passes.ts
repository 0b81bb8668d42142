// The lists of passes, in their order.
import { mergeSlices, simplify } from './passes/algebra.ts'
import { takeBranches } from './passes/branches.ts'
import { floatBiases } from './passes/codes/biases.ts'
import { decodeLayers } from './passes/codes/layers.ts'
import { replaceCodeOperators } from './passes/codes/operators.ts'
import { expandFlexAttention } from './passes/flex-attention.ts'
import { foldConstants } from './passes/fold.ts'
import { joinGelus, joinGemms } from './passes/fuse.ts'
import type { Pass } from './passes/pass.ts'
import { removeDead, shareCommon } from './passes/redundant.ts'
import { resolveSequences } from './passes/sequences.ts'
import { shareHeads } from './passes/shared-heads.ts'
import { sinkJoins } from './passes/sink.ts'
import { unrollLoops } from './passes/unroll.ts'

/** The passes without which sizes stay unknown. */
export const NEEDED_PASSES: readonly Pass[] = [
  decodeLayers,
  replaceCodeOperators,
  floatBiases,
  foldConstants,
  takeBranches,
  expandFlexAttention,
  resolveSequences,
  unrollLoops,
  removeDead,
]

const SIMPLIFICATIONS: readonly Pass[] = [
  simplify,
  mergeSlices,
  joinGelus,
  joinGemms,
  shareCommon,
  removeDead,
]

/** The passes that run on every graph. */
export const PASSES: readonly Pass[] = [foldConstants, takeBranches, ...SIMPLIFICATIONS]

/**
 * The passes for a graph that is compiled directly. They are not for decoders, whose loops must stay
 * recognisable.
 */
export const COMPILER_PASSES: readonly Pass[] = [
  // Each layer of an export computes the same shapes again; removing them early saves work in the other
  // passes.
  shareCommon,
  removeDead,
  decodeLayers,
  replaceCodeOperators,
  floatBiases,
  foldConstants,
  takeBranches,
  expandFlexAttention,
  resolveSequences,
  unrollLoops,
  sinkJoins,
  shareHeads,
  ...SIMPLIFICATIONS,
]
