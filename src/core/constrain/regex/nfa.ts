// Turns a pattern's tree without anchors into states with transitions on sets of characters. Repetitions are
// unrolled.
import { groupBy, memo } from '../../base/values.ts'
import { type CodePoints, pairs, union } from '../code-points.ts'
import { UNBOUNDED } from '../grammar.ts'
import { budgetOf, patternWork, tooLarge } from '../refuse.ts'
import type { Regex } from './syntax.ts'

const MAX_STATES = 1 << 15
/** Limit on the number of sets times the number of ranges into which they divide all characters. */
const MAX_SIGNATURES = 1 << 21

interface Nfa {
  /** Transitions without a character. [state][] */
  readonly free: number[][]
  /** The transition that reads one character; at most one per state. [state] */
  readonly step: ({ readonly set: CodePoints; readonly to: number } | undefined)[]
  readonly start: number
  readonly accept: number
}

/** A table of transitions: from each state, by one of the sets, to another state. State 0 is the start. */
export interface Table {
  readonly sets: readonly CodePoints[]
  /** [state][set] */
  readonly next: readonly (readonly number[])[]
  readonly accepts: readonly boolean[]
}

/** `tableOf` returns the table of a `meet` node, whose intersection an NFA cannot express. */
export function nfaOf(regex: Regex, tableOf: (node: Regex & { type: 'meet' }) => Table): Nfa {
  const free: number[][] = []
  const step: Nfa['step'] = []
  const budget = budgetOf('states of a pattern', MAX_STATES)
  const state = () => {
    budget.spend(1)
    patternWork.spend(1)
    step.push(undefined)
    return free.push([]) - 1
  }
  /** Adds a part that begins at `from`; returns where it ends. */
  const add = (node: Regex, from: number): number => {
    switch (node.type) {
      case 'chars': {
        const before = state()
        const to = state()
        free[from]!.push(before)
        step[before] = { set: node.set, to }
        return to
      }
      case 'seq':
        return node.parts.reduce((at, part) => add(part, at), from)
      case 'alt': {
        const end = state()
        for (const option of node.options) {
          const begin = state()
          free[from]!.push(begin)
          free[add(option, begin)]!.push(end)
        }
        return end
      }
      case 'repeat':
        return repeat(node, from)
      case 'meet':
        return table(tableOf(node), from)
      case 'start':
      case 'end':
      case 'ahead':
        throw new TypeError('an anchor is left in the pattern')
      default:
        return node satisfies never
    }
  }
  const table = ({ sets, next, accepts }: Table, from: number): number => {
    const end = state()
    const places = next.map(() => state())
    free[from]!.push(places[0]!)
    for (const [at, place] of places.entries()) {
      if (accepts[at]) free[place]!.push(end)
      for (const [to, taken] of groupBy(next[at]!.keys(), (column) => next[at]![column]!)) {
        const before = state()
        free[place]!.push(before)
        step[before] = { set: union(...taken.map((column) => sets[column]!)), to: places[to]! }
      }
    }
    return end
  }
  const repeat = ({ body, min, max }: Regex & { type: 'repeat' }, from: number): number => {
    let at = from
    for (let count = 0; count < min; count++) at = add(body, at)
    const end = state()
    if (max === UNBOUNDED) {
      const loop = state()
      free[at]!.push(loop)
      free[add(body, loop)]!.push(loop)
      free[loop]!.push(end)
      return end
    }
    for (let count = min; count < max; count++) {
      free[at]!.push(end)
      at = add(body, at)
    }
    free[at]!.push(end)
    return end
  }
  const start = state()
  const accept = add(regex, start)
  return { free, step, start, accept }
}

/**
 * Columns: groups of characters that no set distinguishes. Each range of characters belongs to one column.
 */
export interface Columns {
  /** The start of each range, ascending from 0; the last range extends to the end. */
  readonly starts: readonly number[]
  /** The column of each range. */
  readonly column: readonly number[]
  readonly count: number
}

export function columnsOf(sets: readonly CodePoints[]): Columns {
  const bounds = new Set([0])
  for (const set of sets) {
    for (const [low, high] of pairs(set)) bounds.add(low).add(high + 1)
  }
  const starts = [...bounds].toSorted((one, other) => one - other)
  const work = starts.length * sets.length
  if (work > MAX_SIGNATURES) throw tooLarge('ranges of characters in sets', work, MAX_SIGNATURES)
  patternWork.spend(work)
  const signatures = starts.map(() => '')
  for (const set of sets) {
    let at = 0
    for (const [index, start] of starts.entries()) {
      while (at < set.length && set[at + 1]! < start) at += 2
      signatures[index] += at < set.length && set[at]! <= start ? '1' : '0'
    }
  }
  return numbered(starts, signatures)
}

/** The common refinement of both: characters share a column if they do so in each of the two. */
export function joinColumns(
  left: Columns,
  right: Columns,
): Columns & { readonly from: readonly [number, number][] } {
  const starts = [...new Set([...left.starts, ...right.starts])].toSorted((one, other) => one - other)
  const both = starts.map((start): [number, number] => [columnAt(left, start), columnAt(right, start)])
  const columns = numbered(
    starts,
    both.map((pair) => pair.join()),
  )
  const from: [number, number][] = []
  for (const [index, pair] of both.entries()) from[columns.column[index]!] = pair
  return { ...columns, from }
}

/** The column that contains a character. */
export function columnAt({ starts, column }: Columns, point: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= point) low = middle
    else high = middle - 1
  }
  return column[low]!
}

function numbered(starts: readonly number[], signatures: readonly string[]): Columns {
  const ids = new Map<string, number>()
  const column = signatures.map((signature) => memo(ids, signature, () => ids.size))
  return { starts, column, count: ids.size }
}
