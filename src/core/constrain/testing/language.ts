// Languages for tests. In: a grammar. Out: whether a text is in its language, byte by byte and without a
// vocabulary.
import { analyse } from '../analyse.ts'
import { Automaton, DEAD, type StateId } from '../automaton.ts'
import { parseGbnf } from '../gbnf/gbnf.ts'
import { Grammar, type NodeId } from '../grammar.ts'
import { schemaNode } from '../schema/values.ts'

const encoder = new TextEncoder()

export class Language {
  readonly automaton: Automaton

  constructor(root: (grammar: Grammar) => NodeId) {
    const grammar = new Grammar()
    this.automaton = new Automaton(analyse(grammar, root(grammar)))
  }

  /** The state after a text; DEAD if no text of the language begins with it. */
  after(text: string | Uint8Array): StateId {
    this.automaton.work.renew()
    let state = this.automaton.start
    for (const byte of typeof text === 'string' ? encoder.encode(text) : text) {
      state = this.automaton.step(state, byte)
    }
    return state
  }

  has(text: string): boolean {
    const state = this.after(text)
    return state !== DEAD && this.automaton.closure(state).hasEnd
  }

  begins(text: string): boolean {
    return this.after(text) !== DEAD
  }
}

export function jsonSchema(schema: unknown): Language {
  return new Language((grammar) => schemaNode(grammar, schema))
}

export function gbnf(source: string): Language {
  return new Language((grammar) => parseGbnf(grammar, source))
}
