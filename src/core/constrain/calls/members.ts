// Members with separators between them, of which some may be left out.
import type { Grammar, NodeId } from '../grammar.ts'

export interface Member {
  readonly node: NodeId
  readonly isRequired: boolean
}

/** The members in their order, with `separator` between those that are there. */
export function membersNode(grammar: Grammar, members: readonly Member[], separator: string): NodeId {
  let first = grammar.empty
  let next = grammar.empty
  for (const { node, isRequired } of members.toReversed()) {
    const begins = grammar.seq(node, next)
    const goesOn = grammar.seq(grammar.text(separator), node, next)
    first = isRequired ? begins : grammar.alt(begins, first)
    next = isRequired ? goesOn : grammar.alt(goesOn, next)
  }
  return first
}
