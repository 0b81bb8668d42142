// npm run roofline:ops measures ops that few families use, at the shapes of published models, and compares
// them with the machine's limits, in Node. Samples are short and the best one counts, because
// other work on the machine can only add time.
import { readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { Command } from 'commander'
import type { Build } from '../../../src/core/runtime/features.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { analyseStep, atBest, type Line, type StepAnalysis } from './analyse.ts'
import { limitsHost } from './host.ts'
import { FULL } from './jobs.ts'
import { measureLimits } from './limits.ts'
import { OP_MODELS, type OpModel, openOpModel } from './op-models.ts'
import { measureFile } from './steps.ts'
import { aligned, figure, markdown, type Table } from './tables.ts'

const options = new Command('roofline:ops')
  .description("Times each op of OP_MODELS and compares it with the machine's limits.")
  .option('--only <text>', 'models whose name contains this', '')
  .option('--samples <n>', 'samples per figure', Number, 20)
  .option('--builds <list>', 'builds', (text) => text.split(',') as Build[], [...FULL.builds])
  .option('--threads <list>', 'thread counts', (text) => text.split(',').map(Number), [1])
  .option('--chunk <n>', 'rows in the longer step', Number, 16)
  .option('--markdown', 'print tables as Markdown')
  .parse()
  .opts<{
    only: string
    samples: number
    builds: Build[]
    threads: number[]
    chunk: number
    markdown?: true
  }>()

const { samples, threads, chunk } = options
const LEAST_MS = 2
/**
 * Working sets in bytes. The largest exceeds the caches, but its samples are short enough that other work
 * rarely interferes.
 */
const SETS = [1, 4, 16, 64].map((size) => size * 2 ** 20)
const host = nodeHost()
const limitHost = limitsHost(host, (url) => readFile(url))

/** Each op, with its share of the limit and its share of the layers' time. */
function rowsOf({ like, ops }: OpModel, analysis: StepAnalysis): string[][] {
  const layers = analysis.lines.filter(({ label }) => !/^(embed|output|logits|final)/.test(label))
  const total = layers.reduce((sum, { ms }) => sum + ms.min, 0)
  const isAsked = ({ name }: Line) => ops.some((op) => name.startsWith(op.split(' ')[0] ?? op))
  return layers.filter(isAsked).map(({ label, name, count, ms, bytes, ops: work, limitMs }) => {
    const each = (value: number) => figure((value * 1000) / count)
    return [
      like,
      analysis.stage === 'decode' ? 'decode' : `${analysis.tokens} rows`,
      analysis.build,
      `${analysis.threads}`,
      name,
      label.replace(/ \[tokens.*/, ''),
      `${each(ms.min)} (${each(ms.median)})`,
      figure(bytes / ms.min / 1e6),
      figure(work / ms.min / 1e6),
      each(limitMs),
      `${Math.round((100 * limitMs) / ms.min)} %`,
      `${figure((100 * ms.min) / total)} %`,
    ]
  })
}

const rows: string[][] = []
const chosen = OP_MODELS.filter(({ like }) => like.includes(options.only))
for (const build of options.builds) {
  const measured = { build, threads, samples }
  const limits = atBest(
    await measureLimits(limitHost, { ...measured, sets: SETS, leastMs: LEAST_MS, waits: false }),
  )
  const peaks = limits.peaks.map(({ peak, gigaopsPerSecond }) => `${peak} ${figure(gigaopsPerSecond.median)}`)
  const reads = limits.reads
    .filter(({ streams }) => streams === 1)
    .map(({ bytes, gigabytesPerSecond }) => `${bytes >> 20} MiB ${figure(gigabytesPerSecond.median)}`)
  console.log(`${build}: GB/s of one stream: ${reads.join(', ')}; GOP/s: ${peaks.join(', ')}`)
  for (const model of chosen) {
    const effort = { ...measured, position: FULL.position, chunk, leastMs: LEAST_MS }
    const { steps } = await measureFile(host, openOpModel(model), effort)
    console.error(model.like)
    for (const step of steps) rows.push(...rowsOf(model, analyseStep(step, limits)))
  }
}
const table: Table = {
  title: `${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`,
  head: [
    'like',
    'step',
    'build',
    'threads',
    'op',
    'of',
    'us, best (median)',
    'GB/s',
    'GOP/s',
    'limit, us',
    'share',
    'of the layers',
  ],
  rows,
}
console.log(options.markdown ? markdown(table) : aligned(table))
