// Pattern nodes. In: a pattern's tree and how characters are encoded. Out: grammar nodes of the same
// language.
import type { Grammar, NodeId } from '../grammar.ts'
import { dfaOf } from './dfa.ts'
import { dfaNode, type Spell } from './dfa-node.ts'
import type { Regex } from './syntax.ts'

/** `regex` must have no anchors and no lookahead. */
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
