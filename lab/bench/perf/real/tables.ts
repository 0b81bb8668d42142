// Writes results on real models as Markdown: every row for the measurements, a summary for the README.
import { REAL_MODELS, type RealModelName } from '../../../../scripts/models/real-models.mjs'
import { spread } from '../../spread.ts'
import { type EngineName, OURS } from '../engines.ts'
import { megabytes, short, spreadText, table, timesText } from '../tables.ts'
import type { RealResults, RealRow } from './results.ts'

/** The command in the markers of the documents that it writes. */
export const REAL_DOCS = 'npm run perf:real -- --docs'

/** All rows, with the times that Halfbyte is as fast: medians of the ratios within rounds. */
export function markdown(results: RealResults): string {
  const { machine, browser, version, date, command, rows } = results
  return [
    `Halfbyte ${version}, ${machine}, ${browser}, ${date.slice(0, 10)}: \`${command}\``,
    ...Array.from(
      Map.groupBy(rows, ({ model }) => model),
      ([model, group]) =>
        `### ${titleOf(model)}\n\nPrompts have at most ${group[0]!.prompt} tokens.\n\n${tableOf(group)}`,
    ),
  ].join('\n\n')
}

function tableOf(rows: readonly RealRow[]): string {
  return table(
    [
      'threads',
      'engine',
      'prefill tok/s',
      'decode tok/s',
      'prefill, times',
      'decode, times',
      'load s',
      'memory MB',
    ],
    rows.map((row) => {
      const ours = oursBeside(row, rows)
      const ratio = (part: 'prefill' | 'decode') =>
        ours === undefined || row === ours || row[part].length === 0
          ? ''
          : timesText(ratioOf(ours[part], row[part]))
      return [
        `${row.threads}`,
        row.title,
        ...[row.prefill, row.decode].map((rates) => ratesText(row, rates)),
        ratio('prefill'),
        ratio('decode'),
        row.loadMs === undefined ? '' : (row.loadMs / 1000).toFixed(1),
        megabytes(row.memoryBytes),
      ]
    }),
    1,
  )
}

const ratesText = ({ failure }: RealRow, rates: readonly number[]): string => {
  if (rates.length === 0) return 'failed'
  const text = spreadText(spread(rates))
  return failure === undefined ? text : `${text}, failed after ${rates.length} rounds`
}

/** The engines in the README's table, in its order. */
const SHOWN: readonly EngineName[] = ['halfbyte', 'wllama-3', 'llama.cpp']

/** The README's table: median tokens per second, prompt and reply, for each model and number of threads. */
export function readmeText(results: RealResults): string {
  const { machine, browser, version, date, rows } = results
  const shown = SHOWN.filter((name) => rows.some(({ engine }) => engine === name))
  const groups = Map.groupBy(rows, ({ model, threads }) => `${titleOf(model)}|${threads}`)
  const lines = Array.from(groups, ([key, group]) => [
    ...key.split('|'),
    ...shown.map((name) => {
      const row = group.find(({ engine }) => engine === name)
      if (row === undefined || row.prefill.length === 0) return '-'
      return `${rateText(row.prefill)}, ${rateText(row.decode)}`
    }),
  ])
  const titles = shown.map((name) => rows.find(({ engine }) => engine === name)!.title)
  return [
    `**Speed:** tokens per second of a prompt and of a reply. Halfbyte ${version} and wllama (llama.cpp) in ${browser.replace(/(\d+)\..*/, '$1')},`,
    `llama.cpp outside the browser; ${machine}, ${date.slice(0, 10)}, medians of up to five rounds in turn:`,
    '',
    table(['model', 'threads', ...titles], lines, 0),
  ].join('\n')
}

/** The smallest number of times that Halfbyte decodes as fast as wllama. */
export function leastDecodeRatio({ rows }: RealResults): number {
  const ratios = rows.flatMap((row) => {
    const ours = oursBeside(row, rows)
    const isOther = row.engine.startsWith('wllama') && row.decode.length > 0
    return isOther && ours !== undefined ? [ratioOf(ours.decode, row.decode)] : []
  })
  return Math.min(...ratios)
}

const DECODES = /It decodes(?: at least)? [\d.]+ times as fast/

/** The README with the ratio of `leastDecodeRatio`. Throws if it has no such sentence. */
export function withLeastRatio(readme: string, results: RealResults): string {
  if (!DECODES.test(readme)) throw new Error('the README must say "It decodes at least N times as fast"')
  return readme.replace(
    DECODES,
    `It decodes at least ${roundedDown(leastDecodeRatio(results))} times as fast`,
  )
}

const roundedDown = (ratio: number): string => (Math.floor(10 * ratio) / 10).toFixed(1)

const oursBeside = ({ model, threads }: RealRow, rows: readonly RealRow[]): RealRow | undefined =>
  rows.find((row) => row.engine === OURS && row.model === model && row.threads === threads)

/** The median of the ratios within rounds. */
function ratioOf(ours: readonly number[], theirs: readonly number[]): number {
  return spread(theirs.map((rate, round) => ours[round]! / rate)).median
}

const rateText = (rates: readonly number[]): string => short(spread(rates).median)

const titleOf = (model: string): string =>
  REAL_MODELS[model as RealModelName]?.title.replace(', GGUF', '') ?? model
