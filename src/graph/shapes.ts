// Shapes. In: a graph. Out: nothing if each value is made once, before it is read, and fits; else an error.

import { HalfbyteError } from '../base/errors.ts'
import { inputsOf, outputsOf } from './edges.ts'
import { broken, expectForm, sameShape, show } from './fit.ts'
import type { Value } from './ir.ts'
import { type Graph, inferShape, type Node } from './nodes.ts'

const READ_A8: ReadonlySet<Node['op']> = new Set(['linear', 'linearSwiglu', 'linearExperts'])

/**
 * Throws `internal` unless every value is made once, before it is read, with the shape that its node gives
 * it.
 */
export function checkShapes(graph: Graph): void {
  const made = new Map<number, Value>()
  for (const node of graph.nodes) {
    for (const input of inputsOf(node)) {
      if (made.get(input.id) !== input) throw broken(input, `is read by ${node.op} before it is made`)
      if (!READ_A8.has(node.op)) expectForm(input, 'f32')
    }
    const shape = inferShape(node)
    const outputs = outputsOf(node)
    if (outputs.length === 0) {
      throw new HalfbyteError('internal', `a node ${node.op} of the graph makes nothing`)
    }
    for (const output of outputs) {
      if (made.has(output.id)) throw broken(output, 'is made twice')
      if (!sameShape(output.shape, shape)) throw broken(output, `comes out of ${node.op} as ${show(shape)}`)
      made.set(output.id, output)
    }
  }
  if (made.get(graph.output.id) !== graph.output) throw broken(graph.output, 'is the output but is not made')
}
