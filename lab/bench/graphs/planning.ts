// Measures how long the graph compiler takes before a first run and before a run of a different size, stage
// by stage.
//
//   node lab/bench/graphs/planning.ts [FILE.onnx ...] [--rounds 5] [--layers 24]
//
// Default: an encoder of BERT's form with random weights. Each round is its own process, because a page
// plans a graph once, with code that no engine has optimised yet. A round opens the graph and plans 64, 65
// and then 66 tokens; files without open axes have one size. Figures are medians of processor time; only
// WebAssembly.compile, which has its own threads, is timed by the wall clock.
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import { boundGraph } from '../../../src/network/compile/bind.ts'
import { emitKernel, PARAMETERS } from '../../../src/network/compile/emit/emit.ts'
import { growGroups } from '../../../src/network/compile/fuse/groups.ts'
import { lower } from '../../../src/network/compile/lower/lower.ts'
import { programOf } from '../../../src/network/compile/program/program.ts'
import { emitted } from '../../../src/network/compile/program/step.ts'
import { NOTHING } from '../../../src/network/compile/stages.ts'
import { moduleBytes } from '../../../src/network/compile/wasm/assembler.ts'
import { ProgramBudget } from '../../../src/network/onnx/graph-budget.ts'
import type { Graph } from '../../../src/network/onnx/ir/graph.ts'
import { runPasses } from '../../../src/network/onnx/passes/pass.ts'
import { COMPILER_PASSES } from '../../../src/network/onnx/passes.ts'
import { readModel } from '../../../src/network/onnx/read-model.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { spread } from '../spread.ts'
import { bertBytes, MINILM } from './bert.ts'
import { openAxes } from './inputs.ts'

const TOKENS = [64, 65, 66]
const command = new Command('planning')
  .argument('[files...]', 'ONNX files; default: an encoder with random weights')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 5)
  .option('--layers <n>', 'layers of the encoder', whole(1), 24)
  .option('--once', 'one round, as JSON', false)
  .parse()
const values = command.opts<{
  readonly rounds: number
  readonly layers: number
  readonly once: boolean
}>()
const positionals = command.args
const NARROW = { ...MINILM, layers: values.layers, hidden: 96, intermediate: 384 }

if (values.once) console.log(JSON.stringify(await round(positionals[0])))
else {
  console.log('| graph | plan | passes | bind | lower | fuse | kernels, places | emit | compile | all, ms |')
  console.log('|---|---|--:|--:|--:|--:|--:|--:|--:|--:|')
  for (const file of positionals.length === 0 ? [undefined] : positionals) rows(file)
}

/** The rows of a file, from rounds in separate processes. */
function rows(file: string | undefined): void {
  const command = [
    import.meta.filename,
    '--once',
    '--layers',
    `${values.layers}`,
    ...(file === undefined ? [] : [file]),
  ]
  const rounds = Array.from(
    { length: values.rounds },
    () => JSON.parse(execFileSync(process.execPath, command, { encoding: 'utf8' })) as number[][],
  )
  const plans = rounds[0]!.length
  for (let index = 0; index < plans; index++) {
    const own = rounds.map((round) => round[index]!)
    const columns = own[0]!.map((_, at) => spread(own.map((times) => times[at]!)).median)
    const all = spread(own.map((times) => times.reduce((total, ms) => total + ms, 0))).median
    const cells = [
      file === undefined ? `BERT, ${values.layers} layers` : basename(file),
      plans === 1 ? 'the only one' : `${['first', 'second', 'third'][index]}, ${TOKENS[index]} tokens`,
      ...[...columns, all].map((ms) => ms.toFixed(1)),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

/** Times of each plan by stage. */
async function round(file: string | undefined): Promise<number[][]> {
  const bytes = file === undefined ? bertBytes(NARROW) : new Uint8Array(await readFile(file))
  const { graph } = await readModel(bufferSource('model.onnx', bytes))
  const start = process.threadCpuUsage().user
  const open = runPasses(graph, COMPILER_PASSES, { budget: new ProgramBudget() }).graph
  const passesMs = (process.threadCpuUsage().user - start) / 1000
  const taken = open.inputs.map(({ name, type }) => ({ name, dtype: type!.dtype, dims: type!.dims! }))
  const axes = openAxes(taken)
  const known = new Set<string>()
  const times: number[][] = []
  for (const [index, tokens] of (axes.length === 0 ? [0] : TOKENS).entries())
    times.push([index === 0 ? passesMs : 0, ...(await planned(open, [1, tokens], axes, known))])
  return times
}

/** `known`: keys of kernels emitted for earlier plans. */
async function planned(
  graph: Graph,
  sizes: readonly number[],
  axes: readonly string[],
  known: Set<string>,
): Promise<number[]> {
  const times: number[] = []
  const timed = <Made>(work: () => Made): Made => {
    const start = process.threadCpuUsage().user
    const made = work()
    times.push((process.threadCpuUsage().user - start) / 1000)
    return made
  }
  const shapes = new Map(
    graph.inputs.map(({ name, type }) => [
      name,
      type!.dims!.map((size) => (typeof size === 'number' ? size : sizes[axes.indexOf(size)]!)),
    ]),
  )
  const budget = new ProgramBudget()
  const options = { weights: 'f32', leftOut: NOTHING, budget } as const
  const bound = timed(() => boundGraph(graph, shapes, COMPILER_PASSES, budget))
  const lowered = timed(() => lower(bound, options))
  timed(() => growGroups(lowered, () => true, budget))
  const fuseMs = times.at(-1)!
  const program = timed(() => programOf(lowered, options))
  // This also builds the groups.
  times[3] = Math.max(0, times[3]! - fuseMs)
  const missing = new Map(
    emitted(program.steps)
      .filter(({ key }) => !known.has(key))
      .map(({ key, call }) => [key, call.kernel]),
  )
  const bytes = timed(() =>
    moduleBytes(
      [...missing.values()].map((kernel) => emitKernel(kernel, { fuse: true, dot: 'pairs' })),
      { parameters: PARAMETERS },
    ),
  )
  for (const key of missing.keys()) known.add(key)
  const start = performance.now()
  if (missing.size > 0) await WebAssembly.compile(bytes)
  times.push(performance.now() - start)
  return times
}
