// Parses the name of a pruning run: a sparsity (`0.5`), a pattern (`2:4`), or both (`sb84@0.5`).
import { type Pattern, parsePattern, sparsityOf } from '../../../src/tools/shrink/prune/mask.ts'

export interface PruningRun {
  readonly name: string
  readonly pattern: Pattern
  /** Share of weights to drop. */
  readonly sparsity: number
}

/** Throws `unsupported` for an unknown pattern, or if the name does not say how many weights to drop. */
export function pruningRun(name: string): PruningRun {
  const [first = '', share] = name.split('@')
  const isShare = Number.isFinite(Number(first))
  const pattern = parsePattern(isShare ? 'unstructured' : first)
  const asked = isShare ? first : share
  return { name, pattern, sparsity: sparsityOf(pattern, asked === undefined ? undefined : Number(asked)) }
}
