// Puts scored models into a table as papers do: a row for each model, a column for each metric, the mean of
// `acc`, and the difference from the first row, paired by items.
import { signed } from '../../../src/tools/evaluate/markdown.ts'
import { pairedTasks } from '../../../src/tools/evaluate/paired.ts'
import {
  cell,
  isShare,
  type ModelReport,
  rowsOf,
  shown,
  tableOf,
} from '../../../src/tools/evaluate/report.ts'
import { type Metrics, meanOfTasks } from '../../../src/tools/evaluate/task.ts'

/** What a table reads of a row. */
export interface TableRow extends ModelReport {
  readonly cpuSeconds?: number
}

/**
 * `metrics`: the columns, by metric (`acc`) or by task and metric (`hellaswag.acc_norm`). With `beside`, the
 * cells are differences from the first row. Rows without all of the first row's tasks have no mean.
 */
export function scoreTable(
  rows: readonly TableRow[],
  { metrics, isBeside = false }: { readonly metrics: readonly string[]; readonly isBeside?: boolean },
): string {
  const [first] = rows
  if (first === undefined) return ''
  const columns = rowsOf(rows).filter(
    ({ task, metric }) => metrics.includes(metric) || metrics.includes(`${task}.${metric}`),
  )
  const lines = (isBeside ? rows.slice(1) : rows).map((row) => {
    const found = isBeside ? pairedTasks(first, row) : row.tasks
    const show = isBeside ? signed : shown
    const cells = columns.map(({ task, metric, items }) => {
      const own = found.find((each) => each.task === task && items.startsWith(`${each.items} `))
      const value = own?.metrics[metric]
      return value === undefined ? '' : show(metric, value)
    })
    const accuracies = accuraciesOf(found)
    const isWhole = accuracies.length > 1 && accuracies.length === accuraciesOf(first.tasks).length
    const mean = isWhole ? show('acc', meanOfTasks(accuracies)) : ''
    return [cell(row.model), ...cells, mean, isBeside ? '' : (row.cpuSeconds?.toFixed(0) ?? '')]
  })
  const titles = columns.map(({ task, metric, items }) => titleOf(task, metric, items))
  return tableOf(['', ...titles, 'mean `acc`, %', 'processor, s'], lines, 1)
}

const accuraciesOf = (tasks: readonly { readonly metrics: Metrics }[]) =>
  tasks.flatMap(({ metrics: { acc } }) => acc ?? [])

const titleOf = (task: string, metric: string, items: string): string =>
  `${task} \`${metric}\`${isShare(metric) ? ', %' : ''} (${items})`
