// Evaluation reports as Markdown: the models side by side, and their differences from the first.
import { type PairedTask, pairedTasks } from './paired.ts'
import { cell, isShare, type ModelReport, rowsOf, shown, tableOf } from './report.ts'
import { type Estimate, meanOfTasks } from './task.ts'

/** Text columns: the task, the scored items, the metric. */
const TEXTS = 3

export function markdownTable(reports: readonly ModelReport[]): string {
  const names = reports.map(({ model }) => cell(model))
  const lines = rowsOf(reports).map(({ task, metric, items, chance, values }) => [
    cell(task),
    items,
    labelOf(metric),
    ...values.map((value) => (value === undefined ? '' : shown(metric, value))),
    chance === undefined ? '' : (100 * chance).toFixed(1),
  ])
  const head = ['task', 'scored', 'metric', ...names, 'chance']
  const means = meanRow(reports.map(accuracies))
  if (means !== undefined) lines.push([...means, ''])
  const table = tableOf(head, lines, TEXTS)
  const notes = reports.flatMap(({ model, tasks }) =>
    tasks.flatMap((each) => (each.notes ?? []).map((note) => `\n${model}, ${each.task}: ${note}.\n`)),
  )
  return [table, ...notes, differenceTable(reports)].join('')
}

type Accuracies = ReadonlyMap<string, Estimate>

/** `acc` by task and number of items. */
const accuracies = ({ tasks }: { readonly tasks: readonly PairedTask[] }): Accuracies =>
  new Map(tasks.flatMap(({ task, items, metrics: { acc } }) => (acc ? [[`${task} ${items}`, acc]] : [])))

/** The mean of `acc` over the tasks that all models have run. Undefined for fewer than two such tasks. */
function meanRow(models: readonly Accuracies[], show = shown): string[] | undefined {
  const [first] = models
  const common = [...(first?.keys() ?? [])].filter((task) => models.every((each) => each.has(task)))
  if (common.length < 2) return undefined
  const cells = models.map((each) => show('acc', meanOfTasks(common.map((task) => each.get(task)!))))
  return ['mean', `${common.length} tasks`, labelOf('acc'), ...cells]
}

/**
 * The difference of each later model from the first, on the same items. Empty if no two models share a task.
 */
function differenceTable([first, ...others]: readonly ModelReport[]): string {
  if (first === undefined || others.length === 0) return ''
  const lines: string[][] = []
  const pairs = others.map((other) => ({ model: other.model, tasks: pairedTasks(first, other) }))
  for (const { task, metrics, items, unit } of first.tasks) {
    for (const metric of Object.keys(metrics)) {
      const cells = pairs.map(({ tasks }) => tasks.find((each) => each.task === task)?.metrics[metric])
      if (cells.some((each) => each !== undefined))
        lines.push([
          cell(task),
          `${items} ${unit}`,
          labelOf(metric),
          ...cells.map((each) => (each === undefined ? '' : signed(metric, each))),
        ])
    }
  }
  if (lines.length === 0) return ''
  const means = meanRow(pairs.map(accuracies), signed)
  if (means !== undefined) lines.push(means)
  const head = ['task', 'scored', 'metric', ...others.map(({ model }) => cell(model))]
  return `\nCompared with ${cell(first.model)}, paired by items:\n\n${tableOf(head, lines, TEXTS)}`
}

const labelOf = (metric: string): string => (isShare(metric) ? `${metric}, %` : metric)

/** `+1.2 ± 0.4`: a difference. */
export const signed = (metric: string, estimate: Estimate): string =>
  (estimate.value < 0 ? '' : '+') + shown(metric, estimate)
