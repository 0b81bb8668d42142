// Tests written grammars. In: constraints. Out: grammars that arrive unchanged in a worker, where they are
// limited to the model's tokens.
import { describe, expect, test } from 'vitest'
import { analyse } from './analyse.ts'
import { Automaton, DEAD } from './automaton.ts'
import { ALL_BYTES, type ByteSet, ofRange } from './grammar-nodes.ts'
import { writeGrammar } from './write-grammar.ts'
import { type ConstraintSpec, readGrammar } from './written-grammar.ts'

const encoder = new TextEncoder()

function reader(spec: ConstraintSpec, alphabet: ByteSet = ALL_BYTES): (text: string) => boolean {
  const { grammar, root } = readGrammar(structuredClone(writeGrammar(spec)), alphabet, () => 0)
  const automaton = new Automaton(analyse(grammar, root))
  return (text) => {
    automaton.work.renew()
    let state = automaton.start
    for (const byte of encoder.encode(text)) state = automaton.step(state, byte)
    return state !== DEAD && automaton.closure(state).hasEnd
  }
}

describe('a written grammar', () => {
  test.each<[ConstraintSpec, string[], string[]]>([
    [{ type: 'choices', choices: ['yes', 'no', 'é'] }, ['yes', 'no', 'é'], ['ye', 'nö', '']],
    [{ type: 'pattern', pattern: 'a{2,}[^b]?' }, ['aa', 'aaaa', 'aa😀'], ['a', 'aab']],
    [
      { type: 'grammar', grammar: 'root ::= "(" root? ")" | [0-9]{1,3}' },
      ['()', '((12))', '7'],
      ['(', '1234'],
    ],
    [
      { type: 'schema', schema: { type: 'array', items: { $ref: '#' }, maxItems: 2 } },
      ['[]', '[[], [[]]]'],
      ['[[], [], []]', '[1]'],
    ],
  ])('allows the same texts as %o after the transfer', (spec, inside, outside) => {
    const has = reader(spec)
    expect(inside.filter((text) => !has(text))).toEqual([])
    expect(outside.filter(has)).toEqual([])
  })

  test('omits options that need a byte that has no token', () => {
    const has = reader({ type: 'choices', choices: ['ab', 'aé', 'c'] }, ofRange(0x61, 0x62))
    expect(['ab', 'aé', 'c'].filter(has)).toEqual(['ab'])
  })

  test('is compiled once for equal constraints', () => {
    const spec: ConstraintSpec = { type: 'pattern', pattern: '[a-c]+' }
    expect(writeGrammar({ ...spec })).toBe(writeGrammar(spec))
  })
})
