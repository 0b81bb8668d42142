// DFA. In: patterns without anchors, lengths, texts. Out: sets of texts with exact intersection, complement
// and test for emptiness.
// A DFA is complete: every state has a step for every column of characters. State 0 is the start.
import { memo } from '../../base/memo.ts'
import { type CodePoints, codePoints, has, ofText } from '../code-points.ts'
import { budgetOf, patternWork, tooLarge } from '../refuse.ts'
import { type Columns, columnAt, columnsOf, joinColumns, nfaOf } from './nfa.ts'
import type { Regex } from './syntax.ts'

/** Most states of a language. */
export const MAX_STATES = 1 << 14
const MAX_STEPS = 1 << 21
/** Most places of a pattern, summed over all sets of places. Time and memory are proportional to this sum. */
const MAX_PLACES = 1 << 21
const LAST = 0x10ffff

export interface Dfa {
  readonly columns: Columns
  /** [state][column] */
  readonly next: readonly (readonly number[])[]
  readonly accepts: readonly boolean[]
}

/** The texts of a pattern. Throws `unsupported` if it needs too many states. */
export function dfaOf(regex: Regex): Dfa {
  if (regex.type === 'meet') return meetOf(regex)
  const nfa = nfaOf(regex, (node) => {
    const dfa = meetOf(node)
    return { ...dfa, sets: columnSets(dfa) }
  })
  const sets = [...new Map(nfa.step.flatMap((step) => (step ? [[step.set.join(), step.set]] : []))).values()]
  const columns = columnsOf(sets)
  // One character of each column represents the column.
  const samples = Array.from(
    { length: columns.count },
    (_, index) => columns.starts[columns.column.indexOf(index)]!,
  )
  const takes = new Map(sets.map((set) => [set.join(), samples.map((point) => has(set, point))]))
  const places = budgetOf('places in a pattern at once', MAX_PLACES)
  const close = (states: Iterable<number>): readonly number[] => {
    const seen = new Set(states)
    for (const state of seen) for (const to of nfa.free[state]!) seen.add(to)
    places.spend(seen.size + 1)
    patternWork.spend(seen.size + 1)
    return [...seen]
      .filter((state) => nfa.step[state] !== undefined || state === nfa.accept)
      .sort((a, b) => a - b)
  }
  return explore(columns, close([nfa.start]), {
    key: (states) => states.join(),
    accepts: (states) => states.includes(nfa.accept),
    next(states) {
      const targets: number[][] = samples.map(() => [])
      for (const state of states) {
        const step = nfa.step[state]
        if (step === undefined) continue
        const taken = takes.get(step.set.join())!
        for (let column = 0; column < taken.length; column++)
          if (taken[column]) targets[column]!.push(step.to)
      }
      return targets.map(close)
    },
  })
}

const met = new WeakMap<Regex, Dfa>()

function meetOf(node: Regex & { type: 'meet' }): Dfa {
  let dfa = met.get(node)
  if (dfa === undefined) {
    const [within, outside] = [node.within.map(dfaOf), node.outside.map(dfaOf)]
    dfa = [...within, ...outside.map(complementDfa)]
      .map(merged)
      .reduce((one, other) => merged(meet(one, other)))
    met.set(node, dfa)
  }
  return dfa
}

/** Most steps that are compared, summed over the rounds. */
const MAX_COMPARED = 1 << 20

/** The same language with states joined that no text tells apart (Moore, 1956), if it is not too large. */
export function merged(dfa: Dfa): Dfa {
  const { next, accepts, columns } = dfa
  const steps = next.length * columns.count
  let classes = accepts.map(Number)
  let compared = 0
  for (let count = new Set(classes).size; ; ) {
    compared += steps
    if (compared > MAX_COMPARED) return dfa
    patternWork.spend(steps)
    const ids = new Map<string, number>()
    const finer = next.map((targets, state) => {
      const key = `${classes[state]} ${targets.map((to) => classes[to]).join()}`
      return memo(ids, key, () => ids.size)
    })
    classes = finer
    if (ids.size === count) break
    count = ids.size
  }
  // Ids are given in the order of the states, so the start keeps the number 0.
  const first = new Map<number, number>()
  for (const [state, id] of classes.entries()) if (!first.has(id)) first.set(id, state)
  const kept = [...first.values()]
  return {
    columns,
    next: kept.map((state) => next[state]!.map((to) => classes[to]!)),
    accepts: kept.map((state) => accepts[state]!),
  }
}

/** All texts of `min` to `max` characters. */
export function dfaOfLength(min: number, max: number): Dfa {
  const last = max === Number.POSITIVE_INFINITY ? min : max + 1
  if (last >= MAX_STATES) throw tooLarge('states of a length', last, MAX_STATES)
  patternWork.spend(last + 1)
  const columns = columnsOf([])
  return {
    columns,
    next: Array.from({ length: last + 1 }, (_, state) => [Math.min(state + 1, last)]),
    accepts: Array.from({ length: last + 1 }, (_, state) => state >= min && state <= max),
  }
}

/** Exactly these texts. */
export function dfaOfTexts(texts: readonly string[]): Dfa {
  const options = texts.map((text): Regex => {
    const parts = Array.from(text, (char): Regex => ({ type: 'chars', set: ofText(char) }))
    return { type: 'seq', parts }
  })
  return dfaOf({ type: 'alt', options })
}

export function complementDfa(dfa: Dfa): Dfa {
  return { ...dfa, accepts: dfa.accepts.map((accepts) => !accepts) }
}

/** The texts that are in both. */
export function meet(left: Dfa, right: Dfa): Dfa {
  const columns = joinColumns(left.columns, right.columns)
  return explore<readonly [number, number]>(columns, [0, 0], {
    key: (states) => states.join(),
    accepts: ([one, other]) => left.accepts[one]! && right.accepts[other]!,
    next: ([one, other]) =>
      columns.from.map(([a, b]) => [left.next[one]![a]!, right.next[other]![b]!] as const),
  })
}

export function isEmpty(dfa: Dfa): boolean {
  return !dfa.accepts.includes(true)
}

export function dfaHas(dfa: Dfa, text: string): boolean {
  patternWork.spend(text.length)
  let state = 0
  for (const char of text) state = dfa.next[state]![columnAt(dfa.columns, char.codePointAt(0)!)]!
  return dfa.accepts[state]!
}

/** The characters of each column. */
export function columnSets({ columns }: Dfa): CodePoints[] {
  const ranges: [number, number][][] = Array.from({ length: columns.count }, () => [])
  for (const [index, start] of columns.starts.entries()) {
    ranges[columns.column[index]!]!.push([start, (columns.starts[index + 1] ?? LAST + 1) - 1])
  }
  return ranges.map((list) => codePoints(...list))
}

/** All states that can be reached from `start`, numbered in the order of discovery. */
function explore<State>(
  columns: Columns,
  start: State,
  rules: {
    readonly key: (state: State) => string
    readonly accepts: (state: State) => boolean
    /** For each column. */
    readonly next: (state: State) => readonly State[]
  },
): Dfa {
  const [states, steps] = [
    budgetOf('states of a pattern', MAX_STATES),
    budgetOf('steps of a pattern', MAX_STEPS),
  ]
  const ids = new Map<string, number>()
  const found: State[] = []
  const idOf = (state: State) => {
    const key = rules.key(state)
    let id = ids.get(key)
    if (id === undefined) {
      states.spend(1)
      id = found.push(state) - 1
      ids.set(key, id)
    }
    return id
  }
  idOf(start)
  const next: number[][] = []
  for (let id = 0; id < found.length; id++) {
    steps.spend(columns.count)
    patternWork.spend(columns.count)
    next.push(rules.next(found[id]!).map(idOf))
  }
  return { columns, next, accepts: found.map(rules.accepts) }
}
