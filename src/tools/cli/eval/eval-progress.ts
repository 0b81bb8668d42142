// The progress of `eval`: the task, its items, and the time that all tasks still need.
import { JobProgress } from '../terminal/job-progress.ts'
import { overwrite } from '../terminal/output.ts'
import type { EitherTask } from './tasks.ts'

/** A function for each task that gets the number of its items that are done, and their total. */
export function evalProgress(
  tasks: readonly EitherTask[],
  limit = Number.POSITIVE_INFINITY,
): readonly ((done: number, total: number) => void)[] {
  const counts = tasks.map(({ replies, scores, tokens }) => {
    const count = (replies ?? scores)?.count ?? 0
    return Math.min(count, limit) * tokens
  })
  const job = new JobProgress(Object.fromEntries(counts.map((cost, index) => [`task ${index}`, cost])))
  return tasks.map(({ replies, scores }, index) => {
    const { name = '', unit = '' } = replies ?? scores ?? {}
    return (done, total) =>
      overwrite(`${name}: ${done} of ${total} ${unit}${job.at(`task ${index}`, done / total)}`)
  })
}
