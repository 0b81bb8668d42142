// Forged nodes. In: random nodes of every operator, with wrong counts, ranks, axes, dtypes and sizes. Out:
// whether each gives tensors or a typed error, in both the shape rule and the evaluator.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHalfbyteError } from '../../../core/base/errors.ts'
import { evaluateNode } from '../evaluate.ts'
import { type Attribute, type AttributeKind, type Node, typeOf } from '../ir/graph.ts'
import type { Operator } from '../ir/operator.ts'
import { ALL_DTYPES, countOf, type DType, tensorOf } from '../ir/tensor.ts'
import { OPERATORS } from '../operators.ts'

const number = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc.constantFrom(2 ** 53, -(2 ** 53), 2 ** 31, 17, 32),
)
const tensorOfAny = (dtypes: readonly DType[]) =>
  fc
    .tuple(
      fc.constantFrom(...dtypes),
      fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }),
      fc.array(number, { minLength: 1, maxLength: 8 }),
    )
    .map(([dtype, dims, values]) =>
      tensorOf(
        dtype,
        dims,
        Array.from({ length: countOf(dims) }, (_, at) => values[at % values.length]!),
      ),
    )

const VALUES: Readonly<Record<AttributeKind, fc.Arbitrary<unknown>>> = {
  int: number,
  ints: fc.array(number, { maxLength: 4 }),
  float: fc.double({ noNaN: true }),
  floats: fc.array(fc.double(), { maxLength: 3 }),
  string: fc.constantFrom('', 'none', 'tanh', 'reflect', 'wrap', 'LEFT', 'ij,jk->ik', '...i->i', 'ii', ',->'),
  strings: fc.constant([]),
  tensor: tensorOfAny(ALL_DTYPES),
  graph: fc.constant({ name: 'g', inputs: [], outputs: ['none'], constants: new Map(), nodes: [] }),
}

const nodeOf = ({ name, domain, versions, schema }: Operator) => {
  const attributes = Object.entries(schema.attributes).map(([key, kind]) =>
    fc.option(VALUES[kind].map((value): [string, Attribute] => [key, { kind, value } as Attribute])),
  )
  // Mostly dtypes that the schema allows, to reach the code behind that check.
  const most = Math.min(schema.inputs[1], schema.inputs[0] + 5)
  const inputs = Array.from({ length: most }, (_, at) => {
    const due = schema.dtypes[Math.min(at, schema.dtypes.length - 1)] ?? ALL_DTYPES
    const each = fc.oneof({ weight: 12, arbitrary: tensorOfAny(due.slice(0, 1)) }, tensorOfAny(ALL_DTYPES))
    return fc.option(each, { nil: undefined, freq: 8 })
  })
  return fc.record({
    inputs: fc
      .tuple(fc.tuple(...inputs), fc.integer({ min: schema.inputs[0], max: most }))
      .map(([list, count]) => list.slice(0, count)),
    version: fc.constantFrom(...versions),
    outputs: fc.integer({ min: schema.outputs[0], max: Math.min(schema.outputs[1], 4) }),
    attributes: fc.tuple(...attributes).map((list) => new Map(list.filter((each) => each !== null))),
    op: fc.constant(name),
    domain: fc.constant(domain),
  })
}

/** Undefined, or a description of the error. */
function failure(run: () => unknown): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    return isHalfbyteError(error) && error.code !== 'internal' ? undefined : error
  }
}

test.each(OPERATORS.map((each) => [`${each.domain}:${each.name}`, each] as const))(
  '%s gives tensors or a typed error for forged nodes',
  (_, operator) => {
    fc.assert(
      fc.property(nodeOf(operator), ({ inputs, outputs, ...rest }) => {
        const node: Node = {
          ...rest,
          name: 'forged',
          inputs: inputs.map((each, at) => (each === undefined ? '' : `x${at}`)),
          outputs: Array.from({ length: outputs }, (_, at) => `y${at}`),
        }
        expect(failure(() => evaluateNode(node, inputs))).toBeUndefined()
        const types = inputs.map((each) => each && typeOf(each))
        expect(
          failure(() =>
            operator.infer({
              node,
              inputs: types,
              constant: (at) => inputs[at],
              subgraph: () => [],
            }),
          ),
        ).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  },
)
