// Weight places. In: rows of weights of one graph, the rows of another that stand for them. Out: for each
// weight of the first, the rows of one stored tensor that it is.
import type { WeightRef } from '../../graph/ir.ts'

/** Rows [first, first + n) of the part `name` of a weight. */
export interface Rows {
  readonly name: string
  readonly first: number
  readonly n: number
}

/** Rows [first, first + n) of all parts of a weight, part by part. */
export function rowsOfParts({ parts }: WeightRef, first: number, n: number): Rows[] {
  const found: Rows[] = []
  let start = 0
  for (const part of parts) {
    const [from, to] = [Math.max(first, start), Math.min(first + n, start + part.n)]
    if (from < to) found.push({ name: part.name, first: from - start, n: to - from })
    start += part.n
  }
  return found
}

export class WeightPlaces {
  /** By weight and first row. */
  readonly #places = new Map<string, Map<number, Rows>>()

  /** Says that `due` are `found`, row by row. Returns what contradicts an earlier call. */
  note(due: readonly Rows[], found: readonly Rows[]): string | undefined {
    const [left, right] = [due.toReversed(), found.toReversed()]
    let [a, b] = [left.pop(), right.pop()]
    while (a !== undefined && b !== undefined) {
      const n = Math.min(a.n, b.n)
      const known = this.#of(a.name).get(a.first)
      if (known !== undefined && (known.name !== b.name || known.first !== b.first || known.n !== n))
        return `${a.name} is one weight, and the graph has ${known.name} and ${b.name}`
      this.#of(a.name).set(a.first, { name: b.name, first: b.first, n })
      a = a.n > n ? { ...a, first: a.first + n, n: a.n - n } : left.pop()
      b = b.n > n ? { ...b, first: b.first + n, n: b.n - n } : right.pop()
    }
    const rest = a ?? b
    return rest && `the graph has ${a === undefined ? 'more' : 'fewer'} rows of ${rest.name}`
  }

  /** By weight. A weight whose rows are not one run of one tensor is the sentence that says so. */
  whole(): ReadonlyMap<string, Rows> | string {
    const whole = new Map<string, Rows>()
    for (const [name, runs] of this.#places) {
      const [head, ...rest] = [...runs].sort(([a], [b]) => a - b)
      let { name: tensor, first, n } = head![1]
      for (const [start, run] of rest) {
        if (run.name !== tensor || run.first !== first + n || start !== head![0] + n)
          return `${name} is one weight, whose rows the graph has apart in ${tensor} and ${run.name}`
        n += run.n
      }
      whole.set(name, { name: tensor, first, n })
    }
    return whole
  }

  #of(name: string): Map<number, Rows> {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const made = new Map<number, Rows>()
    this.#places.set(name, made)
    return made
  }
}
