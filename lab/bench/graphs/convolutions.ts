// Compares convolutions with onnxruntime-web: single layers, or networks in files. Out: a table of times,
// GFLOP/s, and their share of what this core reaches without reading memory.
//
//   node lab/bench/graphs/convolutions.ts [FILE.onnx[=1x3x320x320] ...] [--nets FOLDER]
//     [--in node|chromium] [--page] [--rounds 9] [--threads 1] [--only 3x3]
//
// Both engines run the same file in this process or in one page of Chromium, one after the other in each
// round. With one thread, times are processor times, because the machines are seldom idle, and a column
// has the ratio by the clock; otherwise they are wall-clock times. The fastest of all runs, by the clock,
// changes least with the load of the machine. A shape is that of the first input, for files whose sizes
// are open. In Chromium, each engine runs where it does by default: Halfbyte in a worker, onnxruntime-web
// in the page.
import { readFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { Command, Option } from 'commander'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { Network } from '../../../src/network/api/network.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { spread, spreadText } from '../spread.ts'
import { type Comparison, compareEngines, type Measuring } from './comparison.ts'
import { type Layer, layers } from './layers.ts'
import { multiplyLimit } from './multiply-limit.ts'
import { netOf, netsIn } from './nets.ts'
import { openComparingPage } from './open-page.ts'

const command = new Command('convolutions')
  .argument('[files...]', 'ONNX files; default: single layers')
  .option('--nets <folder>', 'the networks of nets.ts in this folder')
  .addOption(
    new Option('--in <where>', 'where both engines run').choices(['node', 'chromium']).default('node'),
  )
  .option('--page', 'in Chromium, run Halfbyte on the page’s own thread', false)
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 9)
  .option('--threads <n>', 'threads of both engines', whole(1), 1)
  .option('--only <text>', 'only layers and networks whose name contains this', '')
  .parse()
const options = command.opts<{
  readonly nets?: string
  readonly in: 'node' | 'chromium'
  readonly page: boolean
  readonly rounds: number
  readonly threads: number
  readonly only: string
}>()
const { threads, rounds } = options
env.wasm.numThreads = threads
const page = options.in === 'chromium' ? await openComparingPage() : undefined
const limit = multiplyLimit() * threads
console.log(
  `${page?.browser ?? `Node ${process.version}`}, load average ${loadavg()[0]!.toFixed(1)}; the limit of ${threads} threads is ${limit.toFixed(1)} GFLOP/s.\n`,
)
const headings = ['layer', 'Halfbyte, ms', 'onnxruntime-web, ms', 'times as fast']
if (threads === 1) headings.push('by the clock')
headings.push('fastest runs, ms', 'times as fast', 'GFLOP/s', 'share', 'largest difference')
console.log(`| ${headings.join(' | ')} |`)
console.log(`|---${'|--:'.repeat(headings.length - 1)}|`)
const nets = [
  ...(options.nets === undefined ? [] : netsIn(options.nets)),
  ...command.args.map((argument) => netOf(argument)),
]
const isWanted = ({ name }: { readonly name: string }): boolean => name.includes(options.only)
if (nets.length === 0) for (const layer of layers().filter(isWanted)) await report(layer)
for (const { name, file, shape } of nets.filter(isWanted))
  await report({ name, flop: 0, bytes: new Uint8Array(await readFile(file)) }, shape)
await page?.close()
process.exit(0)

async function report({ name, flop, bytes }: Layer, shape?: readonly number[]): Promise<void> {
  const how = { shape, rounds }
  const compared =
    page === undefined
      ? await compareInNode(bytes, how)
      : await page.compare(bytes, { ...how, threads, worker: !options.page })
  const shown = threads === 1 ? 'processor' : 'clock'
  const own = spread(compared.own[shown])
  const other = spread(compared.other[shown])
  const byClock = spread(compared.other.clock).median / spread(compared.own.clock).median
  const speed = flop / own.median / 1e6
  const cells = [
    name,
    spreadText(own, 2),
    spreadText(other, 2),
    (other.median / own.median).toFixed(2),
    ...(threads === 1 ? [byClock.toFixed(2)] : []),
    `${compared.own.fastest.toFixed(2)}, ${compared.other.fastest.toFixed(2)}`,
    (compared.other.fastest / compared.own.fastest).toFixed(2),
    flop === 0 ? '' : speed.toFixed(1),
    flop === 0 ? '' : `${((100 * speed) / limit).toFixed(0)} %`,
    compared.difference.toExponential(1),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

async function compareInNode(bytes: Uint8Array, how: Measuring): Promise<Comparison> {
  const open = { sources: [bufferSource('model.onnx', bytes)], close: async () => undefined }
  const network = await Network.open(open, { threads }, nodeHost())
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  const compared = await compareEngines({ network, session, Tensor }, how, processorMs)
  await network.dispose()
  await session.release()
  return compared
}

/** Of this thread if it does all the work, so that other threads' garbage collection does not count. */
function processorMs(): number {
  return (threads === 1 ? process.threadCpuUsage() : process.cpuUsage()).user / 1000
}
