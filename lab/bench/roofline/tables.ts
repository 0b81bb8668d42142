// Makes the roofline's tables, as cells and as Markdown or aligned text.
import { type Spread, spreadText } from '../spread.ts'
import { KIND_NAMES, type Line, type StepAnalysis } from './analyse.ts'
import type { Peak } from './kernels.ts'
import type { Limits } from './limits.ts'

export interface Table {
  readonly title: string
  /** Notes for readers. */
  readonly note?: string
  readonly head: readonly string[]
  /** The first column is text, the others are figures. */
  readonly rows: readonly (readonly string[])[]
}

const PEAK_NAMES: Readonly<Record<Peak, string>> = {
  dot_i8: 'relaxed i8 dot, quads',
  dot_i8_pairs: 'relaxed i8 dot, pairs',
  dot_i16: 'i16 dot',
  mul_add: 'f32 mul + add',
  fma: 'relaxed f32 FMA',
}
const WORST = 10

/** The machine's limits (step A in lab/measurements/performance.md). */
export function machineTables(limits: readonly Limits[]): Table[] {
  return limits.flatMap((each) => {
    const threads = [...new Set(each.peaks.map((peak) => peak.threads))]
    const head = ['', ...threads.map((count) => threadText(count))]
    const sets = [...new Set(each.reads.map(({ bytes }) => bytes))]
    const read = (bytes: number, streams: number) =>
      threads.map((count) => {
        const found = each.reads.find(
          (one) => one.bytes === bytes && one.streams === streams && one.threads === count,
        )
        return found === undefined ? '' : spreadText(found.gigabytesPerSecond)
      })
    const peaks = [...new Set(each.peaks.map(({ peak }) => peak))]
    const peak = (name: Peak) =>
      threads.map((count) => {
        const found = each.peaks.find((one) => one.peak === name && one.threads === count)
        return found === undefined ? '' : spreadText(found.gigaopsPerSecond)
      })
    const where = `${each.build}, ${each.memoryKind} memory`
    return [
      {
        title: `Machine: ${where}`,
        note: 'GB/s read from working sets, GOP/s on registers; median (min-max).',
        head,
        rows: [
          ...sets.map((bytes) => [`read ${megabytes(bytes)} MiB, one stream, GB/s`, ...read(bytes, 1)]),
          ...sets.map((bytes) => [`read ${megabytes(bytes)} MiB, 8 streams, GB/s`, ...read(bytes, 8)]),
          ...peaks.map((name) => [`${PEAK_NAMES[name]}, GOP/s`, ...peak(name)]),
        ],
      },
      ...waitTable(each, where),
    ]
  })
}

function waitTable({ waits }: Limits, where: string): Table[] {
  if (waits.length === 0) return []
  const row = (label: string, of: (wait: Limits['waits'][number]) => Spread) => [
    label,
    ...waits.map((wait) => spreadText(of(wait), 2)),
  ]
  return [
    {
      title: `Waiting: ${where}`,
      head: ['', ...waits.map(({ threads }) => threadText(threads))],
      rows: [
        row('barrier, us', (wait) => wait.barrierUs),
        row('run of an empty op, workers spinning, us', (wait) => wait.runUs),
        row('the same, workers asleep, us', (wait) => wait.wakeUs),
        row('start of the workers, ms', (wait) => wait.startMs),
      ],
    },
  ]
}

/** Computation and memory by kind, and the share of the limit (step B there). */
export function kindTable(step: StepAnalysis): Table {
  return {
    title: `By kind: ${stepText(step)}`,
    head: ['', 'GOP', 'MB', 'OP/byte', 'ms', 'limit ms', 'share'],
    rows: [...step.kinds, step.step].map((line) => [
      line.kind === 'step' ? 'Whole step' : KIND_NAMES[line.kind],
      figure(line.ops / 1e9),
      figure(line.bytes / 1e6),
      figure(line.ops / line.bytes),
      spreadText(line.ms, 3),
      figure(line.limitMs),
      percent(line.share),
    ]),
  }
}

/**
 * The ops with the most time above their limits; ops with the same name and shape in all layers share a line.
 */
export function worstTable(step: StepAnalysis, count = WORST): Table {
  return {
    title: `Worst ops: ${stepText(step)}`,
    note: 'Most time above the limit first.',
    head: ['', 'ops', 'MB', 'GOP', 'GB/s', 'GOP/s', 'ms', 'limit ms', 'share'],
    rows: step.lines.slice(0, count).map((line) => [...lineCells(line)]),
  }
}

function lineCells(line: Line): string[] {
  const { median } = line.ms
  return [
    `${line.label} (${line.name})`,
    String(line.count),
    figure(line.bytes / 1e6),
    figure(line.ops / 1e9),
    figure(line.bytes / median / 1e6),
    figure(line.ops / median / 1e6),
    spreadText(line.ms, 3),
    figure(line.limitMs),
    percent(line.share),
  ]
}

/** Tokens per second at the limit, and measured (step D there). */
export function peakTable(steps: readonly StepAnalysis[]): Table {
  return {
    title: 'Steps against the limit',
    note: 'Tokens per second; the limit is the sum of the ops’ own limits.',
    head: ['', 'limit', 'reached', 'share'],
    rows: steps.map((step) => [
      stepText(step),
      figure(step.limitTokensPerSecond),
      figure(step.tokensPerSecond),
      percent(step.step.share),
    ]),
  }
}

/** All tables, the summary first. */
export function allTables(limits: readonly Limits[], steps: readonly StepAnalysis[]): Table[] {
  return [
    peakTable(steps),
    ...machineTables(limits),
    ...steps.flatMap((step) => [kindTable(step), worstTable(step)]),
  ]
}

export function markdown(table: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = `|---|${'--:|'.repeat(table.head.length - 1)}`
  const note = table.note === undefined ? [] : [table.note, '']
  return [`### ${table.title}`, '', ...note, line(table.head), rule, ...table.rows.map(line), ''].join('\n')
}

/** Columns as wide as their widest cell. */
export function aligned(table: Table): string {
  const rows = [table.head, ...table.rows]
  const widths = table.head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  const note = table.note === undefined ? [] : [table.note]
  return [table.title, ...note, ...rows.map(line), ''].join('\n')
}

const stepText = ({ stage, build, threads, tokens, position }: StepAnalysis): string =>
  `${stage === 'decode' ? `decode at position ${position}` : `prefill of ${tokens}`}, ${build}, ${threadText(threads)}`

export const threadText = (threads: number): string => `${threads} ${threads === 1 ? 'thread' : 'threads'}`
const megabytes = (bytes: number): string => String(Math.round(bytes / 2 ** 20))
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`

/** Three significant digits, without an exponent. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return ''
  const digits = value === 0 ? 0 : Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(value)))))
  return value.toFixed(digits)
}
