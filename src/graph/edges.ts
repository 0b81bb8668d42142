// Edges. In: a node or a graph. Out: a node's inputs and outputs, a value's readers, a graph with values
// replaced.

import type { Value } from './ir.ts'
import type { Graph, Node } from './nodes.ts'

/** Fields that hold the outputs of a node. A value in any other field is an input. */
const OUTPUTS: readonly string[] = ['output', 'quantized']

const isValue = (field: unknown): field is Value =>
  typeof field === 'object' && field !== null && 'form' in field

/** The fields that a node reads, with their names, in its own order. */
const inputFields = (node: Node): [string, Value][] =>
  Object.entries(node as object).filter(
    (entry): entry is [string, Value] => !OUTPUTS.includes(entry[0]) && isValue(entry[1]),
  )

/** Values that a node reads. */
export const inputsOf = (node: Node): readonly Value[] => inputFields(node).map(([, value]) => value)

/** Values a node makes. */
export function outputsOf(node: Node): readonly Value[] {
  const quantized = 'quantized' in node ? node.quantized : undefined
  return [node.output, quantized].filter((value) => value !== undefined)
}

/** The node with every input replaced by `replace(input)`. */
export function mapInputs(node: Node, replace: (value: Value) => Value): Node {
  const replaced = inputFields(node).map(([field, value]) => [field, replace(value)] as const)
  return { ...node, ...Object.fromEntries(replaced) } as Node
}

/**
 * Indices of the nodes that read each value, by value id. The graph's own output does not count as a read.
 */
export function readersOf(graph: Graph): ReadonlyMap<number, readonly number[]> {
  const readers = new Map<number, number[]>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of new Set(inputsOf(node))) readers.set(id, [...(readers.get(id) ?? []), index])
  }
  return readers
}

/** Index of the node that makes each value, by value id. */
export function producersOf(graph: Graph): ReadonlyMap<number, number> {
  const producers = new Map<number, number>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of outputsOf(node)) producers.set(id, index)
  }
  return producers
}

/**
 * By id, the value whose rows each value points into: itself, or the value that its slices and takeRows start
 * from.
 */
export function basesOf(graph: Graph): ReadonlyMap<number, number> {
  const bases = new Map<number, number>()
  for (const node of graph.nodes) {
    const isView = node.op === 'slice' || node.op === 'takeRows'
    for (const { id } of outputsOf(node)) {
      bases.set(id, isView ? (bases.get(node.input.id) ?? node.input.id) : id)
    }
  }
  return bases
}

/** The first id that no value of the graph has. */
export function nextId(graph: Graph): number {
  return Math.max(-1, ...graph.nodes.flatMap(outputsOf).map(({ id }) => id)) + 1
}
