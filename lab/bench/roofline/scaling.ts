// npm run roofline:scaling predicts steps on more threads than the machine has cores, from the times of each
// op on one thread that `npm run roofline` measured.
//
//   op on n threads = the longer of    time on one thread * ceil(tiles / n) / tiles
//                                      bytes / bandwidth of n threads
//   step            = the sum of its ops + ops * barrier of n threads
//
// The bandwidth is measured up to the number of threads that the limits have. Beyond that, it stays the same
// (a memory that is already full) or grows with the threads (one that is not). A barrier is one counter, so
// its cost grows with the threads that add to it.
import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { atBest, type Measured } from './analyse.ts'
import { predict } from './predict.ts'
import { aligned, figure, markdown, type Table } from './tables.ts'

const options = new Command('roofline:scaling')
  .description('Predicts the speed of steps on more threads, from the file of `npm run roofline -- --json`.')
  .option('--json <file>', 'file of `npm run roofline`', 'build/bench/roofline.json')
  .option('--threads <list>', 'thread counts', (text) => text.split(',').map(Number), [1, 2, 4, 8])
  .option('--best', 'the best sample of each figure, for a busy machine; default: the median')
  .option('--barrier <us>', 'microseconds of a barrier of two threads; default: as measured', Number)
  .option('--bandwidth <GB/s>', 'of two threads reading from memory; default: as measured', Number)
  .option('--markdown', 'print the table as Markdown')
  .parse()
  .opts<{
    json: string
    threads: number[]
    best?: true
    barrier?: number
    bandwidth?: number
    markdown?: true
  }>()

const measured: Measured = JSON.parse(await readFile(options.json, 'utf8'))
const rows = measured.models.flatMap(({ steps }) =>
  steps
    .filter(({ threads }) => threads === 1)
    .flatMap((step) => {
      const found = measured.limits.find(({ build }) => build === step.build)
      if (found === undefined) return []
      const limits = options.best ? atBest(found) : found
      const waits = limits.waits.find(({ threads }) => threads === 2)
      const barrierUs = options.barrier ?? waits?.barrierUs[options.best ? 'min' : 'median'] ?? 0
      const reached = (threads: number) => {
        const same = steps.find(
          (each) => each.build === step.build && each.stage === step.stage && each.threads === threads,
        )
        const ms = same?.stepMs[options.best ? 'min' : 'median']
        return ms === undefined ? '' : figure((1000 * step.shape.tokens) / ms)
      }
      return options.threads.map((threads) => {
        const { full, grown, parts } = predict(step, limits, threads, {
          barrierUs,
          bandwidth: options.bandwidth,
          sample: options.best ? 'min' : 'median',
        })
        const speed = (ms: number) => figure((1000 * step.shape.tokens) / ms)
        return [
          `${step.stage}, ${step.build}`,
          String(threads),
          speed(full),
          speed(grown),
          reached(threads),
          ...[parts.uneven, parts.barriers].map((ms) => `${figure((100 * ms) / grown)} %`),
        ]
      })
    }),
)
const table: Table = {
  title: 'Predicted tokens per second',
  head: ['', 'threads', 'full memory', 'memory that grows', 'measured', 'uneven', 'barriers'],
  rows,
}
console.log(options.markdown ? markdown(table) : aligned(table))
