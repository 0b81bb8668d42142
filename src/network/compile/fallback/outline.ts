// Outlines a run with a fallback for given sizes, without running it, for `halfbyte inspect`.
import { ProgramBudget } from '../../onnx/graph-budget.ts'
import type { Graph, Type } from '../../onnx/ir/graph.ts'
import { runPasses } from '../../onnx/passes/pass.ts'
import { PASSES } from '../../onnx/passes.ts'
import { boundGraph } from '../bind.ts'
import type { WeightPolicy } from '../lower/policy.ts'
import { printProgram } from '../program/print.ts'
import { Sessions } from './sessions.ts'
import { restOf } from './split.ts'
import { type PlannedStage, planStage } from './stage.ts'

/**
 * The stages as text, up to the first one whose sizes are known only during a run. Throws what a load with
 * the fallback throws.
 */
export async function outlineOf(
  graph: Graph,
  shapes: ReadonlyMap<string, readonly number[]>,
  weights: WeightPolicy,
  signal?: AbortSignal,
): Promise<string> {
  const sessions = new Sessions()
  const pages: string[] = []
  try {
    const budget = new ProgramBudget({}, signal)
    let next: Graph | undefined = boundGraph(graph, shapes, PASSES, budget)
    while (next !== undefined) {
      const stage = planStage(next, weights, budget)
      pages.push(pageOf(stage))
      next = await restAfter(stage, sessions, signal)
      if (next !== undefined && !hasSizes(next)) {
        pages.push(`${next.nodes.length} more nodes, whose sizes depend on computed values`)
        break
      }
      next = next && runPasses(next, PASSES, { budget }).graph
    }
  } finally {
    await sessions.close()
  }
  return pages.join('\n\n')
}

function pageOf({ compiled, reasons }: PlannedStage): string {
  const foreign = reasons.map(({ node, op, reason }) => `onnxruntime-web  ${node} (${op}): ${reason}`)
  return [compiled && printProgram(compiled.program), foreign.join('\n')].filter(Boolean).join('\n\n')
}

async function restAfter(
  { graph, rest, foreign, types }: PlannedStage,
  sessions: Sessions,
  signal: AbortSignal | undefined,
): Promise<Graph | undefined> {
  const known = new Map<string, Type>(types)
  for (const part of foreign)
    for (const [name, type] of await sessions.outputTypes(part, types, signal)) known.set(name, type)
  return rest && restOf({ ...rest, name: graph.name }, rest.nodes, (name) => known.get(name))
}

const hasSizes = ({ inputs }: Graph): boolean =>
  inputs.every(({ type }) => type?.dims?.every((size) => typeof size === 'number'))
