// Pattern nodes. In: a pattern's tree and how characters are encoded. Out: grammar nodes of the same
// language.
import type { CodePoints } from '../code-points.ts'
import type { Grammar, NodeId } from '../grammar.ts'
import type { Regex } from './syntax.ts'

/** The node of one character of a set: plain, or as it is written in a JSON string. */
export type Spell = (set: CodePoints) => NodeId

/** `regex` must have no anchors. */
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
    case 'start':
    case 'end':
      throw new TypeError('an anchor is left in the pattern')
    default:
      return regex satisfies never
  }
}
