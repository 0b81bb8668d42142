// Measures the threads of a network. In: an encoder of MiniLM's shape with random weights. Out: a table of
// times with one and two threads, and their ratio.
//
//   node lab/bench/graphs/threads.ts [--rounds 9] [--weights f32]
// Each round alternates between the two. Times are wall-clock times, and the ratio is the median of the
// ratios within rounds.
import { Command } from 'commander'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { Network, type NetworkOptions } from '../../../src/network/api/network.ts'
import { tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { spread, spreadText } from '../spread.ts'
import { bertBytes, MINILM } from './bert.ts'

const SIZES = [
  [1, 16],
  [1, 64],
  [1, 256],
  [16, 64],
] as const
/** Number of runs after which V8 has optimised the functions. */
const WARM = 4

const command = new Command('threads')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 9)
  .option('--weights <value>', 'how constant matrices are multiplied', 'f32')
  .parse()
const values = command.opts<{
  readonly rounds: number
  readonly weights: string
}>()
const weights = values.weights as NonNullable<NetworkOptions['weights']>
const bytes = bertBytes(MINILM)
const open = (threads: number) =>
  Network.open(
    { sources: [bufferSource('model.onnx', bytes)], close: async () => undefined },
    { weights, threads },
    nodeHost(),
  )
const networks = [await open(1), await open(2)] as const

console.log('| batch x tokens | one thread, ms | two threads, ms | times as fast |')
console.log('|---|--:|--:|--:|')
for (const dims of SIZES) {
  const ids = (value: (at: number) => number) =>
    tensorOf(
      'i64',
      dims,
      Float64Array.from({ length: dims[0] * dims[1] }, (_, at) => value(at)),
    )
  const inputs = {
    input_ids: ids((at) => (at * 37) % MINILM.vocabulary),
    attention_mask: ids(() => 1),
    token_type_ids: ids(() => 0),
  }
  const timed = async (network: Network): Promise<number> => {
    const start = performance.now()
    await network.run(inputs)
    return performance.now() - start
  }
  for (let run = 0; run < WARM; run++) for (const network of networks) await timed(network)
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < values.rounds; round++)
    for (const [index, network] of networks.entries()) times[index]!.push(await timed(network))
  const ratio = spread(times[0].map((one, round) => one / times[1][round]!))
  const cells = [dims.join(' x '), spreadText(spread(times[0])), spreadText(spread(times[1]))]
  console.log(`| ${[...cells, ratio.median.toFixed(2)].join(' | ')} |`)
}
await Promise.all(networks.map((network) => network.dispose()))
