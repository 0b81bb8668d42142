// The progress of `eval`: the task, its items, and the time that all tasks still need.
import { JobProgress } from '../terminal/job-progress.ts'
import { overwrite } from '../terminal/output.ts'
import type { EitherTask } from './tasks.ts'

/** A function for each task that gets the number of its items that are done, and their total. */
export function evalProgress(
  tasks: readonly EitherTask[],
  limit = Number.POSITIVE_INFINITY,
): readonly ((done: number, total: number) => void)[] {
  const costs = tasks.map(({ task, tokens }) => Math.min(task.count, limit) * tokens)
  const job = new JobProgress(Object.fromEntries(costs.map((cost, index) => [`task ${index}`, cost])))
  return tasks.map(
    ({ task: { name, unit } }, index) =>
      (done, total) =>
        overwrite(`${name}: ${done} of ${total} ${unit}`, job.at(`task ${index}`, done / total)),
  )
}
