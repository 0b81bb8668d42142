// Scores a loaded model on tasks of `halfbyte eval`. In: tasks and how many items of each. Out: a report,
// with the processor time that it took.
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import {
  eitherTask,
  type OpenedTask,
  openTask,
  type TaskSpec,
  taskModel,
} from '../../../src/tools/cli/eval/tasks.ts'
import { type ModelReport, taskReport } from '../../../src/tools/evaluate/report.ts'
import { runTask } from '../../../src/tools/evaluate/task.ts'

/** A row of a table: a model's report. */
interface ScoredRow extends ModelReport {
  /** Processor time of all threads. */
  readonly cpuSeconds: number
}

interface LimitedTask {
  readonly opened: OpenedTask
  /** Maximum items. */
  readonly limit: number
}

/** Throws `format` for files that cannot be read. */
export const openTasks = (specs: readonly TaskSpec[], limit: number): Promise<LimitedTask[]> =>
  Promise.all(specs.map(async (spec) => ({ opened: await openTask(spec), limit })))

interface ScoreTasksOptions {
  /** The row's name. */
  readonly model: string
  readonly tasks: readonly LimitedTask[]
  /** Of the draw of items. */
  readonly seed: number
  /** Maximum tokens of an item, and tokens of a window. */
  readonly context: number
  readonly signal: AbortSignal
}

/** Throws an Error for tasks that ask for replies. */
export async function scoreTasks(
  built: BuiltModel,
  { model, tasks, seed, context, signal }: ScoreTasksOptions,
): Promise<ScoredRow> {
  const evaluated = taskModel(built, { maxTokens: context, addBos: true, context })
  const before = process.cpuUsage()
  const reports = []
  for (const { opened, limit } of tasks) {
    const started = performance.now()
    const made = await eitherTask(opened, evaluated, { limit, seed })
    if (made.kind === 'replies')
      throw new Error(`${made.task.name} asks for replies; give tasks that score texts`)
    const results = await runTask(evaluated, made.task, { signal, limit })
    reports.push(taskReport(made.task, results, { ms: performance.now() - started, data: opened.data }))
  }
  const { user, system } = process.cpuUsage(before)
  const cpuSeconds = Math.round((user + system) / 1e5) / 10
  return { model, settings: { seed, maxTokens: context }, tasks: reports, cpuSeconds }
}
