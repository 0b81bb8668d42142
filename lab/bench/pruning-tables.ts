// Makes tables from the output of lab/bench/pruning.ts: Markdown on stdout, with --svg FILE the curve of
// perplexity by sparsity, and with --damp-svg FILE that by damping.
//
//   node lab/bench/pruning-tables.ts runs.jsonl [--svg FILE] [--damp-svg FILE] [--title TEXT]
//     [--beside sparsegpt] [--score w8]
//
// Values are means over calibration seeds; +/- is the standard error of that mean. With --beside, a second
// table has each method's loss minus that of the named method, or of the dense model (`none`), in nats per
// token with the paired standard error over windows of the first seed.
import { readFileSync, writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { svgCurves } from '../../src/tools/evaluate/curves.ts'
import { mean } from '../../src/tools/evaluate/task.ts'

interface Run {
  readonly method: string
  readonly run: string
  readonly seed: number
  readonly damp: number
  readonly score?: string
  readonly perplexity: number
  readonly windowLosses?: readonly number[]
}

const command = new Command('pruning-tables')
  .argument('<runs>', 'lines of JSON that lab/bench/pruning.ts wrote')
  .option('--svg <file>', 'file for the curve by sparsity')
  .option('--damp-svg <file>', 'file for the curve by damping')
  .option('--title <value>', 'title of the curve', '')
  .option('--beside <value>', 'method with which the others are compared')
  .option('--score <value>', 'precision whose runs are read; default: that of the first run')
  .parse()
const values = command.opts<{
  readonly svg?: string
  readonly dampSvg?: string
  readonly title: string
  readonly beside?: string
  readonly score?: string
}>()
const positionals = command.args
const DAMP = 0.01
const METHODS = ['obs', 'sparsegpt-obs', 'sparsegpt', 'wanda', 'magnitude']
const all = readFileSync(positionals[0] ?? '', 'utf8')
  .split('\n')
  .filter((line) => line.endsWith('}'))
  .map((line) => JSON.parse(line) as Run)
const scored = values.score ?? all[0]?.score
const runs = all.filter(({ score }) => score === scored)
const dense = runs.find(({ method }) => method === 'none')?.perplexity ?? Number.NaN

function meanOf(method: string, run: string, damp = DAMP) {
  const found = runs.filter((each) => each.method === method && each.run === run && each.damp === damp)
  if (found.length === 0) return undefined
  const mean = found.reduce((sum, each) => sum + each.perplexity, 0) / found.length
  const spread = found.reduce((sum, each) => sum + (each.perplexity - mean) ** 2, 0)
  const error = found.length > 1 ? Math.sqrt(spread / (found.length - 1) / found.length) : 0
  return { mean, error, seeds: found.length }
}

const cell = (found: ReturnType<typeof meanOf>): string =>
  found === undefined
    ? ''
    : `${found.mean.toPrecision(4)}${found.seeds > 1 ? ` ± ${found.error.toPrecision(2)}` : ''}`

const order = (run: string): number => (Number.isFinite(Number(run)) ? Number(run) : 1)
const names = [...new Set(runs.flatMap(({ run }) => run ?? []))].sort(
  (a, b) => order(a) - order(b) || a.localeCompare(b),
)
const nameOf = (run: string): string => {
  const [pattern = '', share] = run.split('@')
  if (Number.isFinite(Number(pattern))) return `${Math.round(100 * Number(pattern))} %`
  return share === undefined ? pattern : `${pattern}, ${Math.round(100 * Number(share))} %`
}

process.stdout.write(
  `Dense: ${dense.toFixed(3)}\n\n| | ${METHODS.join(' | ')} |\n|---|${'--:|'.repeat(METHODS.length)}\n`,
)
for (const run of names)
  process.stdout.write(
    `| ${nameOf(run)} | ${METHODS.map((method) => cell(meanOf(method, run))).join(' | ')} |\n`,
  )

if (values.beside !== undefined) printDifferences(values.beside)

function printDifferences(base: string): void {
  const lossesOf = (method: string, run: string) =>
    runs.find((each) =>
      method === 'none'
        ? each.method === method
        : each.method === method && each.run === run && each.seed === 0 && each.damp === DAMP,
    )?.windowLosses
  const rows = names.map((run) => {
    const first = lossesOf(base, run)
    const cells = METHODS.map((method) => {
      const own = lossesOf(method, run)
      if (first === undefined || own === undefined) return ''
      const { value, error = 0 } = mean(own.map((loss, at) => loss - first[at]!))
      return `${value < 0 ? '' : '+'}${value.toFixed(4)} ± ${error.toFixed(4)}`
    })
    return `| ${nameOf(run)} | ${cells.join(' | ')} |\n`
  })
  process.stdout.write(
    `\nRelative to ${base}:\n\n| | ${METHODS.join(' | ')} |\n|---|${'--:|'.repeat(METHODS.length)}\n${rows.join('')}`,
  )
}

if (values.svg !== undefined) {
  const shares = names.filter((run) => Number.isFinite(Number(run)))
  const series = METHODS.map((name) => ({
    name,
    points: shares.flatMap((run) => {
      const found = meanOf(name, run)
      return found ? [{ x: 100 * Number(run), y: found.mean, error: found.error }] : []
    }),
  }))
  const flat = { name: 'dense', points: shares.map((run) => ({ x: 100 * Number(run), y: dense, error: 0 })) }
  writeFileSync(
    values.svg,
    svgCurves([...series, flat], { title: values.title, x: 'weights dropped, %', y: 'perplexity' }),
  )
}
if (values.dampSvg !== undefined) {
  const damps = [...new Set(runs.flatMap(({ damp }) => damp ?? []))].sort((a, b) => a - b)
  const series = ['obs', 'sparsegpt'].map((name) => ({
    name,
    points: damps.flatMap((damp) => {
      const found = meanOf(name, '0.5', damp)
      return found ? [{ x: damp, y: found.mean, error: found.error }] : []
    }),
  }))
  for (const { name, points } of series)
    process.stdout.write(`${name}: ${points.map(({ x, y }) => `${x}: ${y.toFixed(3)}`).join(', ')}\n`)
  writeFileSync(
    values.dampSvg,
    svgCurves(series, { title: values.title, x: 'damping', y: 'perplexity', isLogX: true }),
  )
}
