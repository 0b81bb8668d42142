// Deterministic automata for sets of texts, with exact intersection, complement and emptiness test.
//
// A DFA is complete: every state has a step for every column of characters. State 0 is the start.
import { groupBy, memo } from '../../base/values.ts'
import { type CodePoints, codePoints, has, ofText, union } from '../code-points.ts'
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'
import { budgetOf, patternWork, tooLarge } from '../refuse.ts'
import { inParts, type Steps } from '../slices.ts'
import { type Columns, columnAt, columnsOf, joinColumns, nfaOf, type Table } from './nfa.ts'
import type { Regex } from './syntax.ts'

/** `regex` must not contain anchors or lookaheads. */
export function regexNode(grammar: Grammar, regex: Regex, spell: Spell): NodeId {
  switch (regex.type) {
    case 'chars':
      return spell(regex.set)
    case 'seq':
      return grammar.seq(...regex.parts.map((part) => regexNode(grammar, part, spell)))
    case 'alt':
      return grammar.alt(...regex.options.map((option) => regexNode(grammar, option, spell)))
    case 'repeat':
      return grammar.repeat(regexNode(grammar, regex.body, spell), regex.min, regex.max)
    case 'meet':
      return dfaNode(grammar, dfaOf(regex), spell)
    case 'start':
    case 'end':
    case 'ahead':
      throw new TypeError('an anchor is left in the pattern')
    default:
      return regex satisfies never
  }
}

/** Makes the node for one character of a set: plain, or as written in a JSON string. */
type Spell = (set: CodePoints) => NodeId

/**
 * A state that loops on itself becomes a repetition, so that runs of characters are recognised as such. Other
 * cycles become rules.
 */
export function dfaNode(grammar: Grammar, dfa: Dfa, spell: Spell): NodeId {
  const targets = inParts(() => targetSteps(dfa))
  if (targets[0] === undefined) return grammar.never
  const nodes: (NodeId | undefined)[] = dfa.next.map(() => undefined)
  /** Rules for the states that a cycle returns to. */
  const rules: (NodeId | undefined)[] = dfa.next.map(() => undefined)
  const isOpen = dfa.next.map(() => false)
  const enter = (state: number) => {
    isOpen[state] = true
    return { state, next: targets[state]!.keys() }
  }
  const path = [enter(0)]
  while (path.length > 0) {
    const { state, next } = path.at(-1)!
    const { done, value: target } = next.next()
    if (done === true) {
      const node = stateNode(grammar, dfa, state, targets[state]!, (to) => rules[to] ?? nodes[to]!, spell)
      const rule = rules[state]
      if (rule !== undefined) grammar.define(rule, node)
      nodes[state] = node
      isOpen[state] = false
      path.pop()
    } else if (target !== state && isOpen[target]) rules[target] ??= grammar.declare('pattern', false)
    else if (nodes[target] === undefined && target !== state) path.push(enter(target))
  }
  return rules[0] ?? nodes[0]!
}

function stateNode(
  grammar: Grammar,
  dfa: Dfa,
  state: number,
  targets: ReadonlyMap<number, CodePoints>,
  nodeOf: (state: number) => NodeId,
  spell: Spell,
): NodeId {
  const others = [...targets].filter(([target]) => target !== state)
  const rest = grammar.alt(
    ...others.map(([target, set]) => grammar.seq(spell(set), nodeOf(target))),
    dfa.accepts[state] ? grammar.empty : grammar.never,
  )
  const loop = targets.get(state)
  return loop === undefined ? rest : grammar.seq(grammar.repeat(spell(loop), 0, UNBOUNDED), rest)
}

/**
 * For each state, the characters that lead to each target state. Undefined for states from which no text can
 * be completed. Such states are never targets.
 */
function* targetSteps(dfa: Dfa): Steps<(ReadonlyMap<number, CodePoints> | undefined)[]> {
  const sets = columnSets(dfa)
  const isLive = liveStates(dfa)
  const targets: (ReadonlyMap<number, CodePoints> | undefined)[] = []
  for (const [state, next] of dfa.next.entries()) {
    patternWork.spend(next.length)
    yield
    if (!isLive[state]) {
      targets.push(undefined)
      continue
    }
    const columns = groupBy(
      [...next.keys()].filter((column) => isLive[next[column]!]),
      (column) => next[column]!,
    )
    targets.push(
      new Map([...columns].map(([to, list]) => [to, union(...list.map((column) => sets[column]!))])),
    )
  }
  return targets
}

/** The states from which a text can be completed. */
export function liveStates(dfa: Dfa): boolean[] {
  const before: number[][] = dfa.next.map(() => [])
  for (const [state, targets] of dfa.next.entries()) for (const target of targets) before[target]!.push(state)
  const isLive = [...dfa.accepts]
  const open = [...isLive.keys()].filter((state) => isLive[state])
  while (open.length > 0) {
    for (const state of before[open.pop()!]!) {
      if (isLive[state]) continue
      isLive[state] = true
      open.push(state)
    }
  }
  return isLive
}

/** Maximum number of states in a DFA. */
export const MAX_STATES = 1 << 14
const MAX_STEPS = 1 << 21
/**
 * Maximum number of pattern positions, summed over all sets of positions. Time and memory are
 * proportional to this sum.
 */
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
  return inParts(() => dfaSteps(regex))
}

/** Like `dfaOf`, but in steps, for use within another long part (`slices.ts`). */
export function* dfaSteps(regex: Regex): Steps<Dfa> {
  if (regex.type === 'meet') return yield* meetSteps(regex)
  const tables = new Map<Regex, Table>()
  for (const node of outermostMeets(regex)) {
    const dfa = yield* meetSteps(node)
    tables.set(node, { ...dfa, sets: columnSets(dfa) })
  }
  const nfa = nfaOf(regex, (node) => tables.get(node)!)
  const sets = [...new Map(nfa.step.flatMap((step) => (step ? [[step.set.join(), step.set]] : []))).values()]
  const columns = columnsOf(sets)
  // One character of each column stands for the whole column.
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
  return yield* explore(columns, close([nfa.start]), {
    key: (states) => states.join(),
    accepts: (states) => states.includes(nfa.accept),
    *next(states) {
      const targets: number[][] = samples.map(() => [])
      for (const state of states) {
        const step = nfa.step[state]
        if (step === undefined) continue
        const taken = takes.get(step.set.join())!
        for (let column = 0; column < taken.length; column++)
          if (taken[column]) targets[column]!.push(step.to)
      }
      const closed: (readonly number[])[] = []
      for (const target of targets) {
        closed.push(close(target))
        yield
      }
      return closed
    },
  })
}

/** The outermost intersections in a pattern. */
function outermostMeets(regex: Regex): (Regex & { type: 'meet' })[] {
  switch (regex.type) {
    case 'meet':
      return [regex]
    case 'seq':
      return regex.parts.flatMap(outermostMeets)
    case 'alt':
      return regex.options.flatMap(outermostMeets)
    case 'repeat':
      return outermostMeets(regex.body)
    default:
      return []
  }
}

const met = new WeakMap<Regex, Dfa>()

function* meetSteps(node: Regex & { type: 'meet' }): Steps<Dfa> {
  const known = met.get(node)
  if (known !== undefined) return known
  let all: Dfa | undefined
  for (const [list, isWithin] of [
    [node.within, true],
    [node.outside, false],
  ] as const) {
    for (const part of list) {
      const dfa = yield* dfaSteps(part)
      const one = yield* mergeSteps(isWithin ? dfa : complementDfa(dfa))
      all = all === undefined ? one : yield* mergeSteps(yield* meetBoth(all, one))
    }
  }
  met.set(node, all!)
  return all!
}

/** Maximum number of transitions that are compared, summed over the rounds. */
const MAX_COMPARED = 1 << 20

/** The same language with indistinguishable states merged (Moore, 1956), if it is not too large. */
export function merged(dfa: Dfa): Dfa {
  return inParts(() => mergeSteps(dfa))
}

function* mergeSteps(dfa: Dfa): Steps<Dfa> {
  const { next, accepts, columns } = dfa
  const steps = next.length * columns.count
  let classes = accepts.map(Number)
  let compared = 0
  for (let count = new Set(classes).size; ; ) {
    compared += steps
    if (compared > MAX_COMPARED) return dfa
    const ids = new Map<string, number>()
    const finer: number[] = []
    for (const [state, targets] of next.entries()) {
      patternWork.spend(columns.count)
      const key = `${classes[state]} ${targets.map((to) => classes[to]).join()}`
      finer.push(memo(ids, key, () => ids.size))
      yield
    }
    classes = finer
    if (ids.size === count) break
    count = ids.size
  }
  // Ids are assigned in the order of the states, so the start state keeps the number 0.
  const first = new Map<number, number>()
  for (const [state, id] of classes.entries()) if (!first.has(id)) first.set(id, state)
  const kept = [...first.values()]
  return {
    columns,
    next: kept.map((state) => next[state]!.map((to) => classes[to]!)),
    accepts: kept.map((state) => accepts[state]!),
  }
}

/** All texts with `min` to `max` characters. */
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

/** The texts that both automata accept. */
export function meet(left: Dfa, right: Dfa): Dfa {
  return inParts(() => meetBoth(left, right))
}

function* meetBoth(left: Dfa, right: Dfa): Steps<Dfa> {
  const columns = joinColumns(left.columns, right.columns)
  return yield* explore<readonly [number, number]>(columns, [0, 0], {
    key: (states) => states.join(),
    accepts: ([one, other]) => left.accepts[one]! && right.accepts[other]!,
    *next([one, other]) {
      yield
      return columns.from.map(([a, b]) => [left.next[one]![a]!, right.next[other]![b]!] as const)
    },
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

/** All states reachable from `start`, numbered in the order of discovery. */
function* explore<State>(
  columns: Columns,
  start: State,
  rules: {
    readonly key: (state: State) => string
    readonly accepts: (state: State) => boolean
    /** The next state for each column. */
    readonly next: (state: State) => Steps<readonly State[]>
  },
): Steps<Dfa> {
  const states = budgetOf('states of a pattern', MAX_STATES)
  const steps = budgetOf('steps of a pattern', MAX_STEPS)
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
    next.push((yield* rules.next(found[id]!)).map(idOf))
  }
  return { columns, next, accepts: found.map(rules.accepts) }
}
