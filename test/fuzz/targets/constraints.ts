// Target: constraints. In: JSON schemas, GBNF, regular expressions and choices, changed. Out: the constraint,
// compiled in slices as in the engine, and walked for a few tokens. If few slices are enough, compiling it at
// once must give the same result.
import { isDeepStrictEqual } from 'node:util'
import { reasonOf } from '../../../src/core/base/errors.ts'

import { ConstraintCompiler } from '../../../src/core/constrain/compile.ts'
import { RandomSchema } from '../../../src/core/constrain/testing/random-schema.ts'
import { allowed, smallVocabulary } from '../../../src/core/constrain/testing/vocabulary.ts'
import { newGrammar, writeGrammarInSlices } from '../../../src/core/constrain/write-grammar.ts'
import type { ConstraintSpec, WrittenGrammar } from '../../../src/core/constrain/written-grammar.ts'
import { constraintSpec } from '../../../src/engine/reply/constraints.ts'
import { Random } from '../../helpers/random.ts'
import { textOf } from '../input.ts'
import { textOfTree, treeOf } from '../mutate/json-tree.ts'
import { mutateJson } from '../mutate/mutate-json.ts'
import { mutateText } from '../mutate/mutate-text.ts'
import type { Target } from '../target.ts'

/** Number of tokens in a walk. */
const STEPS = 5

export async function openTarget(): Promise<Target> {
  const vocabulary = smallVocabulary([
    '{"',
    '":',
    '", "',
    'name',
    ' the',
    'tr',
    'ue',
    '12',
    '\n',
    'é',
    '},',
    ']}',
    'ab',
  ])
  const { vocab, endIds } = vocabulary
  return {
    draw(random) {
      const walk = String(random.below(2 ** 31))
      switch (random.below(5)) {
        case 0:
        case 1:
          return { type: 'schema', source: schema(random), walk }
        case 2:
          return {
            type: 'grammar',
            source: mutateText(random, random.pick(GRAMMARS), GBNF_WORDS, GRAMMARS),
            walk,
          }
        case 3:
          return { type: 'pattern', source: pattern(random), walk }
        default:
          return {
            type: 'choices',
            source: textOfTree(mutateJson(random, random.pick(CHOICES), CHOICES)),
            walk,
          }
      }
    },
    async run(input) {
      const type = textOf(input, 'type')
      const source = textOf(input, 'source')
      const isText = type === 'grammar' || type === 'pattern'
      const value = isText ? source : parsed(source)
      if (value === undefined) return 'no JSON'
      const spec = constraintSpec({ [type]: value })
      if (spec === undefined) return 'none'
      // A new compiler each time, so that nothing carries over between inputs.
      const constraint = new ConstraintCompiler(vocabulary, vocab, endIds).constrain(await written(spec))
      const random = new Random(Number(textOf(input, 'walk')))
      for (let step = 0; step < STEPS && !constraint.mustEnd; step++) {
        const ids = allowed(constraint.mask())
        if (ids.length === 0) throw new Error('a mask without a token')
        const id = random.pick(ids)
        if (endIds.has(id)) break
        constraint.accept(id)
      }
      return 'walked'
    },
  }
}

/** With more slices, compiling it again at once would take so long that it would look like a hang. */
const MAX_SLICES = 4

async function written(spec: ConstraintSpec): Promise<WrittenGrammar> {
  let slices = 0
  const isWanted = () => {
    slices += 1
    return true
  }
  const inSlices = await settled(() => writeGrammarInSlices(spec, isWanted))
  if (slices > 0 && slices <= MAX_SLICES) {
    const atOnce = await settled(() => newGrammar(spec))
    if (!isDeepStrictEqual(inSlices.value, atOnce.value) || reason(inSlices) !== reason(atOnce))
      throw new Error(`${slices} slices: ${reason(inSlices)}, but at once: ${reason(atOnce)}`)
  }
  if (inSlices.value === undefined) throw inSlices.error
  return inSlices.value
}

interface Settled {
  readonly value?: WrittenGrammar | undefined
  readonly error?: unknown
}

const settled = async (
  write: () => WrittenGrammar | Promise<WrittenGrammar | undefined> | undefined,
): Promise<Settled> => {
  try {
    return { value: await write() }
  } catch (error) {
    return { error }
  }
}

const reason = ({ value, error }: Settled): string => (value === undefined ? reasonOf(error) : 'written')

/** As the worker receives it. Cycles, undefined and functions never get that far. */
function parsed(source: string): unknown {
  try {
    return JSON.parse(source)
  } catch {
    return undefined
  }
}

function schema(random: Random): string {
  const good = treeOf(
    random.chance(0.3) ? random.pick(SCHEMAS) : new RandomSchema(() => random.unit()).schema(2),
  )
  return textOfTree(random.chance(0.1) ? good : mutateJson(random, good, SCHEMA_TREES))
}

const SCHEMAS = [
  {
    type: 'object',
    properties: { a: { type: 'integer', minimum: 1, maximum: 12 }, b: { $ref: '#/$defs/b' } },
    required: ['a'],
    $defs: { b: { type: ['string', 'null'], maxLength: 5 } },
  },
  {
    allOf: [
      { type: 'object', properties: { x: { const: 1 } } },
      { required: ['x'], minProperties: 1 },
    ],
    additionalProperties: false,
  },
  {
    oneOf: [
      { type: 'string', pattern: '^a+$' },
      { type: 'number', multipleOf: 0.5 },
    ],
    not: { const: 'aa' },
  },
  {
    type: 'array',
    prefixItems: [{ enum: [1, 'x', null] }],
    items: { $ref: '#' },
    minItems: 1,
    maxItems: 4,
    uniqueItems: true,
    contains: { type: 'string' },
  },
  {
    $ref: '#/$defs/tree',
    $defs: {
      tree: {
        type: 'object',
        properties: {
          left: { $ref: '#/$defs/tree' },
          right: { anyOf: [{ $ref: '#/$defs/tree' }, { type: 'null' }] },
        },
      },
    },
  },
  {
    type: 'object',
    patternProperties: { '^x': { type: 'number' } },
    propertyNames: { maxLength: 3 },
    dependentRequired: { a: ['b'] },
    if: { required: ['a'] },
    dependentSchemas: { b: { required: ['b'] } },
    else: false,
    unevaluatedProperties: false,
  },
  { type: 'string', format: 'date-time' },
  { type: 'number', exclusiveMinimum: -1.5, exclusiveMaximum: 1e10 },
  true,
  {},
]
const SCHEMA_TREES = SCHEMAS.map(treeOf)

const CHOICES = [
  ['yes', 'no'],
  ['a', 'ab', 'abc', ''],
  ['é', '漢', '😀'],
  ['x'.repeat(200), 'y'],
].map(treeOf)

const GRAMMARS = [
  'root ::= "a" | "b" [0-9]{2,4} root?',
  'root ::= object\nobject ::= "{" ws (pair ("," ws pair)*)? "}" ws\npair ::= string ":" ws value\nvalue ::= object | string | [0-9]+ ws\nstring ::= "\\"" [^"\\\\\\x00-\\x1f]* "\\"" ws\nws ::= [ \\t\\n]*',
  'root ::= (expr "=" term "\\n")+\nexpr ::= term ([-+*/] term)*\nterm ::= [a-z] [a-z0-9_]* | "(" expr ")"',
  'root ::= <think> "x" .* # note\n',
  'root ::= item+\nitem ::= "- " [^\\n]+ "\\n"\n\nunused ::= "\\u00e9" | [\\u4e00-\\u9fff]{,3}',
]
const GBNF_WORDS = [
  '::=',
  '|',
  '"',
  '[',
  ']',
  '[^',
  '(',
  ')',
  '*',
  '+',
  '?',
  '{',
  '}',
  '{2,}',
  '{0,1000}',
  '{99999}',
  'root',
  'ws',
  '\n',
  ' ',
  '\\x',
  '\\u',
  '\\n',
  '-',
  '.',
  '#',
  '<',
  '>',
  '"a"',
  '[a-z]',
  'root ::= root',
  '\\U0001F600',
]

const PATTERNS = [
  '^[a-z]+$',
  '(foo|bar)-?x*',
  '\\d{1,5}(\\.\\d+)?',
  '^(?:a|ab)(c|bcd)*$',
  '[^\\s"\\\\]{3,8}',
  '\\p{L}+\\b',
  '^(.{0,120}){0,8}$',
  '(a*)*b',
  '(?=x)y',
  '[\\u0041-\\u{5A}]',
  '(?<n>a)\\k<n>',
  '^$',
  'a{0}',
  '[[:alpha:]]',
]
const REGEX_WORDS = [
  '(',
  ')',
  '(?:',
  '(?=',
  '(?<',
  '|',
  '*',
  '+',
  '?',
  '{',
  '}',
  '{2,9}',
  '{0,200}',
  '{99999}',
  '[',
  ']',
  '[^',
  '-',
  '\\',
  '\\d',
  '\\W',
  '\\p{',
  '\\b',
  '^',
  '$',
  '.',
  '\\u{1F600}',
  '\\x41',
  '\\1',
  'a',
  '😀',
  '\\cA',
  '*?',
]

function pattern(random: Random): string {
  const good = random.chance(0.5) ? random.pick(PATTERNS) : grown(random, 4)
  return random.chance(0.2) ? good : mutateText(random, good, REGEX_WORDS, PATTERNS)
}

function grown(random: Random, level: number): string {
  if (level === 0) return random.pick(['a', 'b', '.', '\\d', '[a-f]', '[^x]', '\\s', 'é', '\\p{Lu}'])
  const inner = () => grown(random, level - 1)
  const form = random.below(6)
  if (form === 0) return `(${inner()}|${inner()})`
  if (form === 1) return `(?:${inner()})${random.pick(['*', '+', '?', '{2}', '{0,7}', '{3,}'])}`
  if (form === 2) return inner()
  return inner() + inner()
}
