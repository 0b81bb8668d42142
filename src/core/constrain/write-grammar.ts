// Writes the grammar of a constraint, for any model.
//
// Pages load this part of the library for the first constrained reply. Engine workers never load it: they
// read its output, because not every bundler lets a worker load another chunk.
import { reasonOf } from '../base/errors.ts'
import { LruCache } from '../base/lru-cache.ts'
import { callsNode } from './calls/write-calls.ts'
import { parseGbnf } from './gbnf/gbnf.ts'
import { Grammar, type NodeId, oneOf } from './grammar.ts'
import { bounded, refused, tooLarge } from './refuse.ts'
import { patternNode } from './regex/pattern-node.ts'
import { schemaNode } from './schema/values.ts'
import { inSlices } from './slices.ts'
import { type ConstraintSpec, type WrittenGrammar, writtenGrammar } from './written-grammar.ts'

/** Maximum number of cached grammars. */
const KEPT_GRAMMARS = 8

/** Keyed by their source. */
const written = new LruCache<string, WrittenGrammar>(KEPT_GRAMMARS)

/** Throws `unsupported` for a constraint that cannot be enforced. */
export function writeGrammar(spec: ConstraintSpec): WrittenGrammar {
  const key = keyOf(spec)
  return written.memo(key, () => newGrammar(spec, key))
}

/**
 * Like `writeGrammar`, with turns of the event loop during compilation. Returns undefined if cancelled; this
 * is checked between turns.
 */
export async function writeGrammarInSlices(
  spec: ConstraintSpec,
  isWanted: () => boolean,
): Promise<WrittenGrammar | undefined> {
  const key = keyOf(spec)
  const made = written.get(key) ?? (await inSlices(() => newGrammar(spec, key), isWanted))
  return made && written.memo(key, () => made)
}

/** Like `writeGrammar`, but compiles each time and does not cache. */
export function newGrammar(spec: ConstraintSpec, key = keyOf(spec)): WrittenGrammar {
  return bounded(() => {
    const grammar = new Grammar()
    return writtenGrammar(grammar, rootOf(grammar, spec), key)
  })
}

function rootOf(grammar: Grammar, spec: ConstraintSpec): NodeId {
  switch (spec.type) {
    case 'grammar':
      return parseGbnf(grammar, spec.grammar)
    case 'schema':
      grammar.isCompact = spec.compact === true
      return schemaNode(grammar, spec.schema)
    case 'pattern':
      return patternNode(grammar, spec.pattern)
    case 'choices':
      if (spec.choices.length === 0) throw refused('has no choices', 'give at least one')
      return oneOf(grammar, spec.choices)
    case 'calls':
      return callsNode(grammar, spec.tools)
    default:
      return spec satisfies never
  }
}

/** Maximum number of characters of a constraint as JSON. 100,000 choices take 3 s. */
const MAX_LENGTH = 1 << 20

/** Equal constraints have equal keys. */
function keyOf(spec: ConstraintSpec): string {
  let key: string
  try {
    key = JSON.stringify(spec)
  } catch (error) {
    throw refused(`cannot be read as JSON: ${reasonOf(error)}`, 'give a plain value without cycles')
  }
  if (key.length > MAX_LENGTH) throw tooLarge('characters', key.length, MAX_LENGTH)
  return key
}
