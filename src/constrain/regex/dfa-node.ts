// DFA nodes. In: a DFA and how characters are encoded. Out: a grammar node of the same language.
import { type CodePoints, union } from '../code-points.ts'
import { type Grammar, type NodeId, UNBOUNDED } from '../grammar.ts'
import { patternWork } from '../refuse.ts'
import { columnSets, type Dfa } from './dfa.ts'

/** The node of one character of a set: plain, or as it is written in a JSON string. */
export type Spell = (set: CodePoints) => NodeId

/**
 * A state that loops on itself becomes a repetition, so that runs of characters are recognised as such. Other
 * cycles become rules.
 */
export function dfaNode(grammar: Grammar, dfa: Dfa, spell: Spell): NodeId {
  patternWork.spend(dfa.next.length * dfa.columns.count)
  const sets = columnSets(dfa)
  const isLive = liveStates(dfa)
  if (!isLive[0]) return grammar.never
  const nodes: (NodeId | undefined)[] = dfa.next.map(() => undefined)
  /** The rules of states that a cycle returns to. */
  const rules: (NodeId | undefined)[] = dfa.next.map(() => undefined)
  const isOpen = dfa.next.map(() => false)
  const path = [{ state: 0, targets: targetsOf(dfa, sets, isLive, 0), at: 0 }]
  isOpen[0] = true
  while (path.length > 0) {
    const top = path.at(-1)!
    const target = [...top.targets.keys()][top.at++]
    if (target === undefined) {
      const node = stateNode(grammar, dfa, top.state, top.targets, (to) => rules[to] ?? nodes[to]!, spell)
      const rule = rules[top.state]
      if (rule !== undefined) grammar.define(rule, node)
      nodes[top.state] = node
      isOpen[top.state] = false
      path.pop()
    } else if (target !== top.state && isOpen[target]) rules[target] ??= grammar.declare('pattern', false)
    else if (nodes[target] === undefined && target !== top.state) {
      isOpen[target] = true
      path.push({ state: target, targets: targetsOf(dfa, sets, isLive, target), at: 0 })
    }
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

/** The characters that lead to each state from which a text can be completed. */
function targetsOf(
  dfa: Dfa,
  sets: readonly CodePoints[],
  isLive: readonly boolean[],
  state: number,
): ReadonlyMap<number, CodePoints> {
  const columns = new Map<number, CodePoints[]>()
  for (const [column, target] of dfa.next[state]!.entries()) {
    if (!isLive[target]) continue
    const list = columns.get(target)
    if (list === undefined) columns.set(target, [sets[column]!])
    else list.push(sets[column]!)
  }
  return new Map([...columns].map(([target, list]) => [target, union(...list)]))
}

function liveStates(dfa: Dfa): boolean[] {
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
