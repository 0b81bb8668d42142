// Ranges of quantised values. In: a value that is quantised with one constant scale. Out: the same value
// clamped to the codes' range, as the plan computes it; a range that a step cannot enforce is rejected with
// its name.
import type { Limits, Value } from '../../../../core/graph/ir.ts'
import type { Node } from '../../ir/graph.ts'
import { unclaimed } from '../../ir/operator.ts'
import type { Heads, Meaning, Scores } from '../meaning.ts'
import type { Translator } from '../translator.ts'

/** `step`: the distance between two codes. A value that rounds to the largest code is not clamped. */
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
    `its codes limit ${nameOf(input)} to the range ${least} to ${most}, which a step cannot do; calibrate with ` +
      'a larger range or leave the operator in floats',
  )
}

/** Whether the value is from 0 to 1 and the codes cover that range. */
const isShare = (input: Meaning): boolean => input.is === 'sigmoid' || (input.is === 'scores' && input.isSoft)

const nameOf = (input: Meaning): string =>
  input.is !== 'scores' ? input.is : input.isSoft ? 'attention weights' : 'scores after their mask'

function limitedRows(t: Translator, node: Node, value: Value, limits: Limits): Value {
  const known = t.facts.limited.get(value)
  if (known !== undefined && limits.least <= known.least && limits.most >= known.most) return value
  const made = t.b.clamp(node.outputs[0] ?? node.name, value, limits)
  t.facts.limited.set(made, within(known, limits))
  return made
}

/** Heads that the plan normalises or rotates later are clamped there; other heads are clamped as rows. */
function limitedHeads(t: Translator, node: Node, heads: Heads, limits: Limits): Heads {
  const own = timesLimits(limits, 1 / heads.scale)
  if (heads.norm === undefined && heads.rope === undefined)
    return { ...heads, value: limitedRows(t, node, heads.value, own) }
  return { ...heads, limits: within(heads.limits, own) }
}

/** Both ranges include 0. */
const within = (known: Limits | undefined, limits: Limits): Limits =>
  known === undefined
    ? limits
    : { least: Math.max(known.least, limits.least), most: Math.min(known.most, limits.most) }

const timesLimits = ({ least, most }: Limits, by: number): Limits =>
  by > 0 ? { least: least * by, most: most * by } : { least: most * by, most: least * by }

/** Scores times a number, which must be positive if they are capped. */
export const timesScores = (scores: Scores, by: number): Scores => ({
  ...scores,
  scale: scores.scale * by,
  cap: scores.cap * by,
  limits: scores.limits && timesLimits(scores.limits, by),
})
