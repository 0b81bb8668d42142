// Tuning an allocation. In: for each product, what several sparsities cost; a choice within a budget; what
// the whole model loses with any choice. Out: a choice within the budget that loses less.
import { allocate, type SparsityItem } from './allocate.ts'

/** An index into the choices of each item. */
export type Chosen = readonly number[]

export interface TuneOptions {
  readonly budget: number
  /** Within the budget. */
  readonly start: Chosen
  /** Most rounds. Each measures every item at every choice within reach. */
  readonly rounds: number
  /** How many choices away an item may move in a round. Default 2. */
  readonly reach?: number
  /** Loss of the whole model, e.g. nats for each token. */
  readonly lossOf: (chosen: Chosen) => Promise<number>
}

/**
 * Changes of the loss are measured around the current choice, one item at a time, and taken to add up for one
 * round: sums of what single matrices lose in a model that is whole elsewhere do not say what a choice loses.
 * Stops when a round is no better. The result loses at most what `start` does.
 */
export async function tune(items: readonly Pick<SparsityItem, 'name' | 'choices'>[], options: TuneOptions) {
  const { budget, start, rounds, reach = 2, lossOf } = options
  let best = start
  let least = await lossOf(best)
  for (let round = 0; round < rounds; round++) {
    const near = []
    for (const [at, { name, choices }] of items.entries()) {
      const own = []
      for (const [index, choice] of choices.entries()) {
        if (Math.abs(index - best[at]!) > reach) continue
        const loss = index === best[at] ? least : await lossOf(best.with(at, index))
        own.push({ ...choice, index, loss: loss - least })
      }
      near.push({ name, choices: own })
    }
    const chosen = allocate(near, budget)
    const next = items.map(({ name }) => chosen.get(name)!.index)
    const loss = await lossOf(next)
    if (!(loss < least)) break
    best = next
    least = loss
  }
  return { chosen: best, loss: least }
}
