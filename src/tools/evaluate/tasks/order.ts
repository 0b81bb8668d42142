// The order in which a dataset's items are used.
import { Random } from '../../../core/generate/sampler/random.ts'

/** A Fisher-Yates shuffle of the integers below `count`. */
export function drawnOrder(count: number, seed: number): Uint32Array {
  const random = new Random(seed)
  const order = Uint32Array.from({ length: Math.max(0, count) }, (_, at) => at)
  for (let last = order.length - 1; last > 0; last--) {
    const at = Math.floor(random.next() * (last + 1))
    ;[order[last], order[at]] = [order[at]!, order[last]!]
  }
  return order
}

/** The items, shuffled with the seed if there is one. */
export const drawn = <Item>(items: readonly Item[], seed: number | undefined): readonly Item[] =>
  seed === undefined ? items : Array.from(drawnOrder(items.length, seed), (index) => items[index]!)
