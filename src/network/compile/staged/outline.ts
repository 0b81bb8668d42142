// Outlines a run for given sizes, without running it, for `halfbyte inspect`.
import { ProgramBudget } from '../../onnx/graph-budget.ts'
import type { Graph, Type } from '../../onnx/ir/graph.ts'
import { runPasses } from '../../onnx/passes/pass.ts'
import { COMPILER_PASSES } from '../../onnx/passes.ts'
import { boundGraph } from '../bind.ts'
import { printProgram } from '../program/print.ts'
import type { Sessions } from './sessions.ts'
import { restOf } from './split.ts'
import { type PlannedStage, planStage, type StageOptions } from './stage.ts'

/**
 * The stages as text, up to the first one whose sizes or branches are known only during a run. Throws what a
 * load and a run throw.
 */
export async function outlineOf(
  graph: Graph,
  shapes: ReadonlyMap<string, readonly number[]>,
  { weights, fallback }: Pick<StageOptions, 'weights' | 'fallback'>,
  signal?: AbortSignal,
): Promise<string> {
  const sessions = fallback === undefined ? undefined : new (await import('./sessions.ts')).Sessions()
  const pages: string[] = []
  try {
    const budget = new ProgramBudget({}, signal)
    let next: Graph | undefined = boundGraph(graph, shapes, COMPILER_PASSES, budget)
    while (next !== undefined) {
      const stage = planStage(next, { weights, budget, fallback })
      pages.push(pageOf(stage))
      next = await restAfter(stage, sessions, signal)
      if (next !== undefined && (stage.deciding.length > 0 || !hasSizes(next))) {
        const what = stage.deciding.length > 0 ? 'branches' : 'sizes'
        pages.push(`${next.nodes.length} more nodes, whose ${what} depend on computed values`)
        break
      }
      next = next && runPasses(next, COMPILER_PASSES, { budget }).graph
    }
  } finally {
    await sessions?.close()
  }
  return pages.join('\n\n')
}

const RUNTIMES = { script: 'TypeScript', ort: 'onnxruntime-web' } as const

function pageOf({ compiled, reasons }: PlannedStage): string {
  const foreign = reasons.map(
    ({ node, op, runtime, reason }) => `${RUNTIMES[runtime]}  ${node} (${op}): ${reason}`,
  )
  return [compiled && printProgram(compiled.program), foreign.join('\n')].filter(Boolean).join('\n\n')
}

async function restAfter(
  { graph, rest, foreign, types }: PlannedStage,
  sessions: Sessions | undefined,
  signal: AbortSignal | undefined,
): Promise<Graph | undefined> {
  const known = new Map<string, Type>(types)
  if (sessions !== undefined)
    for (const part of foreign)
      for (const [name, type] of await sessions.outputTypes(part, types, signal)) known.set(name, type)
  return rest && restOf({ ...rest, name: graph.name }, rest.nodes, (name) => known.get(name))
}

const hasSizes = ({ inputs }: Graph): boolean =>
  inputs.every(({ type }) => type?.dims?.every((size) => typeof size === 'number'))
