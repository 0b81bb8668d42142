// Compares the results of phones in a Markdown table.
import { spread } from '../../spread.ts'
import type { PhoneResult } from './measure.ts'

const HEAD = [
  'device',
  'SoC',
  'Chrome',
  'governor',
  'load',
  'cold',
  'sustained',
  'warmest',
  'energy per token',
]

/** Sustained: the median of the last quarter of the runs. */
export function phoneTable(results: readonly PhoneResult[]): string {
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [row(HEAD), row(HEAD.map(() => '---')), ...results.map((result) => row(cells(result)))].join('\n')
}

function cells({ facts, loadMs, samples, problem }: PhoneResult): readonly string[] {
  const [cold] = samples
  const last = samples.slice(-Math.max(1, Math.floor(samples.length / 4)))
  const speed = (rate: number) => `${rate.toPrecision(3)} tokens/s`
  const joules = samples.flatMap(({ watts, decodeTokensPerSecond }) =>
    watts === undefined ? [] : [(1000 * watts) / decodeTokensPerSecond],
  )
  return [
    facts.model,
    facts.soc,
    facts.chrome,
    facts.governor,
    loadMs === undefined ? '' : `${Math.round(loadMs)} ms`,
    cold === undefined ? (problem ?? '') : speed(cold.decodeTokensPerSecond),
    cold === undefined
      ? ''
      : speed(spread(last.map(({ decodeTokensPerSecond }) => decodeTokensPerSecond)).median),
    cold === undefined ? '' : `${Math.max(...samples.map(({ celsius }) => celsius))} °C`,
    joules.length === 0 ? '' : `${spread(joules).median.toPrecision(2)} mJ`,
  ]
}
