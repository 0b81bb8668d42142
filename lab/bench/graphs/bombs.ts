// Runs very expensive graphs, each in its own process. In: the graphs of
// src/network/compile/testing/bombs.ts. Out: a table of the outcomes, with processor time and memory.
//
//   node lab/bench/graphs/bombs.ts [NAME...] [--seconds 60]
// A process that takes more processor time than --seconds is terminated (Linux only).
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import { BOMBS, type BombName } from '../../../src/network/compile/testing/bombs.ts'
import { countOf, tensorOf } from '../../../src/network/onnx/ir/tensor.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { writtenBytes } from '../../../test/fuzz/networks/changed-graph.ts'

const SIZES: readonly (readonly [BombName, number])[] = [
  ['resized places', 1e7],
  ['resized places', 1e8],
  ['resized places', 4e9],
  ['nearest places', 1.2e9],
  ['resized empty positions', 2e8],
  ['taps of one position', 100_000],
  ['a mean of a long window', 4096],
  ['a mean of a long window', 65_536],
  ['a mean of a long window', 1_000_000],
  ['a one-hot row of many', 2 ** 31],
  ['places apart', 4096],
  ['a value that doubles', 24],
  ['a value that is added to itself', 2000],
  ['a chain', 50_000],
  ['a sum of many inputs', 20_000],
  ['many parts', 100_000],
  ['nested loops', 60],
]

const command = new Command('bombs')
  .argument('[names...]', 'graphs; default: all')
  .option('--seconds <n>', 'maximum processor time per graph, in seconds', whole(1), 60)
  .option('--child <n>', 'index of the graph that this process opens', whole(0))
  .parse()
const values = command.opts<{
  readonly seconds: number
  readonly child?: number
}>()
const positionals = command.args

/** Memory of the whole process, in MB. */
const peakMemory = (): number =>
  Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]) / 1024

async function outcomeOf(name: BombName, n: number): Promise<void> {
  const bytes = writtenBytes(BOMBS[name](n))
  const start = process.cpuUsage()
  const before = peakMemory()
  let said: string
  try {
    const { graph } = await readModel(bufferSource('model.onnx', bytes))
    const dims = graph.inputs[0]!.type!.dims as number[]
    const x = tensorOf('f32', dims, new Float32Array(countOf(dims)).fill(1))
    const made = await new CompiledGraph(graph, { fuse: true }).run(new Map([['x', x]]))
    said = `computed, [${made.get('y')!.dims}]`
  } catch (error) {
    if (!isHalfbyteError(error)) said = `raw ${error}`
    else said = `\`${error.code}\`${'limit' in error.detail ? `, ${error.detail['limit']}` : ''}`
  }
  const { user, system } = process.cpuUsage(start)
  const cells = [bytes.length, said, ((user + system) / 1e6).toFixed(1), (peakMemory() - before).toFixed(0)]
  console.log(`| ${name} (${n}) | ${cells.join(' | ')} |`)
}

if (values.child !== undefined) {
  const [name, n] = SIZES[values.child]!
  await outcomeOf(name, n)
  process.exit()
}
console.log('| graph | bytes of the file | outcome | s | MB |')
console.log('|---|--:|---|--:|--:|')
for (const [index, [name, n]] of SIZES.entries()) {
  if (positionals.length > 0 && !positionals.includes(name)) continue
  const limited = [
    '-c',
    'ulimit -t "$0"; exec "$@"',
    `${values.seconds}`,
    process.execPath,
    import.meta.filename,
  ]
  const { stdout } = spawnSync('bash', [...limited, '--child', `${index}`], { encoding: 'utf8' })
  console.log(stdout.trim() || `| ${name} (${n}) | | ended | ${values.seconds} | |`)
}
