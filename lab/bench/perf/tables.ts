// Writes a summary as Markdown: the measurements, compared with the peers and with what memory bandwidth
// allows.

import { parametersOf, SHAPES } from '../shapes.ts'
import type { Spread } from '../spread.ts'
import { ENGINES, type EngineName, OURS } from './engines.ts'
import type { EngineSummary, GroupSummary, Summary } from './summary.ts'

export function markdown(summary: Summary): string {
  if (summary.groups.length === 0) return 'Nothing has been measured.'
  const shapes = [...new Set(summary.groups.map(({ shape }) => shape))]
  return [
    `Halfbyte ${summary.version}, ${summary.machine}, ${summary.browser}, ${summary.date.slice(0, 10)}: \`${summary.command}\``,
    ...shapes.map((shape) =>
      shapeSection(
        shape,
        summary.groups.filter((group) => group.shape === shape),
      ),
    ),
  ].join('\n\n')
}

function shapeSection(name: string, groups: readonly GroupSummary[]): string {
  const shape = SHAPES.find((each) => each.name === name)
  const size = shape === undefined ? '' : `, ${Math.round(parametersOf(shape) / 1e6)} M weights`
  return [
    `### ${name}${size}`,
    speeds(groups),
    bandwidth(groups),
    turns(groups),
    engines(groups),
    notes(groups),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** One line per engine, threads and prompt, grouped by engine. */
function speeds(groups: readonly GroupSummary[]): string {
  const lines = groups.flatMap((group) => group.rows.map((row) => ({ group, row })))
  const order = [...lines].sort(
    (a, b) => a.group.threads - b.group.threads || a.row.prompt - b.row.prompt || 0,
  )
  return table(
    ['threads', 'prompt', 'engine', 'prefill tok/s', 'decode tok/s', 'rounds', 'prefill', 'decode'],
    order.map(({ group, row }) => [
      `${group.threads}`,
      `${row.prompt}`,
      titleOf(group, row.engine),
      spreadText(row.prefill),
      spreadText(row.decode),
      `${row.rounds}`,
      timesText(row.prefillRatio),
      timesText(row.decodeRatio),
    ]),
    2,
  )
}

/** Halfbyte's decoding compared with the rate at which one stream can read the bytes of a step. */
function bandwidth(groups: readonly GroupSummary[]): string {
  const lines = groups.flatMap((group) =>
    group.rows
      .filter(({ engine, share }) => engine === OURS && share !== undefined)
      .map((row) => [
        `${group.threads}`,
        `${row.prompt}`,
        group.read === undefined ? '' : spreadText(group.read),
        megabytes(row.stepBytes),
        (row.allowed ?? 0).toFixed(1),
        row.decode.median.toFixed(1),
        `${Math.round(100 * (row.share ?? 0))} %`,
      ]),
  )
  if (lines.length === 0) return ''
  const heads = ['threads', 'prompt', 'read GB/s', 'step MB', 'allows tok/s', 'decode tok/s', 'share']
  return table(heads, lines, -1)
}

/** Second turns: how much of an already processed conversation each engine processes again. */
function turns(groups: readonly GroupSummary[]): string {
  const lines = groups.flatMap((group) =>
    (group.turns ?? []).map(({ engine, history, readTokens, ms }) => {
      const ours = group.turns?.find((own) => own.engine === OURS && own.history === history)
      const share = ours === undefined || engine === OURS ? '' : `${((100 * ours.ms) / ms).toFixed(1)} %`
      return [`${group.threads}`, `${history}`, titleOf(group, engine), `${readTokens}`, ms.toFixed(0), share]
    }),
  )
  if (lines.length === 0) return ''
  const heads = ['threads', 'turn after', 'engine', 'tokens read', 'first token ms', 'Halfbyte takes']
  return table(heads, lines, 2)
}

function engines(groups: readonly GroupSummary[]): string {
  const lines = groups.flatMap((group) =>
    group.engines
      .filter(({ loadMs }) => loadMs !== undefined)
      .map((each) => [
        `${group.threads}`,
        titleOf(group, each.engine),
        ((each.loadMs ?? 0) / 1000).toFixed(1),
        megabytes(each.memoryBytes),
        agreementText(each),
      ]),
  )
  return table(['threads', 'engine', 'load s', 'memory MB', 'same tokens'], lines, 1)
}

/** Notes on missing engines and disturbed rounds. */
function notes(groups: readonly GroupSummary[]): string {
  const missing = groups.flatMap((group) =>
    group.engines
      .filter(({ failure }) => failure !== undefined)
      .map(
        ({ engine, failure }) =>
          `- ${titleOf(group, engine)}, ${threadsText(group.threads)}: skipped, ${failure}.`,
      ),
  )
  const disturbed = groups.flatMap((group) =>
    group.rows
      .filter(({ busy }) => busy > DISTURBED)
      .map(
        ({ engine, prompt, busy }) =>
          `- ${titleOf(group, engine)}, ${threadsText(group.threads)}, prompt ${prompt}: ` +
          `up to ${Math.round(100 * busy)} % of the machine was in use just before a round.`,
      ),
  )
  return [...missing, ...disturbed].join('\n')
}

const DISTURBED = 0.15

/** Only the column `leftColumn` is text; the others are numbers. */
export function table(
  heads: readonly string[],
  lines: readonly (readonly string[])[],
  leftColumn: number,
): string {
  const rule = heads.map((_, column) => (column === leftColumn ? '---' : '--:'))
  return [heads, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function titleOf(group: GroupSummary, name: EngineName): string {
  const title = ENGINES.find((kind) => kind.name === name)?.title ?? name
  const version = group.engines.find(({ engine }) => engine === name)?.version ?? ''
  return /^\d/.test(version) ? `${title} ${version}` : title
}

const threadsText = (threads: number): string => (threads === 1 ? '1 thread' : `${threads} threads`)
export const timesText = (ratio: number | undefined): string =>
  ratio === undefined ? '' : `${short(ratio)}x`
export const spreadText = ({ median, min, max }: Spread): string =>
  `${short(median)} (${short(min)}-${short(max)})`
export const megabytes = (bytes: number | undefined): string =>
  bytes === undefined ? '' : (bytes / 1e6).toFixed(0)
/** Three significant digits, or fewer. */
export const short = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)

function agreementText({ agreement }: EngineSummary): string {
  if (agreement === undefined) return ''
  return `${agreement.same} of ${agreement.of}`
}
