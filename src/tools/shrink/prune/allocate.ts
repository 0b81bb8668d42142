// Chooses each product's sparsity to lose the least within a budget (multiple-choice knapsack).
import { HalfbyteError } from '../../../core/base/errors.ts'

export interface SparsityChoice {
  readonly sparsity: number
  /** The time, the bytes or, for a loss budget, the loss. At least 0. */
  readonly cost: number
  /** What is minimised. */
  readonly loss: number
}

export interface SparsityItem<Choice extends SparsityChoice = SparsityChoice> {
  readonly name: string
  readonly choices: readonly Choice[]
}

/** Costs are rounded up to this fraction of the budget. */
const STEPS = 8192

/**
 * Solves it by dynamic programming over rounded-up cost steps: never above the budget, and exact if costs
 * are integers and the budget is at most 8192. Throws `unsupported` if the cheapest choices exceed the
 * budget.
 */
export function allocate<Choice extends SparsityChoice>(
  items: readonly SparsityItem<Choice>[],
  budget: number,
): ReadonlyMap<string, Choice> {
  // Compares unrounded costs, so that a choice that fits is not rejected.
  const wanted = items.map(({ name, choices }) => [name, leastLossOf(choices)] as const)
  if (wanted.reduce((sum, [, { cost }]) => sum + cost, 0) <= budget) return new Map(wanted)
  const cheapest = items.reduce((sum, { choices }) => sum + Math.min(...choices.map(({ cost }) => cost)), 0)
  const unit = Number.isInteger(budget) && budget <= STEPS ? 1 : budget / STEPS
  const size = Math.floor(budget / unit) + 1
  // best[c]: the least loss of the items so far with a cost of at most c steps.
  let best = new Float64Array(size)
  const taken: Uint8Array[] = []
  for (const { choices } of items) {
    const next = new Float64Array(size).fill(Number.POSITIVE_INFINITY)
    const pick = new Uint8Array(size)
    for (const [index, { cost, loss }] of choices.entries()) {
      const steps = Math.ceil(cost / unit - 1e-9)
      for (let c = steps; c < size; c++) {
        const total = best[c - steps]! + loss
        if (total >= next[c]!) continue
        next[c] = total
        pick[c] = index
      }
    }
    best = next
    taken.push(pick)
  }
  if (!Number.isFinite(best[size - 1]!)) {
    throw new HalfbyteError(
      'unsupported',
      `the sparsest choices still cost ${(cheapest / budget).toPrecision(4)} of the budget; raise the budget, or choose a lower speed`,
      { cheapest, budget },
    )
  }
  const chosen = new Map<string, Choice>()
  let c = size - 1
  for (const [index, { name, choices }] of [...items.entries()].reverse()) {
    const choice = choices[taken[index]![c]!]!
    chosen.set(name, choice)
    c -= Math.ceil(choice.cost / unit - 1e-9)
  }
  return chosen
}

const leastLossOf = <Choice extends SparsityChoice>(choices: readonly Choice[]): Choice =>
  choices.reduce((least, choice) => (choice.loss < least.loss ? choice : least))
