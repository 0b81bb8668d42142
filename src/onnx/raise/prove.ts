// Proofs. In: a control value of a graph, and what it has to be in a step. Out: nothing, once it was computed
// for steps on both sides of every number that it may be compared with; how many positions that holds for, if
// not for the whole context; else an error.
import { isHalfbyteError } from '../../base/errors.ts'
import type { Node } from '../ir/graph.ts'
import { unclaimed } from '../ir/operator.ts'
import type { Tensor } from '../ir/tensor.ts'
import type { StepSizes } from './probe.ts'
import { stepsAround, thresholdsOf, type ValueShape } from './thresholds.ts'
import type { Translator } from './translator.ts'

/** Where a form that changes later is read up to there; one that changes before is refused. */
const LEAST_CONTEXT = 1024

/** What is proven of a control value. */
export interface Claim {
  readonly shape: ValueShape
  /** Positions that a step may have at most; default: the context. */
  readonly end?: number | undefined
  /** Throws where the values are others than a plan has in that step. */
  check(values: readonly Tensor[], sizes: StepSizes): void
}

/**
 * Of values that belong together. Throws `unsupported` where one is wrong in a short context, and where the
 * evaluator cannot compute it. A value that is wrong in a longer one limits the context of the model.
 */
export async function prove(
  t: Translator,
  node: Node,
  names: readonly string[],
  { shape, end = t.end, check }: Claim,
): Promise<void> {
  const last = Math.min(end, t.end)
  const thresholds = thresholdsOf(names.map((name) => t.prober.part(name).graph))
  const { steps, reach } = stepsAround(thresholds, { end: last, hasState: t.hasState, shape })
  // Totals of which every step was right: the one being tried, and the one before it.
  let [proven, trying] = [0, 0]
  for (const sizes of steps) {
    const total = sizes.tokens + sizes.past
    if (total > trying) [proven, trying] = [trying, total]
    try {
      const values: Tensor[] = []
      for (const name of names) values.push(await t.prober.value(name, sizes))
      check(values, sizes)
    } catch (error) {
      t.budget.check()
      if (!isHalfbyteError(error) || proven < LEAST_CONTEXT) throw error
      t.limit(proven, error.message)
      return
    }
  }
  if (reach < Math.min(last, LEAST_CONTEXT))
    throw unclaimed(
      node,
      `${names.join(' and ')} may change at position ${reach + 1}, which takes too long a prompt to try`,
    )
  if (reach < Number.POSITIVE_INFINITY)
    t.limit(
      reach,
      `node ${node.name} (${node.op}): ${names.join(' and ')} may be another one from position ${reach + 1}`,
    )
}
