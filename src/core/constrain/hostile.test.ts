// Hostile constraints. In: constraints that are short to write and expensive to compile. Out: an error that
// names the limit, within seconds and bounded memory.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../base/errors.ts'
import { ConstraintCompiler } from './compile.ts'
import { patternWork } from './refuse.ts'
import { smallVocabulary } from './testing/vocabulary.ts'
import { writeGrammar } from './write-grammar.ts'
import type { ConstraintSpec } from './written-grammar.ts'

const VOCABULARY = smallVocabulary(['xx'])
const compiler = new ConstraintCompiler(VOCABULARY, VOCABULARY.vocab, VOCABULARY.endIds)

function refusal(spec: ConstraintSpec): string {
  try {
    compiler.constrain(writeGrammar(spec))
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

const schema = (value: unknown): ConstraintSpec => ({ type: 'schema', schema: value })
const choices = (...texts: string[]): ConstraintSpec => ({ type: 'choices', choices: texts })
const classes = Array.from({ length: 5000 }, (_, at) => `[\u4e00-${String.fromCharCode(0x4e01 + at)}]`)
/** A schema with `count` patterns, each within its own limits. */
const patterns = (count: number): ConstraintSpec => {
  const pattern = (at: number) => ({ type: 'string', pattern: `^(?!.*x{${at}}[ab]{9}).*a[ab]{9}$` })
  const names = Array.from({ length: count }, (_, at) => [`p${at}`, pattern(at + 1)])
  return schema({ type: 'object', properties: Object.fromEntries(names) })
}
const long = 'x'.repeat(10_000_000)

test.each<[string, ConstraintSpec, RegExp]>([
  [
    'counts within counts with an exact length',
    schema({ type: 'string', pattern: '^(.{0,120}){0,80}$', maxLength: 5000 }),
    /^unsupported: .*more than 2097152 places in a pattern/,
  ],
  [
    'thousands of overlapping sets',
    schema({ type: 'string', maxLength: 100, pattern: `^(${classes.join('|')})*x?$` }),
    /^unsupported: .*more than 2097152 ranges/,
  ],
  ['a hundred patterns', patterns(100), /^unsupported: .*more than 8388608 steps for all its patterns/],
  [
    'steps with a large common multiple',
    schema({ allOf: [97, 89, 83].map((multipleOf) => ({ type: 'number', multipleOf })) }),
    /^unsupported: .* is 8633 units of its last digit and may be 1000; leave/,
  ],
  ['two choices of 10 MB', choices(`${long}a`, `${long}b`), /^unsupported: .*more than 1048576 characters/],
  ['an enum of 10 MB', schema({ enum: [long] }), /^unsupported: .*more than 1048576 characters/],
  ['a choice of 300,000 characters', choices('x'.repeat(300_000)), /^unsupported: .*more than 262144/],
  [
    'a property name of 300,000 characters',
    schema({ required: ['x'.repeat(300_000)], properties: {} }),
    /^unsupported: .*262144/,
  ],
  ['a constant of 120,000 ones', schema({ const: Array(120_000).fill(1) }), /^unsupported: .*is too large/],
])(
  '%s',
  (_, spec, sentence) => {
    expect(refusal(spec)).toMatch(sentence)
  },
  20_000,
)

test.each<[string, ConstraintSpec]>([
  ['a choice', choices('x'.repeat(200_000), 'y')],
  ['an enum', schema({ enum: ['x'.repeat(200_000), 5] })],
])('%s of 200,000 characters is enforced', (_, spec) => {
  const constraint = compiler.constrain(writeGrammar(spec))
  const [first] = spec.type === 'choices' ? 'x' : '"'
  constraint.accept(first!.charCodeAt(0))
  for (let at = 0; at < 100; at++) constraint.accept('x'.charCodeAt(0))
  expect(constraint.canEnd).toBe(false)
  expect(constraint.mask()[120 >> 5]! & (1 << (120 & 31))).not.toBe(0)
})

test('each constraint has its own budget of pattern steps', () => {
  expect(refusal(patterns(101))).toMatch(/steps for all its patterns/)
  expect(refusal(patterns(4))).toBe('none')
})

test('states of a long chain are compared a limited number of times', () => {
  const chain = schema({ type: 'string', pattern: '^(ab|c){2000}$', maxLength: 15_000 })
  expect(refusal(chain)).toMatch(/more than 16384 states of a pattern/)
  expect(patternWork.spentUnits).toBeLessThan(2 ** 21)
})
