// One stage of a graph whose sizes are known: a program, and the foreign parts that read its outputs.
import type { ProgramBudget } from '../../onnx/graph-budget.ts'
import { inferTypes } from '../../onnx/infer.ts'
import { type Graph, type Node, readsOf, type Type } from '../../onnx/ir/graph.ts'
import { unclaimed } from '../../onnx/ir/operator.ts'
import { boundProgram } from '../bind.ts'
import { refusalOf } from '../lower/lower.ts'
import type { ProgramWeights } from '../lower/policy.ts'
import type { Program, RunnableProgram } from '../program/program.ts'
import { type ForeignNode, type Runtime, refusedIn, withWayOut } from '../refusal.ts'
import { NOTHING } from '../stages.ts'
import { isScripted } from './script-parts.ts'
import { decidingInputs, namesOfSizes, type Part, type Place, restOf, splitGraph } from './split.ts'

export interface StageOptions {
  readonly weights: ProgramWeights
  readonly budget: ProgramBudget
  /** Which nodes onnxruntime-web runs: those that are not compiled, or none. */
  readonly fallback: 'ort' | undefined
}

/** Everything that a run needs of a stage. */
export type RunnableStage = Omit<PlannedStage, 'graph' | 'compiled'> & {
  readonly graph: Pick<Graph, 'constants'>
  readonly compiled:
    | { readonly program: RunnableProgram; readonly graph: Pick<Graph, 'constants'> }
    | undefined
}

export interface PlannedStage {
  /** The rest of the graph at this stage. */
  readonly graph: Graph
  /** The program and its graph; undefined if a foreign part comes first. */
  readonly compiled: { readonly program: Program; readonly graph: Graph } | undefined
  readonly foreign: readonly Part[]
  /** Names of computed values that the rest has as constants. */
  readonly deciding: readonly string[]
  /** Why the nodes of the foreign parts are not compiled. */
  readonly reasons: readonly ForeignNode[]
  /** The types of all values, as far as known before the foreign parts run. */
  readonly types: ReadonlyMap<string, Type>
  /**
   * The remaining graph, which reads the outputs of the foreign parts, without the types of its inputs;
   * undefined at the end.
   */
  readonly rest: Graph | undefined
}

/**
 * `graph`: bound, after its passes. A node that cannot be planned becomes foreign. Throws `unsupported` for
 * one that no runtime runs. Other errors, such as mismatched sizes, are thrown.
 */
export function planStage(graph: Graph, { weights, budget, fallback }: StageOptions): PlannedStage {
  const types = inferTypes(graph)
  const reasons = refusedWithSizes(graph, types)
  for (;;) {
    const { compiled, foreign, deciding, rest } = splitGraph(
      graph,
      places(graph, { reasons, types, fallback }),
      fallback === undefined,
    )
    const own: Graph = { ...compiled, name: graph.name, inputs: typedInputs(compiled, types) }
    budget.startAgain()
    try {
      return {
        graph,
        compiled:
          own.nodes.length === 0 ? undefined : boundProgram(own, { weights, leftOut: NOTHING, budget }),
        foreign,
        deciding,
        reasons: reasonsOf(foreign, reasons, fallback),
        types,
        rest: rest.length === 0 ? undefined : restOf(graph, rest, () => undefined),
      }
    } catch (error) {
      const refused = refusedIn(error)
      const nodes = own.nodes.filter(({ name, op }) => name === refused?.node && op === refused.op)
      if (refused === undefined || nodes.length === 0) throw error
      for (const node of nodes) reasons.set(node, refused.reason)
    }
  }
}

/**
 * Where each node of a graph runs. With the fallback, onnxruntime-web runs all foreign nodes; without it,
 * their evaluators do. Throws `unsupported` for a node that nothing runs.
 */
export function places(
  { constants }: Graph,
  {
    reasons,
    types,
    fallback,
  }: Pick<StageOptions, 'fallback'> & {
    readonly reasons: ReadonlyMap<Node, string>
    readonly types: ReadonlyMap<string, Type>
  },
): (node: Node) => Place {
  return (node) => {
    const reason = reasons.get(node)
    if (reason === undefined) return 'compiled'
    if (decidingInputs(node).some((name) => !constants.has(name))) return 'undecided'
    if (fallback !== undefined || isScripted(node, types)) return 'foreign'
    throw withWayOut(unclaimed(node, reason))
  }
}

/**
 * Nodes that cannot be compiled at any size, with the reasons. Excludes `sizes`, the values that passes
 * compute once sizes are known.
 */
export function refusedNodes(
  graph: Graph,
  types: ReadonlyMap<string, Type>,
  sizes: ReadonlySet<string>,
): Map<Node, string> {
  const found = new Map<Node, string>()
  for (const node of graph.nodes) {
    const why = isSize(node, sizes) ? undefined : refusalOf(node, types)
    if (why !== undefined) found.set(node, why)
  }
  return found
}

/**
 * Nodes of a bound graph that cannot be compiled, with the reasons. Passes have already computed what sizes
 * decide, except for nodes that depend on such a node.
 */
function refusedWithSizes(graph: Graph, types: ReadonlyMap<string, Type>): Map<Node, string> {
  const found = new Map<Node, string>()
  /** Values that depend on a node that is not compiled. */
  const later = new Set<string>()
  let sizes: ReadonlySet<string> | undefined
  for (const node of graph.nodes) {
    const why = refusalOf(node, types)
    const isLater = later.size > 0 && readsOf(node).some((name) => later.has(name))
    if (isLater || why !== undefined) for (const name of node.outputs) later.add(name)
    if (why === undefined) continue
    if (isLater) sizes ??= namesOfSizes(graph)
    if (!isLater || !isSize(node, sizes!)) found.set(node, why)
  }
  return found
}

const isSize = ({ outputs }: Node, sizes: ReadonlySet<string>): boolean =>
  outputs.every((name) => name === '' || sizes.has(name))

export const reasonsOf = (
  parts: readonly Part[],
  reasons: ReadonlyMap<Node, string>,
  runtime: Runtime = 'script',
): ForeignNode[] =>
  parts.flatMap(({ nodes }) =>
    nodes.map((node) => ({ node: node.name, op: node.op, runtime, reason: reasons.get(node)! })),
  )

const typedInputs = ({ inputs }: Part, types: ReadonlyMap<string, Type>) =>
  inputs.map((name) => ({ name, type: types.get(name) }))
