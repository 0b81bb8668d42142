// The grammar node for the texts that a regular expression matches.

import type { Grammar, NodeId } from '../grammar.ts'
import { whole } from './anchors.ts'
import { regexNode } from './dfa.ts'
import { parseRegex } from './syntax.ts'

/** The texts that a pattern matches as a whole. */
export function patternNode(grammar: Grammar, pattern: string): NodeId {
  return regexNode(grammar, whole(parseRegex(pattern)), (set) => grammar.chars(set))
}
