// The table of operators. In: its rows, the registry and the compiler. Out: whether each agrees with the
// rows, and docs/internals/onnx/operators.md lists them.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { refusalOf } from './compile/lower/lower.ts'
import { EVALUATORS } from './onnx/evaluators.ts'
import type { Node } from './onnx/ir/graph.ts'
import type { Operator } from './onnx/ir/operator.ts'
import { OPERATOR_TABLE, type OperatorRow, operatorName } from './onnx/operator-table.ts'
import { OPERATORS } from './onnx/operators.ts'
import { HANDLERS } from './onnx/raise/handlers.ts'

const PAGE = join(import.meta.dirname, '../../docs/internals/onnx/operators.md')
const rows: readonly (readonly [string, OperatorRow])[] = Object.entries(OPERATOR_TABLE)
const entries: ReadonlyMap<string, Operator> = new Map(
  OPERATORS.map((entry) => [operatorName({ domain: entry.domain, op: entry.name }), entry]),
)
const namesOf = (isMeant: (row: OperatorRow) => boolean): string[] =>
  rows.flatMap(([name, row]) => (isMeant(row) ? [name] : [])).sort()

/** The minimum inputs and outputs of the operator. */
const nodeOf = ({ name, domain, versions: [, version], schema: { inputs, outputs } }: Operator): Node => ({
  name,
  op: name,
  domain,
  version,
  inputs: Array.from({ length: inputs[0] }, (_, at) => `x${at}`),
  outputs: Array.from({ length: Math.max(1, outputs[0]) }, (_, at) => `y${at}`),
  attributes: new Map(),
})

test('the registry has the operators whose rows say how networks run them', () => {
  expect(entries.size).toBe(OPERATORS.length)
  expect([...entries.keys()].sort()).toEqual(namesOf(({ lower }) => lower !== undefined))
})

test('the evaluator of an operator is in its entry if its row says what needs it, and in evaluators.ts otherwise', () => {
  const withOwn = [...entries].flatMap(([name, { evaluate }]) => (evaluate === undefined ? [] : [name]))
  expect(withOwn.sort()).toEqual(namesOf(({ evaluate }) => evaluate !== undefined))
  const later = namesOf(({ evaluate, lower }) => evaluate === undefined && lower !== undefined)
  expect([...EVALUATORS.keys()].sort()).toEqual(later)
})

test('decoders have a handler for each operator whose row says what it computes in a step', () => {
  expect([...HANDLERS.keys()].sort()).toEqual(namesOf(({ raise }) => raise !== undefined))
})

test('the compiler accepts the operators whose rows say body, view or loops, and rejects all others', () => {
  const taken = [...entries].flatMap(([name, entry]) =>
    refusalOf(nodeOf(entry), new Map()) === undefined ? [name] : [],
  )
  expect(taken.sort()).toEqual(namesOf(({ lower = '' }) => ['body', 'view', 'loops'].includes(lower)))
})

test('docs/internals/onnx/operators.md lists the table', async () => {
  const lines = rows.map(([name, { evaluate = '', raise = '', lower = '' }]) => {
    const entry = entries.get(name)
    const [first, last] = entry?.versions ?? []
    const opset = entry === undefined || entry.domain !== '' ? '' : `${first} to ${last}`
    return `| \`${name}\` | ${opset} | ${evaluate} | ${raise} | ${lower} |`
  })
  await expect(pageWith(lines)).toMatchFileSnapshot(PAGE)
})

const pageWith = (lines: readonly string[]): string => `# ONNX operators

Made from \`src/network/onnx/operator-table.ts\`; \`npx vitest run --project unit src/network/operator-table.test.ts -u\`
writes it. An operator may be computed at three times:

- **evaluated** before a run, by the evaluator of its entry. \`control\`: sizes, positions, masks and tables, which exports
  compute from the shapes of their inputs; decoders prove theirs with it. \`weights\`: what exports compute from
  constants alone. Empty: the operator only occurs on the way from inputs to outputs, so that its loops compute it even where
  all its inputs are constant. Networks load the evaluators of those (\`src/network/onnx/evaluators/\`) when they need one.
- **raised** into a decoder's step, by a handler of \`src/network/onnx/raise/handlers/\`: what it is part of.
- **lowered** into the loops of a network. \`body\`: arithmetic on each element (\`lower/bodies.ts\`). \`view\`: the same elements
  under other dims. \`loops\`: a handler of \`src/network/compile/lower/\`. \`passes\`: passes replace it as soon as sizes are
  known. \`sizes\`: the same, unless the sizes of its outputs depend on computed values. \`script\`: it has no loops, so its
  evaluator runs it between programs. Empty: only decoders of one exporter have it.

A network also evaluates forms that a handler does not take. Operators without a row are \`unsupported\` by name; with
\`fallback: 'ort'\`, onnxruntime-web runs them and whatever else is not compiled. Operators of ONNX Runtime (\`com.microsoft\`) have one version.

| operator | opset | evaluated | raised | lowered |
|---|---|---|---|---|
${lines.join('\n')}
`
