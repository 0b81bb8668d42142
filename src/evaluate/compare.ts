// Comparing. In: figures of several packs of one model. Out: a Markdown table, each row beside the first.
import type { Estimate } from './statistics.ts'

export interface Compared {
  readonly name: string
  readonly fileBytes: number
  /** Memory of the loaded model: weights, state and arena. */
  readonly memoryBytes: number
  readonly perplexity: Estimate
  /** Tokens a second, each of one round. */
  readonly prefill: readonly number[]
  readonly decode: readonly number[]
  /** Milliseconds of processor time for each decoded token, of all threads, each of one round. */
  readonly cpu: readonly number[]
}

/** Of an even number, the mean of the middle two. NaN of none. */
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
  const columns: readonly (readonly [string, (row: Compared) => number, number])[] = [
    ['file, MB', (row) => row.fileBytes / 1e6, 2],
    ['memory, MB', (row) => row.memoryBytes / 1e6, 1],
    ['perplexity', (row) => row.perplexity.value, 3],
    ['prefill, tokens/s', (row) => median(row.prefill), 0],
    ['decode, tokens/s', (row) => median(row.decode), 1],
    ['processor, ms/token', (row) => median(row.cpu), 2],
  ]
  const lines = rows.map((row) => [
    row.name.replace(/[|\n\r]/g, ' '),
    ...columns.map(([, of, places]) => beside(row, of(row), of, places)),
  ])
  const head = ['', ...columns.map(([title]) => title)]
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'))
  return [head, rule, ...lines].map((line) => `| ${line.join(' | ')} |\n`).join('')
}
