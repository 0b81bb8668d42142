// Limits. In: a value that becomes codes of one constant scale. Out: the same value within the range that the
// codes represent, as the plan computes it; a range that no step can keep is rejected by name.
import type { Limits, Value } from '../../../../core/graph/ir.ts'
import type { Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Heads, Meaning, Scores } from '../meaning.ts'
import type { Translator } from '../translator.ts'

/** `step`: the distance of two codes. A value that rounds to the largest code is not clipped. */
export function limited(t: Translator, node: Node, input: Meaning, limits: Limits, step: number): Meaning {
  if (isShare(input) && limits.most + step / 2 >= 1) return input
  if (t.meanings.isRows(node, 0))
    return { is: 'rows', value: limitedRows(t, node, t.meanings.rows(node, 0), limits) }
  if (input.is === 'heads') return limitedHeads(t, node, input, limits)
  if (input.is === 'scores' && !input.isSoft && input.mask === undefined)
    return { ...input, limits: within(input.limits, limits) }
  const [least, most] = [limits.least, limits.most].map((end) => Number(end.toPrecision(3)))
  throw unclaimed(
    node,
    `its codes limit ${nameOf(input)} to ${least} to ${most}, which no step does; calibrate with ` +
      'a larger range or leave the operator in floats',
  )
}

/** Whether it is from 0 to 1, and codes from 0 on have all of it. */
const isShare = (input: Meaning): boolean => input.is === 'sigmoid' || (input.is === 'scores' && input.isSoft)

const nameOf = (input: Meaning): string =>
  input.is !== 'scores' ? input.is : input.isSoft ? 'shares of attention' : 'scores after their mask'

function limitedRows(t: Translator, node: Node, value: Value, limits: Limits): Value {
  const known = t.facts.limited.get(value)
  if (known !== undefined && limits.least <= known.least && limits.most >= known.most) return value
  const made = t.b.clamp(node.outputs[0] ?? node.name, value, limits)
  t.facts.limited.set(made, within(known, limits))
  return made
}

/** Heads that the plan norms or rotates later are limited there; the others as the rows that they are. */
function limitedHeads(t: Translator, node: Node, heads: Heads, limits: Limits): Heads {
  const own = timesLimits(limits, 1 / heads.scale)
  if (heads.norm === undefined && heads.rope === undefined)
    return { ...heads, value: limitedRows(t, node, heads.value, own) }
  return { ...heads, limits: within(heads.limits, own) }
}

/** Both ranges have 0. */
const within = (known: Limits | undefined, limits: Limits): Limits =>
  known === undefined
    ? limits
    : { least: Math.max(known.least, limits.least), most: Math.min(known.most, limits.most) }

const timesLimits = ({ least, most }: Limits, by: number): Limits =>
  by > 0 ? { least: least * by, most: most * by } : { least: most * by, most: least * by }

/** Scores times a number, which is above 0 for capped ones. */
export const timesScores = (scores: Scores, by: number): Scores => ({
  ...scores,
  scale: scores.scale * by,
  cap: scores.cap * by,
  limits: scores.limits && timesLimits(scores.limits, by),
})
