// The order in which the items of a dataset are asked.
import { Random } from '../../../core/generate/sampler/random.ts'

/** Fisher and Yates' shuffle of the whole numbers below `count`. */
export function drawnOrder(count: number, seed: number): Uint32Array {
  const random = new Random(seed)
  const order = Uint32Array.from({ length: Math.max(0, count) }, (_, at) => at)
  for (let last = order.length - 1; last > 0; last--) {
    const at = Math.floor(random.next() * (last + 1))
    ;[order[last], order[at]] = [order[at]!, order[last]!]
  }
  return order
}

/** The items in a random order drawn with the seed, or unchanged. */
export const drawn = <Item>(items: readonly Item[], seed: number | undefined): readonly Item[] =>
  seed === undefined ? items : Array.from(drawnOrder(items.length, seed), (index) => items[index]!)
