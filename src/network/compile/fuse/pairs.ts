// Which pairs of loops become one group, depending on the mapping types of producer and consumer.
import type { Mapping } from '../loops/loops.ts'

/** `rows`: fused if both run over the same rows, and a row stays in the first-level cache between passes. */
export type Verdict = 'always' | 'rows' | 'never'

/**
 * After the table of DNNFusion (Niu et al., PLDI 2021): an elementwise consumer is always fused, and two
 * many-to-many operators never are, since the second needs all of the first. There is one exception here:
 * reductions of the same rows (mean and variance, maximum and sum) are passes over a row that is in the
 * cache. `reorganize` operators are not loops at all; a `shuffle` is a read through indices or a write to a
 * part.
 */
export const PAIRS: Readonly<Record<Mapping, Readonly<Record<Mapping, Verdict>>>> = {
  'one-to-one': row('always', 'always', 'rows', 'always'),
  'one-to-many': row('always', 'always', 'rows', 'always'),
  'many-to-many': row('always', 'always', 'rows', 'always'),
  // A gathered row is an ordinary row, but gathering from it again by index would need all of it.
  shuffle: row('always', 'always', 'rows', 'never'),
}

function row(one: Verdict, spread: Verdict, many: Verdict, shuffle: Verdict): Record<Mapping, Verdict> {
  return { 'one-to-one': one, 'one-to-many': spread, 'many-to-many': many, shuffle }
}

/** The longest row, in f32 elements, that stays in a 32 KB cache across passes. */
export const MAX_ROW = 6144
