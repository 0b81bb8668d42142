// Two models on the same items. In: their reports. Out: by how much the second differs, with the standard
// error of the difference, which is smaller than that of either result if the models agree on most items.
import type { ModelReport, TaskReport } from './report.ts'
import { type Estimate, errorOf } from './task.ts'

/** A task, and by how much the second model's metrics differ. */
export type PairedTask = Pick<TaskReport, 'task' | 'items' | 'metrics'>

/** The second model's difference from the first, for each task in which both have answered the same items. */
export function pairedTasks(first: ModelReport, second: ModelReport): PairedTask[] {
  if (first.settings['seed'] !== second.settings['seed']) return []
  return first.tasks.flatMap((own) => {
    const other = second.tasks.find((each) => isSame(each, own))
    if (other === undefined) return []
    const metrics = Object.entries(own.metrics).flatMap(([name, before]) => {
      const difference = differenceOf(before, other.metrics[name])
      return difference === undefined ? [] : [[name, difference] as const]
    })
    return [{ task: own.task, items: own.items, metrics: Object.fromEntries(metrics) }]
  })
}

const isSame = (left: TaskReport, right: TaskReport): boolean =>
  left.task === right.task &&
  left.items === right.items &&
  left.unit === right.unit &&
  JSON.stringify(left.data.map(({ sha256 }) => sha256)) ===
    JSON.stringify(right.data.map(({ sha256 }) => sha256))

/** Undefined if an item's influence on one of the results is unknown. */
function differenceOf(before: Estimate, after: Estimate | undefined): Estimate | undefined {
  const left = before.influence
  const right = after?.influence
  if (after === undefined || left === undefined || left.length !== right?.length) return undefined
  const influence = left.map((each, item) => right[item]! - each)
  return { value: after.value - before.value, error: errorOf(influence), influence }
}
