// Evaluation reports: the models' scores, as a JSON value and as rows side by side.
import type { Estimate, Metrics, Task } from './task.ts'

export interface Compared {
  readonly name: string
  readonly fileBytes: number
  /** Memory used by the loaded model: weights, state and arena. */
  readonly memoryBytes: number
  readonly perplexity: Estimate
  /** Tokens per second, one value per round. */
  readonly prefill: readonly number[]
  readonly decode: readonly number[]
  /** CPU milliseconds per decoded token over all threads, one value per round. */
  readonly cpu: readonly number[]
  /** Millijoules of the processor per decoded token, one value per round; absent if it has no counters. */
  readonly energy?: readonly number[]
}

/** The mean of the middle two for an even number of values. NaN if there are none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

/** In brackets: the ratio to the first row. */
export function compareTable(rows: readonly Compared[]): string {
  const [base] = rows
  if (base === undefined) return ''
  const beside = (row: Compared, value: number, of: (row: Compared) => number, places: number): string =>
    row === base ? value.toFixed(places) : `${value.toFixed(places)} (${(value / of(base)).toFixed(2)})`
  type Column = readonly [title: string, of: (row: Compared) => number, places: number]
  const energy: Column = ['energy, mJ/token', (row) => median(row.energy ?? []), 1]
  const columns: readonly Column[] = [
    ['file, MB', (row) => row.fileBytes / 1e6, 2],
    ['memory, MB', (row) => row.memoryBytes / 1e6, 1],
    ['perplexity', (row) => row.perplexity.value, 3],
    ['prefill, tokens/s', (row) => median(row.prefill), 0],
    ['decode, tokens/s', (row) => median(row.decode), 1],
    ['processor, ms/token', (row) => median(row.cpu), 2],
    ...(rows.every((row) => row.energy !== undefined) ? [energy] : []),
  ]
  const lines = rows.map((row) => [
    cell(row.name),
    ...columns.map(([, of, places]) => beside(row, of(row), of, places)),
  ])
  return tableOf(['', ...columns.map(([title]) => title)], lines, 1)
}

/** A Markdown table. `texts`: number of text columns before the numeric ones. */
export function tableOf(
  head: readonly string[],
  lines: readonly (readonly string[])[],
  texts: number,
): string {
  const rule = head.map((_, column) => (column < texts ? '---' : '--:'))
  return [head, rule, ...lines].map((line) => `| ${line.join(' | ')} |\n`).join('')
}

/** Characters that would end a cell become spaces. */
export const cell = (text: string): string => text.replace(/[|\n\r]/g, ' ')

export interface TaskReport {
  readonly task: string
  readonly metrics: Metrics
  /** Number of scored items; the file has `of`. */
  readonly items: number
  readonly of: number
  readonly unit: string
  /** The accuracy of guessing. */
  readonly chance?: number | undefined
  /** Notes on the metrics. */
  readonly notes?: readonly string[] | undefined
  readonly seconds: number
  /** The task's files. */
  readonly data: readonly { readonly file: string; readonly sha256: string }[]
}

/** `ms`: how long the items took; `data`: the task's files. */
export function taskReport<Model, Result>(
  task: Task<Model, Result>,
  results: readonly Result[],
  { ms, data }: { readonly ms: number; readonly data: TaskReport['data'] },
): TaskReport {
  const { name, count, unit, chance } = task
  const notes = task.notes?.(results) ?? []
  return {
    task: name,
    metrics: task.metrics(results),
    items: results.length,
    of: count,
    unit,
    ...(chance !== undefined && { chance }),
    ...(notes.length > 0 && { notes }),
    seconds: Math.round(ms / 100) / 10,
    data,
  }
}

export interface ModelReport {
  readonly model: string
  /** Other settings that affect the result: tokens per step, precision, BOS. */
  readonly settings: Readonly<Record<string, string | number | boolean>>
  readonly tasks: readonly TaskReport[]
}

/** A metric of a task, with the result of each model; undefined if a model did not run the task. */
export interface Row {
  readonly task: string
  readonly metric: string
  readonly items: string
  readonly chance: number | undefined
  readonly values: readonly (Estimate | undefined)[]
}

/** Whether the metric is an accuracy, shown in per cent. */
export const isShare = (metric: string): boolean => /(?:^|_)acc|^exact_match/.test(metric)

/** Metrics in the order in which they first occur. */
export function rowsOf(reports: readonly ModelReport[]): Row[] {
  const rows = new Map<string, Row>()
  for (const { tasks } of reports) {
    for (const { task, metrics, items, unit, chance } of tasks) {
      for (const metric of Object.keys(metrics)) {
        const key = `${task} ${metric} ${items}`
        if (rows.has(key)) continue
        const values = reports.map(
          (each) => each.tasks.find((own) => own.task === task && own.items === items)?.metrics[metric],
        )
        const own = isShare(metric) ? chance : undefined
        rows.set(key, { task, metric, items: `${items} ${unit}`, chance: own, values })
      }
    }
  }
  return [...rows.values()]
}

/** `44.7 ± 1.2`, with as many decimals as the error. */
export function shown(metric: string, { value, error }: Estimate): string {
  const factor = isShare(metric) ? 100 : 1
  const places = isShare(metric) ? 1 : 4
  const text = (factor * value).toFixed(places)
  return error === undefined ? text : `${text} ± ${(factor * error).toFixed(places)}`
}
