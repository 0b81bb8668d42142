// Same graph. In: the graph that a family builds, the graph that a file brings. Out: where the weights of the
// first lie among those of the second, if both compute the same; else what differs.
import { shown } from '../../base/options.ts'
import type { Value, WeightRef } from '../../graph/ir.ts'
import type { Graph, NodeOf } from '../../graph/nodes.ts'
import { type Columns, GraphSide } from './graph-side.ts'
import { type Rows, rowsOfParts, WeightPlaces } from './weight-places.ts'

export interface Comparison {
  /** The rows of a stored tensor that each weight is, by name; absent where the graphs differ. */
  readonly places?: ReadonlyMap<string, Rows>
  /** The first difference, as a clause: `x has 4 columns instead of 8`. */
  readonly difference?: string
  /** Values that were the same. */
  readonly matched: number
}

/**
 * Compares from the logits back to the embeddings. The order of nodes does not matter, nor which matrices are
 * merged to one product, nor which operand of a plain sum comes first.
 */
export function sameGraph(due: Graph, found: Graph): Comparison {
  const matching = new Matching(due, found)
  const difference = matching.run()
  const { matched } = matching
  if (difference !== undefined) return { difference, matched }
  const places = matching.places.whole()
  return typeof places === 'string' ? { difference: places, matched } : { places, matched }
}

const OUTPUTS: readonly string[] = ['output', 'quantized']

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null
const isValue = (value: unknown): value is Value => isRecord(value) && 'form' in value
const isWeight = (value: unknown): value is WeightRef => isRecord(value) && 'parts' in value
const rowsOf = ({ parts }: WeightRef): number => parts.reduce((sum, { n }) => sum + n, 0)

class Matching {
  readonly places = new WeightPlaces()
  readonly #due: GraphSide
  readonly #found: GraphSide
  readonly #open: (readonly [Columns, Columns])[] = []
  readonly #seen = new Set<string>()

  constructor(due: Graph, found: Graph) {
    this.#due = new GraphSide(due)
    this.#found = new GraphSide(found)
    this.#expect(due.hidden, found.hidden)
    this.#expect(due.output, found.output)
  }

  get matched(): number {
    return this.#seen.size
  }

  /** The first difference. */
  run(): string | undefined {
    for (let pair = this.#open.pop(); pair !== undefined; pair = this.#open.pop()) {
      const key = pair.map(({ of, start, width }) => `${of.id} ${start} ${width}`).join(' ')
      if (this.#seen.has(key)) continue
      const difference = this.#columns(...pair)
      if (difference !== undefined) return difference
      this.#seen.add(key)
    }
    return undefined
  }

  #expect(due: Value, found: Value): void {
    this.#open.push([this.#due.columns(due), this.#found.columns(found)])
  }

  #columns(due: Columns, found: Columns): string | undefined {
    const [a, b] = [this.#due.maker(due.of), this.#found.maker(found.of)]
    const at = due.of.label
    if (due.width !== found.width) return `${at} has ${due.width} columns instead of ${found.width}`
    if (a.op !== b.op) return `${at} is made by ${a.op} instead of ${b.op}`
    if (a.op === 'linear' && b.op === 'linear') return this.#products(at, [a, b], [due, found])
    if (due.start !== found.start) return `${at} is read from column ${due.start} instead of ${found.start}`
    if (a.op === 'add' && b.op === 'add' && this.#isSwapped(a, b))
      return this.#fields(at, a, { ...b, left: b.right, right: b.left })
    return this.#fields(at, a, b)
  }

  /** Columns of two products: the same rows of their weights, wherever these stand. */
  #products(
    at: string,
    [due, found]: readonly [NodeOf<'linear'>, NodeOf<'linear'>],
    [a, b]: readonly [Columns, Columns],
  ): string | undefined {
    this.#expect(due.input, found.input)
    const { weight, bias } = due
    if (weight.k !== found.weight.k) return `${at} has ${weight.k} inputs instead of ${found.weight.k}`
    if ((bias === undefined) !== (found.bias === undefined))
      return `${at} has ${bias === undefined ? 'no bias' : 'a bias'}`
    const pairs = [[weight, found.weight] as const, bias && found.bias && ([bias, found.bias] as const)]
    for (const [one, other] of pairs.filter((pair) => pair !== undefined)) {
      const contradiction = this.places.note(
        rowsOfParts(one, a.start, a.width),
        rowsOfParts(other, b.start, b.width),
      )
      if (contradiction !== undefined) return contradiction
    }
    return undefined
  }

  /** Both sums are plain, and their operands are alike only when those of one change places. */
  #isSwapped(due: NodeOf<'add'>, found: NodeOf<'add'>): boolean {
    if (due.scale !== 1 || found.scale !== 1) return false
    const [left, right] = [this.#due.kind(due.left), this.#due.kind(due.right)]
    const [first, second] = [this.#found.kind(found.left), this.#found.kind(found.right)]
    if (left !== right) return left === second && right === first
    // A family adds what is newer to what is older.
    return first === second && this.#found.place(found.left) > this.#found.place(found.right)
  }

  #fields(at: string, due: object, found: object): string | undefined {
    const [a, b] = [new Map(Object.entries(due)), new Map(Object.entries(found))]
    for (const key of new Set([...a.keys(), ...b.keys()])) {
      if (OUTPUTS.includes(key)) continue
      const difference = this.#field(at, key, a.get(key), b.get(key))
      if (difference !== undefined) return difference
    }
    return undefined
  }

  #field(at: string, key: string, due: unknown, found: unknown): string | undefined {
    if (isValue(due) && isValue(found)) this.#expect(due, found)
    else if (isWeight(due) && isWeight(found)) return this.#weights(at, due, found)
    else if (isRecord(due) && isRecord(found)) return this.#fields(at, due, found)
    else if (due === found) return undefined
    else if (due === undefined || found === undefined)
      return `${at} has ${due === undefined ? 'no ' : ''}${key}`
    else if (!isEqual(due, found)) return `${at} has the ${key} ${shown(due)} instead of ${shown(found)}`
    return undefined
  }

  #weights(at: string, due: WeightRef, found: WeightRef): string | undefined {
    const [n, others] = [rowsOf(due), rowsOf(found)]
    if (n !== others || due.k !== found.k)
      return `${at} reads a weight [${n}, ${due.k}] instead of [${others}, ${found.k}]`
    return this.places.note(rowsOfParts(due, 0, n), rowsOfParts(found, 0, n))
  }
}

/** Kernels read numbers as f32. */
const isEqual = (due: unknown, found: unknown): boolean =>
  typeof due === 'number' && typeof found === 'number'
    ? Math.fround(due) === Math.fround(found)
    : due === found
