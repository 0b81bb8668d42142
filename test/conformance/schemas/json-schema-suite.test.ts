// JSON Schema's own tests. In: the schemas and instances of draft 2020-12. Out: whether a model can write an
// instance that its schema rejects, whether one passes as a tool's arguments, and whether the table in
// docs/json-schema.md is current.
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { ConstraintCompiler } from '../../../src/core/constrain/compile.ts'
import { faultFinder } from '../../../src/core/constrain/schema/faults.ts'
import { newGrammar } from '../../../src/core/constrain/write-grammar.ts'
import type { TokenConstraint, WrittenGrammar } from '../../../src/core/constrain/written-grammar.ts'
import { fixtureText } from '../../helpers/fixture.ts'

interface Group {
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

const SUITE: Readonly<Record<string, readonly Group[]>> = JSON.parse(
  fixtureText('json-schema/draft2020-12.json'),
)

interface Row {
  readonly keyword: string
  readonly instances: number
  readonly valid: number
  /** Valid instances that the grammar can write, with the properties in their given order. */
  readonly written: number
  /** Instances on which the check of tool arguments agrees with the suite. */
  readonly checked: number
  /** Instances whose schema is rejected. */
  readonly refused: number
  /** The keywords that the errors name. */
  readonly named: ReadonlySet<string>
  /** Invalid instances that the grammar writes or the check accepts. */
  readonly wrong: readonly string[]
}

const encoder = new TextEncoder()
/** A token for each byte. */
const compiler = new ConstraintCompiler(
  {
    vocabSize: 256,
    tokenBytes: (id) => Uint8Array.of(id),
    isSpecial: () => false,
    idOf: () => undefined,
    encode: (text) => [...encoder.encode(text)],
  },
  256,
  new Set(),
)

/** Constraints on one text each, compiled eagerly so that a schema that allows nothing is rejected here. */
function constrained(grammar: WrittenGrammar): () => TokenConstraint {
  compiler.constrain(grammar)
  return () => compiler.constrain(grammar)
}

/** The result of `work`, or the keyword's name if the schema is rejected. */
function tried<T>(work: () => T): { readonly result: T } | { readonly keyword: string } {
  try {
    return { result: work() }
  } catch (error) {
    if (!isHalfbyteError(error) || error.code !== 'unsupported') throw error
    return { keyword: String(error.detail['keyword'] ?? 'nothing fits') }
  }
}

function rowOf([keyword, groups]: readonly [string, readonly Group[]]): Row {
  const row = { keyword, instances: 0, valid: 0, written: 0, checked: 0, refused: 0 }
  const named = new Set<string>()
  const wrong: string[] = []
  for (const { description, schema, tests } of groups) {
    row.instances += tests.length
    row.valid += tests.filter(({ valid }) => valid).length
    const compiled = tried(() => ({
      constrain: constrained(newGrammar({ type: 'schema', schema })),
      find: faultFinder(schema, 'arguments'),
    }))
    if ('keyword' in compiled) {
      row.refused += tests.length
      named.add(compiled.keyword)
      continue
    }
    const { constrain, find } = compiled.result
    for (const { description: what, data, valid } of tests) {
      const constraint = constrain()
      const isWritten = constraint.acceptText(encoder.encode(JSON.stringify(data))) && constraint.canEnd
      const judged = tried(() => find(data) === undefined)
      if ('keyword' in judged) {
        row.refused += 1
        named.add(judged.keyword)
        continue
      }
      const isAccepted = judged.result
      if (isAccepted === valid) row.checked += 1
      if (isWritten && valid) row.written += 1
      if (!valid && (isWritten || isAccepted)) wrong.push(`${keyword}: ${description}: ${what}`)
    }
  }
  return { ...row, named, wrong }
}

const ROWS = Object.entries(SUITE).map(rowOf)

test('no instance that its schema rejects is written, or passes as tool arguments', () => {
  expect(ROWS.flatMap(({ wrong }) => wrong)).toEqual([])
})

test("the guide's table matches this run", async () => {
  const cell = (row: Row, value: number) => (row.refused === row.instances ? '–' : String(value))
  const lines = ROWS.map(
    (row) =>
      `| \`${row.keyword}\` | ${row.instances} | ${row.refused} | ${cell(row, row.checked)} | ${row.valid} | ${cell(row, row.written)} | ${[...row.named].join(', ')} |`,
  )
  const sum = (key: 'instances' | 'refused' | 'checked' | 'valid' | 'written') =>
    ROWS.reduce((all, row) => all + row[key], 0)
  await expect(
    `# JSON Schema's own tests

The [test suite of JSON Schema](https://github.com/json-schema-org/JSON-Schema-Test-Suite) has schemas with instances
for each keyword. These are the results for draft 2020-12. The model never writes an instance that the schema rejects.

- *rejected*: instances of schemas that are rejected with \`unsupported\`, and the keywords that the errors name.
- *checked alike*: instances that the check of a tool's arguments judges as the suite does.
- *written*: valid instances that the grammar can write, with members in JavaScript's order. The others are excluded on
  purpose: see [constraints.md](guide/constraints.md#json-schema).

| file of the suite | instances | rejected | checked alike | valid | written | named |
|---|--:|--:|--:|--:|--:|---|
${lines.join('\n')}
| all | ${sum('instances')} | ${sum('refused')} | ${sum('checked')} | ${sum('valid')} | ${sum('written')} | |

\`npx vitest run --project conformance test/conformance/schemas -u\` writes this page.
`,
  ).toMatchFileSnapshot('../../../docs/json-schema.md')
})
