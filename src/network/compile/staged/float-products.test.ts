// Products for another runtime. In: a graph with MatMulNBits, also in a branch, with the attribute that lets
// a runtime round rows. Out: whether that attribute is removed and everything else is unchanged.
import { expect, test } from 'vitest'
import type { Attribute, Graph, Node } from '../../onnx/ir/graph.ts'
import { withFloatProducts } from './float-products.ts'

const int = (value: number): Attribute => ({ kind: 'int', value })

const node = (op: string, attributes: Readonly<Record<string, Attribute>>): Node => ({
  ...{ name: op, op, domain: 'com.microsoft', version: 1, inputs: ['x'], outputs: ['y'] },
  attributes: new Map(Object.entries(attributes)),
})

const graphOf = (...nodes: readonly Node[]): Graph => ({
  ...{ name: 'products', inputs: [], outputs: ['y'], constants: new Map() },
  nodes,
})

test('products must not round their rows', () => {
  const product = (level: Readonly<Record<string, Attribute>>) =>
    node('MatMulNBits', { K: int(64), bits: int(4), ...level })
  const other = node('Other', { accuracy_level: int(4) })
  const whole = (level: Readonly<Record<string, Attribute>>): Graph => {
    const branch: Attribute = { kind: 'graph', value: graphOf(product(level)) }
    return graphOf(product(level), node('If', { then_branch: branch }), other)
  }
  expect(withFloatProducts(whole({ accuracy_level: int(4) }))).toEqual(whole({}))
})
