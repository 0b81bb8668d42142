// Makes tables of the lines that bench/pruning.ts printed: Markdown on stdout, and with --svg FILE the curve
// of perplexity by sparsity, with --damp-svg FILE that by dampening.
//
//   node bench/pruning-tables.ts runs.jsonl [--svg FILE] [--damp-svg FILE] [--title TEXT]
//
// Values are means over calibration seeds; +/- is the standard error of that mean.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { svgCurves } from '../src/evaluate/curves.ts'

interface Run {
  readonly method: string
  readonly run: string
  readonly seed: number
  readonly damp: number
  readonly perplexity: number
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    svg: { type: 'string' },
    'damp-svg': { type: 'string' },
    title: { type: 'string', default: '' },
  },
})
const DAMP = 0.01
const METHODS = ['obs', 'sparsegpt', 'wanda', 'magnitude']
const runs = readFileSync(positionals[0] ?? '', 'utf8')
  .split('\n')
  .filter((line) => line.endsWith('}'))
  .map((line) => JSON.parse(line) as Run)
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
if (values['damp-svg'] !== undefined) {
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
    values['damp-svg'],
    svgCurves(series, { title: values.title, x: 'dampening', y: 'perplexity', isLogX: true }),
  )
}
