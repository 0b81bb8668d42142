// Compares convolutions with onnxruntime-web: single layers, or networks in files. Out: a table of times,
// GFLOP/s, and their share of what this core reaches without reading memory.
//
//   node lab/bench/graphs/convolutions.ts [FILE.onnx[=1x3x320x320] ...]
//     [--rounds 9] [--threads 1] [--only 3x3]
//
// Both engines run the same file in this process, one after the other in each round. With one thread, times
// are processor times, because the machines are seldom idle; otherwise wall-clock times. A shape is that of
// the first input, for files whose sizes are open.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { Network } from '../../../src/network/api/network.ts'
import { toOrt } from '../../../src/network/compile/staged/ort-tensors.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { spread, spreadText } from '../spread.ts'
import { feedsOf, shapeOf } from './inputs.ts'
import { type Layer, layers } from './layers.ts'
import { multiplyLimit } from './multiply-limit.ts'

/** Runs of at least this long are measured, because the clock of processor time is coarse. */
const LEAST_MS = 40
/** Differences are a share of the largest number, or of this one if all are smaller. */
const LEAST_VALUE = 1e-3
/** Runs after which both engines' functions are optimised. */
const WARM = 8

const command = new Command('convolutions')
  .argument('[files...]', 'ONNX files; default: single layers')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 9)
  .option('--threads <n>', 'threads of both engines', whole(1), 1)
  .option('--only <text>', 'only layers whose name contains this', '')
  .parse()
const options = command.opts<{
  readonly rounds: number
  readonly threads: number
  readonly only: string
}>()
env.wasm.numThreads = options.threads
const limit = multiplyLimit() * options.threads
console.log(`The limit of ${options.threads} threads is ${limit.toFixed(1)} GFLOP/s.\n`)
console.log(
  '| layer | Halfbyte, ms | onnxruntime-web, ms | times as fast | GFLOP/s | share | largest difference |',
)
console.log('|---|--:|--:|--:|--:|--:|--:|')
if (command.args.length === 0)
  for (const layer of layers()) if (layer.name.includes(options.only)) await compare(layer)
for (const argument of command.args) {
  const [file, shape] = argument.split('=') as [string, string?]
  const bytes = new Uint8Array(await readFile(file))
  await compare({ name: basename(file, '.onnx'), flop: 0, bytes }, shape)
}
process.exit(0)

async function compare({ name, flop, bytes }: Layer, shape?: string): Promise<void> {
  const sources = [bufferSource('model.onnx', bytes)]
  const { graph } = await readModel(sources[0]!)
  const feeds = feedsOf(graph.inputs, shape === undefined ? undefined : shapeOf(shape))
  const open = { sources, close: async () => undefined }
  const network = await Network.open(open, { threads: options.threads }, nodeHost())
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  const inputs = Object.fromEntries(feeds)
  const theirs = Object.fromEntries([...feeds].map(([key, tensor]) => [key, toOrt(Tensor, tensor)]))
  const output = network.outputs[0]!.name
  const runs = [
    async () => (await network.run(inputs))[output]!.data as Float32Array,
    async () => (await session.run(theirs))[output]!.data as Float32Array,
  ] as const
  const found = await runs[0]()
  const wanted = await runs[1]()
  const largest = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), LEAST_VALUE)
  const difference = found.reduce((most, value, at) => Math.max(most, Math.abs(value - wanted[at]!)), 0)
  const repeats: number[] = []
  for (const run of runs) {
    let fastest = Number.POSITIVE_INFINITY
    for (let warm = 0; warm < WARM; warm++) {
      const start = performance.now()
      await run()
      fastest = Math.min(fastest, performance.now() - start)
    }
    repeats.push(Math.max(1, Math.ceil(LEAST_MS / fastest)))
  }
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < options.rounds; round++)
    for (const [index, run] of runs.entries()) {
      const start = now()
      for (let each = 0; each < repeats[index]!; each++) await run()
      times[index]!.push((now() - start) / repeats[index]!)
    }
  const [own, other] = times.map(spread) as [ReturnType<typeof spread>, ReturnType<typeof spread>]
  const speed = flop / own.median / 1e6
  const cells = [
    name,
    spreadText(own, 2),
    spreadText(other, 2),
    (other.median / own.median).toFixed(2),
    flop === 0 ? '' : speed.toFixed(1),
    flop === 0 ? '' : `${((100 * speed) / limit).toFixed(0)} %`,
    (difference / largest).toExponential(1),
  ]
  console.log(`| ${cells.join(' | ')} |`)
  await network.dispose()
  await session.release()
}

function now(): number {
  return options.threads === 1 ? process.threadCpuUsage().user / 1000 : performance.now()
}
