// Shows where a run's time goes: the slowest steps of a compiled graph, or the share of steps that convert
// layouts in each of several graphs.
//
//   node lab/bench/graphs/step-times.ts FILE.onnx[=1x3x320x320] [--rounds 9] [--top 25] [--plain]
//   node lab/bench/graphs/step-times.ts --nets FOLDER [--rounds 9]
// One thread. Each function is timed from outside, so a short step is overstated by a fraction of a
// microsecond. GFLOP/s are of products; the share is of what this core reaches without reading memory.
import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { reasonOf } from '../../../src/core/base/errors.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import type { Program } from '../../../src/network/compile/program/program.ts'
import { reportOf } from '../../../src/network/compile/program/report.ts'
import type { Step } from '../../../src/network/compile/program/step.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { feedsOf } from './inputs.ts'
import { multiplyLimit } from './multiply-limit.ts'
import { type Net, netOf, netsIn } from './nets.ts'

const command = new Command('step-times')
  .argument('[file]', 'ONNX file')
  .option('--nets <folder>', 'shares of layout conversions in the networks of nets.ts in this folder')
  .option('--rounds <n>', 'rounds; the fastest time of each step is shown', whole(1), 9)
  .option('--top <n>', 'how many steps are shown', whole(1), 25)
  .option('--plain', 'without fused multiply-add, as in the simd128 build', false)
  .parse()
const options = command.opts<{
  readonly nets?: string
  readonly rounds: number
  readonly top: number
  readonly plain: boolean
}>()

/** Milliseconds of each step in the run in progress, by the address of its record. */
const times = new Map<number, number>()
timeFunctions()
const [file] = command.args
if (file !== undefined) await printSteps(netOf(file))
if (options.nets !== undefined) {
  console.log('| network | steps | ms | only convert | % | convert and compute | % | only copy | % |')
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|--:|')
  for (const net of netsIn(options.nets)) await printConversions(net)
}

interface Timed {
  readonly program: Program
  /** The steps that have units, with their index in the program. */
  readonly rows: readonly { readonly step: Step; readonly at: number; readonly ms: number }[]
  readonly total: number
}

async function timed({ file, shape }: Net): Promise<Timed> {
  const { graph } = await readModel(bufferSource(file, new Uint8Array(await readFile(file))))
  const feeds = feedsOf(graph.inputs, shape)
  const compiled = new CompiledGraph(graph, { fuse: !options.plain })
  const program = await compiled.prepare(new Map([...feeds].map(([name, { dims }]) => [name, dims])))
  const runs: Map<number, number>[] = []
  for (let round = -3; round < options.rounds; round++) {
    times.clear()
    await compiled.run(feeds)
    if (round >= 0) runs.push(new Map(times))
  }
  // Records lie in the order of the steps. A step without units has a record too, but no time.
  const records = [...runs[0]!.keys()].sort((a, b) => a - b)
  const rows = [...program.steps.entries()]
    .filter(([, step]) => 'call' in step && step.units > 0)
    .map(([at, step], index) => {
      const ms = Math.min(...runs.map((run) => run.get(records[index]!) ?? 0))
      return { step, at, ms }
    })
  return { program, rows, total: rows.reduce((sum, { ms }) => sum + ms, 0) }
}

async function printConversions(net: Net): Promise<void> {
  const found = await timed(net).catch(reasonOf)
  if (typeof found === 'string') {
    console.log(`| ${net.name} | ${found} |${' |'.repeat(7)}`)
    return
  }
  const { program, rows, total } = found
  const { alone, fused, copies } = reportOf(program).conversions
  const cells = [alone, fused, copies].flatMap((steps) => {
    const ms = rows.filter(({ at }) => steps.includes(at)).reduce((sum, row) => sum + row.ms, 0)
    return [`${steps.length}`, ((100 * ms) / total).toFixed(1)]
  })
  console.log(`| ${[net.name, program.steps.length, total.toFixed(2), ...cells].join(' | ')} |`)
}

async function printSteps(net: Net): Promise<void> {
  const { program, total, ...found } = await timed(net)
  const rows = found.rows.toSorted((a, b) => b.ms - a.ms)
  const limit = multiplyLimit()
  const ofProducts = rows.filter(({ step }) => flopOf(step) > 0)
  const flop = ofProducts.reduce((sum, { step }) => sum + flopOf(step), 0)
  const productMs = ofProducts.reduce((sum, { ms }) => sum + ms, 0)
  const { copiedBytes, conversions } = reportOf(program)
  console.log(
    `${net.file}: ${total.toFixed(2)} ms in ${rows.length} steps, ${(copiedBytes / 1e6).toFixed(1)} MB copied`,
  )
  console.log(
    `products: ${productMs.toFixed(2)} ms, ${(flop / productMs / 1e6).toFixed(1)} GFLOP/s, ${((100 * flop) / productMs / 1e6 / limit).toFixed(0)} % of ${limit.toFixed(1)}\n`,
  )
  console.log('| ms | % | step | sizes | GFLOP/s | share | layout | nodes |')
  console.log('|--:|--:|---|---|--:|--:|---|---|')
  for (const { step, at, ms } of rows.slice(0, options.top)) {
    const speed = flopOf(step) / ms / 1e6
    const { alone, fused, copies } = conversions
    const layout =
      alone.includes(at) || fused.includes(at) ? 'converted' : copies.includes(at) ? 'copied' : ''
    const cells = [
      ms.toFixed(3),
      ((100 * ms) / total).toFixed(1),
      ...formOf(step),
      speed === 0 ? '' : speed.toFixed(1),
      speed === 0 ? '' : `${((100 * speed) / limit).toFixed(0)} %`,
      layout,
      step.nodes.slice(0, 4).join(', '),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

function flopOf(step: Step): number {
  if ('kernel' in step || step.call.product === undefined) return 0
  const { m, n, k } = step.call.product
  return step.call.outer.reduce((count, size) => count * size, 2 * m * n * k)
}

function formOf(step: Step): readonly [string, string] {
  if ('kernel' in step) return ['kernel', '']
  const { outer, inner, product, kernel } = step.call
  if (product === undefined)
    return [`${kernel.passes} pass, ${kernel.streams.length} streams`, `${[...outer, inner]}`]
  return [
    `product, ${kernel.product?.b}${product.windows ? ', windows' : ''}`,
    `${[...outer, product.m, product.k, product.n]}`,
  ]
}

/** Wraps the functions of each module that is instantiated from now on. */
function timeFunctions(): void {
  const Own = WebAssembly.Instance
  WebAssembly.Instance = new Proxy(Own, {
    construct(_, args: ConstructorParameters<typeof Own>) {
      const { exports } = new Own(...args)
      const wrapped = Object.entries(exports).map(([name, run]) => [
        name,
        (record: number, first: number, last: number) => {
          const start = performance.now()
          ;(run as (...all: number[]) => void)(record, first, last)
          times.set(record, (times.get(record) ?? 0) + performance.now() - start)
        },
      ])
      return { exports: Object.fromEntries(wrapped) }
    },
  })
}
