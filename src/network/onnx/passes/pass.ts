// Runs passes on a graph and reports the effect of each. A run can stop after a pass, print every graph, and
// verify each pass on random inputs.
import type { Budget } from '../../../core/base/budget.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { graphBudget } from '../graph-budget.ts'
import { type Attribute, type Graph, hasGraph, type Node, sizeOf } from '../ir/graph.ts'

/** Names of outputs must not change, so the caller keeps the node that produces one. */
export function renamed(graph: Graph, names: ReadonlyMap<string, string>): Graph {
  if (names.size === 0) return graph
  return { ...graph, nodes: graph.nodes.map((node) => renamedNode(node, names)) }
}

function renamedNode(node: Node, names: ReadonlyMap<string, string>): Node {
  const attributes = renamedAttributes(node.attributes, names)
  const isRead = node.inputs.some((name) => names.has(name))
  if (!isRead && attributes === node.attributes) return node
  return { ...node, attributes, inputs: node.inputs.map((name) => final(name, names)) }
}

/** Graphs in attributes may read values of enclosing graphs. */
function renamedAttributes(
  attributes: Node['attributes'],
  names: ReadonlyMap<string, string>,
): Node['attributes'] {
  if (!hasGraph({ attributes })) return attributes
  const graphs = [...attributes].filter(([, { kind }]) => kind === 'graph')
  const made = graphs.map(([key, attribute]): [string, Attribute] => [
    key,
    { kind: 'graph', value: renamed(attribute.value as Graph, names) },
  ])
  return new Map([...attributes, ...made])
}

/** Follows chains of names. */
export function final(name: string, names: ReadonlyMap<string, string>): string {
  let found = name
  for (let next = names.get(found); next !== undefined; next = names.get(found)) found = next
  return found
}

/** A pure function that leaves the outputs unchanged. */
export interface Pass {
  readonly name: string
  /** `budget`: limits the work that the graph may cause. Default: the budget of one file. */
  readonly run: (graph: Graph, budget?: Budget) => Graph
}

export interface PassReport {
  readonly pass: string
  readonly nodesBefore: number
  readonly nodesAfter: number
}

interface PassOptions {
  /** Limits the work that the graph may cause. Default: the budget of one file. */
  readonly budget?: Budget | undefined
  /** Name of the last pass to run. Default: all passes run. */
  readonly until?: string | undefined
  /** Called with the graph before the first pass, and after each pass that changed it. */
  readonly onGraph?: ((title: string, graph: Graph) => void) | undefined
  /** Called with the graphs before and after each pass that changed one; throws if they differ. */
  readonly verify?: ((before: Graph, after: Graph, pass: string) => void) | undefined
}

/** Maximum number of rounds, because a pass may create work for others. */
const MAX_ROUNDS = 8
/** Work units of a pass per name of a node. */
const NAME_UNITS = 8

/** Runs the passes in rounds until none changes the graph. Throws `internal` for an unknown pass name. */
export function runPasses(
  graph: Graph,
  passes: readonly Pass[],
  { budget = graphBudget(), until, onGraph, verify }: PassOptions = {},
): { readonly graph: Graph; readonly reports: readonly PassReport[] } {
  const last = until === undefined ? passes.length - 1 : passes.findIndex(({ name }) => name === until)
  if (last < 0 && passes.length > 0) throw new HalfbyteError('internal', `there is no pass ${until}`)
  const reports: PassReport[] = []
  /** For each pass, the last graph in which it found nothing to change. */
  const settled = new Map<Pass, Graph>()
  let current = graph
  onGraph?.('as read', graph)
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = current
    for (const pass of passes.slice(0, last + 1)) {
      if (settled.get(pass) === current) continue
      budget.spend(NAME_UNITS * sizeOf(current))
      const next = pass.run(current, budget)
      if (next === current) {
        settled.set(pass, current)
        continue
      }
      verify?.(current, next, pass.name)
      reports.push({ pass: pass.name, nodesBefore: current.nodes.length, nodesAfter: next.nodes.length })
      onGraph?.(`after ${pass.name}`, next)
      current = next
    }
    if (current === before) break
  }
  return { graph: current, reports }
}

/** The graph with other nodes; the same object if they are unchanged. */
export function withNodes(graph: Graph, nodes: Graph['nodes']): Graph {
  const isSame = nodes.length === graph.nodes.length && nodes.every((node, at) => node === graph.nodes[at])
  return isSame ? graph : { ...graph, nodes }
}
