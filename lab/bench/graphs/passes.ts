// Measures the gain of each stage of the graph compiler: an encoder compiled with all stages, without each of
// them and of their parts, and with none.
//
//   node lab/bench/graphs/passes.ts [FILE.onnx ...] [--rounds 7] [--packaged]
// Times are processor times of one thread. Files with open axes are taken as text models, with one text of 64
// tokens; others have one size. Ids are within the graph's tables. `--packaged`: graphs of `packaged.py`, in
// the sizes of packaged-sizes.json. Default: MiniLM's shape with random weights.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { CompiledGraph } from '../../../src/network/compile/compiled-graph.ts'
import { reportOf } from '../../../src/network/compile/program/report.ts'
import { PARTS, type Part, STAGES, type Stage } from '../../../src/network/compile/stages.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { spread, spreadText } from '../spread.ts'
import { bertBytes, MINILM } from './bert.ts'
import { drawnInputs, openAxes, vocabularyOf } from './inputs.ts'
import { packagedInputs, packagedName } from './packaged.ts'

const TOKENS = 64
/** Ids stay below this even if a table has more rows, or is not a constant. */
const MAX_IDS = 20_000
/** The shortest sample, and how many runs it may have. */
const SAMPLE_MS = 40
const MAX_COUNT = 256
const command = new Command('passes')
  .argument('[files...]', 'ONNX files; default: an encoder with random weights')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 7)
  .option('--packaged', 'takes inputs of packaged graphs')
  .parse()
const values = command.opts<{
  readonly rounds: number
  readonly packaged?: boolean
}>()
const positionals = command.args

if (positionals.length === 0) await table('MiniLM, random f32', bertBytes(MINILM))
for (const file of positionals) await table(file, new Uint8Array(await readFile(file)))

async function table(name: string, bytes: Uint8Array): Promise<void> {
  const { graph } = await readModel(bufferSource(name, bytes))
  const taken = graph.inputs.map(({ name: input, type }) => ({
    name: input,
    dtype: type!.dtype,
    dims: type!.dims!,
  }))
  const sizes = openAxes(taken).length === 0 ? [] : [1, TOKENS]
  const inputs = values.packaged
    ? packagedInputs(name, taken)
    : drawnInputs(taken, sizes, vocabularyOf(graph, MAX_IDS))
  const feeds = new Map(Object.entries(inputs))
  const shapes = new Map([...feeds].map(([key, { dims }]) => [key, dims]))
  const ways: readonly (readonly [string, readonly (Stage | Part)[]])[] = [
    ['all', []],
    ...[...STAGES, ...PARTS].map((stage) => [`without ${stage}`, [stage]] as const),
    ['none', STAGES],
  ]
  const runs = []
  for (const [way, leftOut] of ways) {
    const compiled = new CompiledGraph(graph, { fuse: true, leftOut: new Set(leftOut) })
    const start = process.threadCpuUsage().user
    const program = await compiled.prepare(shapes)
    const { arenaBytes, steps } = program
    const report = reportOf(program)
    const planMs = (process.threadCpuUsage().user - start) / 1000
    runs.push({ way, compiled, report, arenaBytes, steps: steps.length, planMs, times: [] as number[] })
  }
  const [all] = runs
  /** Processor ms of `count` runs, which are one sample: the clock of a thread may tick every 4 ms. */
  const sample = async (compiled: CompiledGraph, count: number): Promise<number> => {
    const start = process.threadCpuUsage().user
    for (let each = 0; each < count; each++) await compiled.run(feeds)
    return (process.threadCpuUsage().user - start) / 1000
  }
  // The first runs compile the functions.
  for (const { compiled } of runs) await sample(compiled, 1)
  let count = 1
  while ((await sample(all!.compiled, count)) < SAMPLE_MS && count < MAX_COUNT) count *= 2
  for (let round = 0; round < values.rounds; round++)
    for (const { compiled, times } of runs) times.push((await sample(compiled, count)) / count)
  const base = spread(all!.times).median
  console.log(
    `\n${values.packaged ? packagedName(name) : basename(name)}, ${Object.values(inputs)[0]!.dims.join(' x ')}\n`,
  )
  console.log(
    '| stages | ms | times all | steps | copied MB | read and written MB | memory MB | planning ms |',
  )
  console.log('|---|--:|--:|--:|--:|--:|--:|--:|')
  for (const { way, report, arenaBytes, steps, planMs, times } of runs) {
    const found = spread(times)
    const cells = [
      way,
      spreadText(found),
      (found.median / base).toFixed(2),
      steps,
      megabytes(report.copiedBytes),
      megabytes(report.movedBytes),
      megabytes(arenaBytes),
      planMs.toFixed(0),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(2)
}
