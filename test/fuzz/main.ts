// Runs the fuzzers: reads the corpus again, then random inputs, and writes each finding to a file.
//
//   npm run fuzz -- TARGET... [--minutes N] [--inputs N] [--seed S] [--jobs N] [--report FILE]
//   npm run fuzz -- TARGET --at SEED:INDEX       reads the one input of that number
//   npm run fuzz -- TARGET --read FILE           reads the input of a finding
//
// TARGET is one of test/fuzz/targets/ or `all`. The rule for every input: it is read, or rejected with a
// HalfbyteError of a code other than `internal`, within 5 s and 512 MB. Everything else is a finding, which
// is minimised and written to build/fuzz/TARGET/. Once it is fixed, its input moves to test/fuzz/corpus/,
// which every run reads first, as a regression test. The exit code is 1 with findings, and 2 for wrong usage.
import { readFileSync, writeFileSync } from 'node:fs'
import { Argument, Command } from 'commander'
import { corpusOf } from './corpus.ts'
import type { StoredInput } from './input.ts'
import { keepFinding, printReport, printTarget, type TargetReport } from './report.ts'
import { fuzz, readInputs, shown, smallest, type Tally } from './runner.ts'
import { TARGETS, type TargetName } from './target.ts'

interface Flags {
  readonly minutes: number
  readonly inputs: number
  readonly seed: number
  readonly jobs: number
  readonly report?: string
  readonly at?: string
  readonly read?: string
}

const command = new Command('fuzz')
  .addArgument(new Argument('<targets...>').choices(['all', ...TARGETS]))
  .option('--minutes <n>', 'per target', Number, 1)
  .option('--inputs <n>', 'per target', Number, Number.MAX_SAFE_INTEGER)
  .option('--seed <n>', 'of the random inputs', Number, 1)
  .option('--jobs <n>', 'targets at a time', Number, 1)
  .option('--report <file>', 'writes the reports as JSON')
  .option('--at <seed:index>', 'reads only this input')
  .option('--read <file>', "reads only this finding's input")
  .parse()
const { report: reportFile, at, read, minutes, inputs, seed, jobs } = command.opts<Flags>()
if ([minutes, inputs, seed, jobs].some((value) => !(value >= 0)))
  command.error('error: --minutes, --inputs, --seed and --jobs take numbers from 0 on')
const names = command.args.includes('all') ? TARGETS : (command.args as TargetName[])

/** Reports each target when it ends, so that an interrupted run has reported the earlier ones. */
function finished(report: TargetReport): TargetReport {
  for (const finding of report.findings) keepFinding(finding)
  printTarget(report)
  return report
}

/** Findings from the corpus, then from random inputs, each confirmed by a second run and minimised. */
async function reportOn(target: TargetName): Promise<TargetReport> {
  const corpus = await readInputs(target, await corpusOf(target))
  const drawn = await fuzz(target, { seed, inputs, ms: minutes * 60_000 })
  const findings = [...corpus.findings]
  for (const finding of drawn.findings) {
    const [, index = '0'] = finding.at.split(':')
    const input = finding.input ?? (await shown(target, seed, Number(index)))
    const again = input === undefined ? undefined : await readInputs(target, [{ title: finding.at, input }])
    // A busy machine makes an input look slow.
    if (again !== undefined && again.findings.length === 0) continue
    findings.push({ ...finding, input: await smallest(target, { ...finding, input }) })
  }
  return finished({ target, corpus, drawn, findings })
}

const readOne = async (
  target: TargetName,
  title: string,
  input: StoredInput | undefined,
): Promise<TargetReport> => {
  if (input === undefined) throw new Error(`${title} cannot be generated`)
  const corpus = await readInputs(target, [{ title, input }])
  const none: Tally = { inputs: 0, ms: 0, outcomes: {}, findings: [] }
  return finished({ target, corpus, drawn: none, findings: corpus.findings })
}

const [first = 'gguf'] = names
const reports: TargetReport[] = []
if (at !== undefined) {
  const [from = 0, index = 0] = at.split(':').map(Number)
  reports.push(await readOne(first, at, await shown(first, from, index)))
} else if (read !== undefined) {
  reports.push(await readOne(first, read, JSON.parse(readFileSync(read, 'utf8')).input))
} else {
  const left = [...names]
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) reports.push(await reportOn(name))
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

printReport(reports, { seed })
if (reportFile !== undefined) writeFileSync(reportFile, JSON.stringify(reports))
process.exit(reports.some(({ findings }) => findings.length > 0) ? 1 : 0)
