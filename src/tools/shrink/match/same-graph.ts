// Compares a family's graph with a file's graph. If both do the same computation, returns where the family's
// weights are in the file; otherwise, what differs.
import { shown } from '../../../core/base/check-options.ts'
import type { Value, WeightRef } from '../../../core/graph/ir.ts'
import { type Graph, type Node, type NodeOf, producersOf } from '../../../core/graph/nodes.ts'

/** Rows [first, first + n) of the part `name` of a weight. */
export interface Rows {
  readonly name: string
  readonly first: number
  readonly n: number
}

/** Rows [first, first + n) of all parts of a weight, part by part. */
function rowsOfParts({ parts }: WeightRef, first: number, n: number): Rows[] {
  const found: Rows[] = []
  let start = 0
  for (const part of parts) {
    const from = Math.max(first, start)
    const to = Math.min(first + n, start + part.n)
    if (from < to) found.push({ name: part.name, first: from - start, n: to - from })
    start += part.n
  }
  return found
}

class WeightPlaces {
  /** Keyed by weight and first row. */
  readonly #places = new Map<string, Map<number, Rows>>()

  /**
   * Records that the rows `due` are at `found`. Returns a description if this contradicts an earlier call.
   */
  note(due: readonly Rows[], found: readonly Rows[]): string | undefined {
    const left = due.toReversed()
    const right = found.toReversed()
    let a = left.pop()
    let b = right.pop()
    while (a !== undefined && b !== undefined) {
      const n = Math.min(a.n, b.n)
      const known = this.#of(a.name).get(a.first)
      if (known !== undefined && (known.name !== b.name || known.first !== b.first || known.n !== n))
        return `${a.name} is one weight, but the graph has ${known.name} and ${b.name}`
      this.#of(a.name).set(a.first, { name: b.name, first: b.first, n })
      a = a.n > n ? { ...a, first: a.first + n, n: a.n - n } : left.pop()
      b = b.n > n ? { ...b, first: b.first + n, n: b.n - n } : right.pop()
    }
    const rest = a ?? b
    return rest && `the graph has ${a === undefined ? 'more' : 'fewer'} rows of ${rest.name}`
  }

  /**
   * The location of each weight, or a sentence if a weight's rows are not one contiguous run in one tensor.
   */
  whole(): ReadonlyMap<string, Rows> | string {
    const whole = new Map<string, Rows>()
    for (const [name, runs] of this.#places) {
      const [head, ...rest] = [...runs].sort(([a], [b]) => a - b)
      let { name: tensor, first, n } = head![1]
      for (const [start, run] of rest) {
        if (run.name !== tensor || run.first !== first + n || start !== head![0] + n)
          return `${name} is one weight, but the graph stores its rows separately in ${tensor} and ${run.name}`
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

/** Columns [start, start + width) of a value that is not a slice. */
interface Columns {
  readonly of: Value
  readonly start: number
  readonly width: number
}

class GraphSide {
  readonly #graph: Graph
  readonly #makers: ReadonlyMap<number, number>

  constructor(graph: Graph) {
    this.#graph = graph
    this.#makers = producersOf(graph)
  }

  columns(value: Value): Columns {
    let of = value
    let start = 0
    for (let node = this.maker(of); node.op === 'slice'; node = this.maker(of)) {
      start += node.start
      of = node.input
    }
    return { of, start, width: value.shape[1] }
  }

  maker(value: Value): Node {
    return this.#graph.nodes[this.place(value)]!
  }

  /** The index of the node that makes a value. */
  place({ id }: Value): number {
    return this.#makers.get(id) ?? -1
  }

  /** A key that distinguishes the operands of a sum. */
  kind(value: Value): string {
    const node = this.maker(this.columns(value).of)
    return node.op === 'embed' ? `embed by ${node.by}` : node.op
  }
}

export interface Comparison {
  /** For each weight, by name, its rows in a stored tensor; absent if the graphs differ. */
  readonly places?: ReadonlyMap<string, Rows>
  /** The first difference, as a clause: `x has 4 columns instead of 8`. */
  readonly difference?: string
  /** Values already found equal. */
  readonly matched: number
}

/**
 * Compares the graphs from the logits back to the embeddings. The order of nodes, the merging of matrices
 * into products, and the operand order of plain sums do not matter.
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
    const a = this.#due.maker(due.of)
    const b = this.#found.maker(found.of)
    const at = due.of.label
    if (due.width !== found.width) return `${at} has ${due.width} columns instead of ${found.width}`
    if (a.op !== b.op) return `${at} is made by ${a.op} instead of ${b.op}`
    if (a.op === 'linear' && b.op === 'linear') return this.#products(at, [a, b], [due, found])
    if (due.start !== found.start) return `${at} is read from column ${due.start} instead of ${found.start}`
    if (a.op === 'add' && b.op === 'add' && this.#isSwapped(a, b))
      return this.#fields(at, a, { ...b, left: b.right, right: b.left })
    return this.#fields(at, a, b)
  }

  /** Columns of two products match if the rows of their weights do, wherever those rows are. */
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

  /** Both sums are plain, and their operands match only if one sum's are swapped. */
  #isSwapped(due: NodeOf<'add'>, found: NodeOf<'add'>): boolean {
    if (due.scale !== 1 || found.scale !== 1) return false
    const left = this.#due.kind(due.left)
    const right = this.#due.kind(due.right)
    const first = this.#found.kind(found.left)
    const second = this.#found.kind(found.right)
    if (left !== right) return left === second && right === first
    // A family adds the newer value to the older one.
    return first === second && this.#found.place(found.left) > this.#found.place(found.right)
  }

  #fields(at: string, due: object, found: object): string | undefined {
    const a = new Map(Object.entries(due))
    const b = new Map(Object.entries(found))
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
    const n = rowsOf(due)
    const others = rowsOf(found)
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
