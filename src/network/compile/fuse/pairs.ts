// Which pairs of loops become one group, by the mapping types of producer and consumer.
import type { Mapping } from '../loops/loops.ts'

/** `rows`: if both run over the same rows, and a row stays in the first-level cache between its passes. */
export type Verdict = 'always' | 'rows' | 'never'

/**
 * After the table of DNNFusion (Niu et al., PLDI 2021): what follows element by element is always fused, and
 * two many-to-many operators never are, since the second needs all of the first. Here this has one exception:
 * reductions of the same rows (mean and variance, greatest and sum) are passes over a row that is in the
 * cache. What reorganises is not a loop at all; what shuffles is a read through indices, or a write to a
 * part.
 */
export const PAIRS: Readonly<Record<Mapping, Readonly<Record<Mapping, Verdict>>>> = {
  'one-to-one': row('always', 'always', 'rows', 'always'),
  'one-to-many': row('always', 'always', 'rows', 'always'),
  'many-to-many': row('always', 'always', 'rows', 'always'),
  // A gathered row is an ordinary row; one that is gathered again by an index would need all of it.
  shuffle: row('always', 'always', 'rows', 'never'),
}

function row(one: Verdict, spread: Verdict, many: Verdict, shuffle: Verdict): Record<Mapping, Verdict> {
  return { 'one-to-one': one, 'one-to-many': spread, 'many-to-many': many, shuffle }
}

/** f32 of a row of which all passes find the last ones in a cache of 32 KB. */
export const MOST_ROW = 6144
