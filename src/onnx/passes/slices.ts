// Cascaded slices. In: a graph. Out: the graph in which a Slice of a Slice that is read by it alone is one
// Slice.
import { readOnce } from '../ir/edges.ts'
import { type Constant, type Graph, hasInput, isStored, type Node } from '../ir/graph.ts'
import { numbersOf, tensorOf } from '../ir/tensor.ts'
import type { Pass } from './pass.ts'

/** Files write the largest i64 for "to the end", which is no exact number here. */
const within = (place: number): number =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(place, Number.MAX_SAFE_INTEGER))

interface Cut {
  readonly start: number
  readonly end: number
}

export const mergeSlices: Pass = {
  name: 'cascaded slices',
  run(graph) {
    const once = readOnce(graph)
    const constants = new Map<string, Constant>(graph.constants)
    const makers = new Map<string, Node>()
    const dropped = new Set<Node>()
    const nodes = graph.nodes.map((node) => {
      const [input = ''] = node.inputs
      const before = makers.get(input)
      const joined = before && once.has(input) ? joinedSlice(node, before, graph, constants) : undefined
      if (joined !== undefined) dropped.add(before!)
      const made = joined ?? node
      for (const name of made.outputs) makers.set(name, made)
      return made
    })
    if (dropped.size === 0) return graph
    return { ...graph, constants, nodes: nodes.filter((node) => !dropped.has(node)) }
  },
}

function joinedSlice(
  node: Node,
  before: Node,
  graph: Graph,
  constants: Map<string, Constant>,
): Node | undefined {
  const [inner, outer] = [cutsOf(before, graph, constants), cutsOf(node, graph, constants)]
  if (inner === undefined || outer === undefined) return undefined
  const all = new Map(inner)
  for (const [axis, { start, end }] of outer) {
    const first = all.get(axis)
    if (first === undefined) all.set(axis, { start, end })
    else {
      // Both count from the front, so that the second is within the first.
      if (start < 0 || end < 0 || first.start < 0 || first.end < 0) return undefined
      all.set(axis, {
        start: Math.min(first.start + start, first.end),
        end: Math.min(first.start + end, first.end),
      })
    }
  }
  const cuts = [...all].sort(([a], [b]) => a - b)
  const list = (what: string, values: readonly number[]): string => {
    const name = `${node.outputs[0]} ${what}`
    constants.set(name, tensorOf('i64', [values.length], values))
    return name
  }
  const inputs = [
    before.inputs[0]!,
    list(
      'starts',
      cuts.map(([, cut]) => cut.start),
    ),
    list(
      'ends',
      cuts.map(([, cut]) => cut.end),
    ),
    list(
      'axes',
      cuts.map(([axis]) => axis),
    ),
  ]
  return { ...node, inputs }
}

/** Cuts by axis; undefined unless all is constant, axes count from the front and steps are 1. */
function cutsOf(
  node: Node,
  graph: Graph,
  constants: ReadonlyMap<string, Constant>,
): Map<number, Cut> | undefined {
  if (node.op !== 'Slice' || node.domain !== '') return undefined
  const read = (index: number): number[] | undefined => {
    const name = node.inputs[index] ?? ''
    const constant = graph.constants.get(name) ?? constants.get(name)
    return constant === undefined || isStored(constant) ? undefined : numbersOf(constant)
  }
  const [starts, ends] = [read(1), read(2)]
  if (starts === undefined || ends === undefined) return undefined
  const axes = hasInput(node, 3) ? read(3) : starts.map((_, axis) => axis)
  const steps = hasInput(node, 4) ? read(4) : starts.map(() => 1)
  if (axes === undefined || steps === undefined) return undefined
  if (axes.some((axis) => axis < 0) || steps.some((step) => step !== 1)) return undefined
  return new Map(axes.map((axis, at) => [axis, { start: within(starts[at]!), end: within(ends[at]!) }]))
}
