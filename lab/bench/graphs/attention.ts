// Compares non-causal attention as compiled by the graph compiler (two products and a softmax) with the
// engine's attention kernel, which keeps keys and values in blocks.
//
//   node lab/bench/graphs/attention.ts [--rounds 9]     after npm run build:wasm
// Both compute the same heads from q, k and v in rows of tokens. Times are one thread's processor times.
import { Command } from 'commander'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import { type Tensor, tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { modelBytes, type WrittenNode } from '../../../src/network/onnx/testing/write-model.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { element, layState, layStep } from '../../../wasm/testing/attention.ts'
import { Machine, readModule } from '../../../wasm/testing/machine.ts'
import { spread, spreadText } from '../spread.ts'

const SHAPES = [
  { name: 'MiniLM', heads: 12, dim: 32 },
  { name: 'BERT', heads: 12, dim: 64 },
  { name: 'ViT tiny', heads: 3, dim: 64 },
] as const
const TOKENS = [64, 197, 256] as const
/** Value of `after` with which each token attends to all later ones. */
const ALL = 2 ** 32 - 1
/** Number of runs timed together. */
const RUNS = 40

const command = new Command('attention')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 9)
  .parse()
const values = command.opts<{
  readonly rounds: number
}>()
console.log('| attention | tokens | compiled, ms | kernel, ms | compiled over kernel | greatest difference |')
console.log('|---|--:|--:|--:|--:|--:|')
for (const shape of SHAPES) for (const tokens of TOKENS) await compare(shape, tokens)

async function compare({ name, heads, dim }: (typeof SHAPES)[number], tokens: number): Promise<void> {
  const { graph } = await readModel(bufferSource('attention.onnx', attentionBytes(heads, dim, tokens)))
  const compiled = new CompiledGraph(graph, { fuse: true })
  const feeds = new Map(
    ['q', 'k', 'v'].map((input, kind) => [input, drawn(kind, heads * dim, tokens)] as const),
  )
  const machine = new Machine(readModule('relaxed', 'plain'), 'relaxed')
  const shape = { heads, kvHeads: heads, dim, after: ALL, ropeDims: 0, unsplit: true }
  const { y } = layStep(machine, shape, [{ position: 0, rows: tokens }], [layState(machine, shape, tokens)])
  const times: [number[], number[]] = [[], []]
  const ways = [
    async () => (await compiled.run(feeds)).get('y')!.data as Float32Array,
    async () => {
      machine.run()
      return machine.f32
    },
  ] as const
  const found = await ways[0]()
  const memory = await ways[1]()
  let difference = 0
  for (let row = 0; row < tokens; row++)
    for (let at = 0; at < heads * dim; at++) {
      const other = memory[(y.at + row * y.stride) / 4 + at]!
      difference = Math.max(difference, Math.abs(found[row * heads * dim + at]! - other))
    }
  for (let round = 0; round < values.rounds; round++)
    for (const [index, way] of ways.entries()) {
      const start = process.threadCpuUsage().user
      for (let run = 0; run < RUNS; run++) await way()
      times[index]!.push((process.threadCpuUsage().user - start) / 1000 / RUNS)
    }
  const [ours, kernel] = times.map(spread) as [ReturnType<typeof spread>, ReturnType<typeof spread>]
  const cells = [
    `${name}, ${heads} x ${dim}`,
    tokens,
    spreadText(ours),
    spreadText(kernel),
    (ours.median / kernel.median).toFixed(2),
    difference.toExponential(1),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}

function drawn(kind: number, width: number, tokens: number): Tensor {
  const at = (index: number) => element(kind, 0, Math.floor(index / width), index % width)
  const data = Float64Array.from({ length: tokens * width }, (_, index) => at(index) * (kind === 0 ? 3 : 1))
  return tensorOf('f32', [1, tokens, width], data)
}

/** Attention as exporters write it, without a mask. */
function attentionBytes(heads: number, dim: number, tokens: number): Uint8Array {
  const wide = [1, tokens, heads * dim]
  const split = (name: string, perm: readonly number[]): WrittenNode[] => [
    { op: 'Reshape', inputs: [name, 'split'], outputs: [`${name}4`] },
    { op: 'Transpose', inputs: [`${name}4`], outputs: [`${name}h`], attributes: { perm: { ints: perm } } },
  ]
  return modelBytes({
    nodes: [
      ...split('q', [0, 2, 1, 3]),
      ...split('k', [0, 2, 3, 1]),
      ...split('v', [0, 2, 1, 3]),
      { op: 'MatMul', inputs: ['qh', 'kh'], outputs: ['dots'] },
      { op: 'Mul', inputs: ['dots', 'scale'], outputs: ['scores'] },
      { op: 'Softmax', inputs: ['scores'], outputs: ['weights'], attributes: { axis: -1 } },
      { op: 'MatMul', inputs: ['weights', 'vh'], outputs: ['context'] },
      {
        op: 'Transpose',
        inputs: ['context'],
        outputs: ['rows'],
        attributes: { perm: { ints: [0, 2, 1, 3] } },
      },
      { op: 'Reshape', inputs: ['rows', 'join'], outputs: ['y'] },
    ],
    constants: [
      {
        name: 'split',
        type: 7,
        dims: [4],
        raw: bytesOf(BigInt64Array.of(1n, BigInt(tokens), BigInt(heads), BigInt(dim))),
      },
      {
        name: 'join',
        type: 7,
        dims: [3],
        raw: bytesOf(BigInt64Array.of(1n, BigInt(tokens), BigInt(heads * dim))),
      },
      { name: 'scale', type: 1, dims: [], raw: bytesOf(Float32Array.of(dim ** -0.5)) },
    ],
    inputs: ['q', 'k', 'v'].map((input) => ({ name: input, type: 1, dims: wide })),
    outputs: [{ name: 'y', type: 1, dims: wide }],
  })
}

function bytesOf({ buffer }: Float32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer)
}
