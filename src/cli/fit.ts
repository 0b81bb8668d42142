// Fit. In: a probe's report. Out: what a terminal says about it: whether a model fits, how fast it would be,
// what would fit instead.
import type { ProbeReport, Smaller } from '../engine/wire/probe-protocol.ts'
import { visibleLine } from './terminal/visible.ts'

export function describeFit(report: ProbeReport): string {
  const { fits, suggestion, prefillTokensPerSecond, decodeTokensPerSecond } = report
  const rows: [string, string][] = [
    ['fits', fits ? 'yes' : 'no'],
    ['needed', `${bytesText(report.neededBytes)} with a context of ${report.contextLength}`],
    ['granted', bytesText(report.grantedBytes)],
    ['to download', bytesText(report.downloadBytes)],
    ['prefill', `about ${prefillTokensPerSecond.toPrecision(2)} tokens/s`],
    ['decode', `about ${decodeTokensPerSecond.toPrecision(2)} tokens/s`],
  ]
  if (!fits) rows.push(['would fit', suggestion === undefined ? 'a smaller model' : flagsOf(suggestion)])
  return aligned(rows).join('\n')
}

/** In the form in which they are typed. */
export const flagsOf = ({ contextLength, kvCache, weights }: Smaller): string =>
  [
    ...(contextLength === undefined ? [] : [`--context ${contextLength}`]),
    ...(kvCache === undefined ? [] : [`--kv ${kvCache.k},${kvCache.v}`]),
    ...(weights === undefined ? [] : [`--weights ${weights}`]),
  ].join(' ')

export function aligned(rows: readonly [string, string][]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value]) => `${label.padEnd(width)}  ${visibleLine(value)}`)
}

export function bytesText(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}
