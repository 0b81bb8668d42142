// Reports. In: counts and findings. Out: a table, the findings with the commands that reproduce them, and a
// file for each finding.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Finding, Tally } from './runner.ts'
import type { TargetName } from './target.ts'

export interface TargetReport {
  readonly target: TargetName
  readonly corpus: Tally
  readonly drawn: Tally
  /** The findings of both runs, one per cause. */
  readonly findings: readonly Finding[]
}

const FOLDER = join(import.meta.dirname, '../../build/fuzz')

const pathOf = ({ target, fault, at }: Finding): string => {
  const cause =
    fault.kind === 'raw' || fault.kind === 'internal' ? fault.signature : `${fault.signature} ${at}`
  return join(FOLDER, target, `${createHash('sha256').update(cause).digest('hex').slice(0, 12)}.json`)
}

/** Writes a finding to build/fuzz/. */
export function keepFinding(finding: Finding): void {
  if (finding.input === undefined) return
  const { fault, at, input, target } = finding
  mkdirSync(join(FOLDER, target), { recursive: true })
  const { kind, message, stack } = fault
  const text = JSON.stringify({ fault: `${kind}: ${message}`, at, input, stack: stack?.split('\n') }, null, 1)
  writeFileSync(pathOf(finding), `${text}\n`)
}

const outcomesOf = ({ outcomes }: Tally): string =>
  Object.entries(outcomes)
    .sort(([, left], [, right]) => right - left)
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(', ')

const HEADINGS = `${'target'.padEnd(12)} corpus     inputs       s  inputs/s findings  outcomes`

const rowOf = ({ target, corpus, drawn, findings }: TargetReport): string => {
  const seconds = drawn.ms / 1000
  const rate = seconds > 0 ? Math.round(drawn.inputs / seconds) : 0
  const columns = [
    target.padEnd(12),
    String(corpus.inputs).padStart(6),
    String(drawn.inputs).padStart(10),
    seconds.toFixed(1).padStart(7),
    String(rate).padStart(9),
    String(findings.length).padStart(8),
  ]
  return `${columns.join(' ')}  ${outcomesOf(drawn)}`
}

/** A target's findings with the commands that reproduce them, then its row of the table. */
export function printTarget(report: TargetReport): void {
  for (const finding of report.findings) {
    const { target, fault, at, count, input } = finding
    console.log(`\n${target} at ${at}${count > 1 ? `, ${count} times` : ''}: ${fault.kind}: ${fault.message}`)
    const lines = (fault.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
    for (const line of lines.slice(0, 4)) console.log(line)
    if (input !== undefined) console.log(`    npm run fuzz -- ${target} --read ${pathOf(finding)}`)
  }
  console.log(rowOf(report))
}

export function printReport(reports: readonly TargetReport[], { seed }: { readonly seed: number }): void {
  console.log(`\nseed ${seed}\n${HEADINGS}`)
  for (const report of reports) console.log(rowOf(report))
  const total = reports.reduce((sum, { drawn }) => sum + drawn.inputs, 0)
  console.log(`${total} inputs`)
}
