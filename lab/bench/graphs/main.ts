// Compares networks with onnxruntime-web. In: an encoder of MiniLM's shape with random weights, or the given
// files. Out: a table of times on one thread, and how much the outputs differ.
//
//   node lab/bench/graphs/main.ts [FILE.onnx ...] [--rounds 9] [--weights auto]
// Files with open axes are taken as text models and run at several batch sizes and lengths; others have one
// size. Both engines run the same file in this process, one after the other in each round. Times are
// processor times, because the machines are seldom idle.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'
import { Network, type NetworkOptions } from '../../../src/network/api/network.ts'
import { toOrtFeeds } from '../../../src/network/compile/staged/ort-tensors.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { spread, spreadText } from '../spread.ts'
import { bertBytes, MINILM } from './bert.ts'
import { drawnInputs, openAxes } from './inputs.ts'

const SIZES = [
  [1, 16],
  [1, 64],
  [1, 256],
  [16, 16],
  [16, 64],
] as const

const command = new Command('graphs')
  .argument('[files...]', 'ONNX files; default: an encoder with random weights')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 9)
  .option('--weights <value>', 'how constant matrices are multiplied', 'auto')
  .parse()
const values = command.opts<{
  readonly rounds: number
  readonly weights: string
}>()
const positionals = command.args
env.wasm.numThreads = 1
console.log('| graph | input | Halfbyte, ms | onnxruntime-web, ms | times as fast | greatest difference |')
console.log('|---|--:|--:|--:|--:|--:|')
if (positionals.length === 0) await compare('MiniLM, random f32', bertBytes(MINILM), MINILM.vocabulary)
for (const file of positionals) await compare(basename(file), new Uint8Array(await readFile(file)), 20_000)

async function compare(name: string, bytes: Uint8Array, vocabulary: number): Promise<void> {
  const weights = values.weights as NonNullable<NetworkOptions['weights']>
  const network = await Network.load(new File([new Uint8Array(bytes)], 'model.onnx'), { weights })
  const session = await InferenceSession.create(bytes, { executionProviders: ['wasm'] })
  const taken = network.inputs.map(({ dims, ...rest }) => ({ ...rest, dims: dims! }))
  const [output] = network.outputs
  const rows = openAxes(taken).length === 0 ? [[]] : SIZES
  for (const sizes of rows) {
    const inputs = drawnInputs(taken, sizes, vocabulary)
    const feeds = toOrtFeeds(Tensor, Object.entries(inputs))
    const runs = [
      async () => (await network.run(inputs))[output!.name]!.data as Float32Array,
      async () => (await session.run(feeds))[output!.name]!.data as Float32Array,
    ] as const
    const found = await runs[0]()
    const wanted = await runs[1]()
    const difference = found.reduce((most, value, at) => Math.max(most, Math.abs(value - wanted[at]!)), 0)
    const times: [number[], number[]] = [[], []]
    for (let round = 0; round < values.rounds; round++) {
      for (const [index, run] of runs.entries()) {
        const start = process.threadCpuUsage().user
        await run()
        times[index]!.push((process.threadCpuUsage().user - start) / 1000)
      }
    }
    const [ours, theirs] = times.map(spread) as [ReturnType<typeof spread>, ReturnType<typeof spread>]
    const ratio = (theirs.median / ours.median).toFixed(2)
    const cells = [
      name,
      Object.values(inputs)[0]!.dims.join(' x '),
      spreadText(ours),
      spreadText(theirs),
      ratio,
      difference.toExponential(1),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
  await network.dispose()
}
