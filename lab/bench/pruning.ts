// Measures the cost of pruning: perplexity by method, pattern and sparsity as JSON, one line per run.
//
//   npx node lab/bench/pruning.ts MODEL CALIBRATION TEXT [--windows 24] [--chunks 24] [--context 256]
//     [--methods obs,sparsegpt-obs,sparsegpt,wanda,magnitude] [--runs 0.5,0.7,2:4,sv32@0.5] [--seeds 3]
//     [--weights f32] [--score w8,f32] [--damps 0.01] [--blocks 8] [--threads 1] [--done FILE]
//     [--task hellaswag=FILE] [--task piqa=FILE,LABELS] [--limit 100] [--item-seed 1] [--item-tokens 1024]
// A run is a sparsity without a pattern, N:M, or pattern@sparsity. The calibration text has JSON lines, or
// the pages of WikiText. Seed s uses every third of them, starting with number s. Runs in --done are
// skipped. `seconds` is the processor time of pruning; `windowLosses` are nats per token of each window,
// for paired differences. `--score w8` rounds pruned matrices to 8 bits for scoring, which is several
// times as fast as f32; other matrices then keep the file's encodings. Each of several precisions makes a
// line. --blocks prunes only the first blocks, which takes a share of the time. --task adds scores of
// `halfbyte eval`, for lab/bench/papers/tables.ts.
import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import { openModel } from '../../src/core/arch/open-model.ts'
import { weightOf } from '../../src/core/arch/tensors/names.ts'
import type { TensorInfo } from '../../src/core/formats/tensors.ts'
import { modelTokenizer } from '../../src/engine/load/model-text.ts'
import { type PreparedModel, prepareModel } from '../../src/engine/load/prepare.ts'
import { type TaskSpec, taskSpec } from '../../src/tools/cli/eval/tasks.ts'
import { openModelFiles } from '../../src/tools/cli/files.ts'
import { loadSolver, nodeHost, startSolver } from '../../src/tools/cli/node-host.ts'
import { whole } from '../../src/tools/cli/options.ts'
import { pagesOf } from '../../src/tools/evaluate/tasks/texts.ts'
import { calibrationWindows } from '../../src/tools/shrink/calibrate/calibration-windows.ts'
import {
  type PrunedReport,
  type PruneModelOptions,
  pruneModel,
} from '../../src/tools/shrink/calibrate/prune-model.ts'
import { DoneMatrices, matricesOf, memoryWork } from '../../src/tools/shrink/calibrate/work-files.ts'
import type { PruneMethod } from '../../src/tools/shrink/prune/prune-matrix.ts'
import { openTasks, scoreTasks } from './papers/score-tasks.ts'
import { lossOf, withReplaced } from './replaced-loss.ts'
import { pruningRun } from './sparse/pruning-run.ts'

const command = new Command('pruning')
  .argument('<model>', 'model')
  .argument('<calibration>', 'lines of JSON with texts, or pages of WikiText')
  .argument('<held>', 'UTF-8 text to score')
  .option('--windows <n>', 'windows of the calibration text', whole(1), 24)
  .option('--chunks <n>', 'maximum number of windows to score', whole(1), 24)
  .option('--context <n>', 'tokens of a window', whole(2), 256)
  .option('--methods <value>', 'methods, with commas', 'obs,sparsegpt-obs,sparsegpt,wanda,magnitude')
  .option('--runs <value>', 'sparsities or patterns, separated by commas', '0.5')
  .option('--seeds <n>', 'number of calibration texts', whole(1), 1)
  .option('--weights <value>', 'precision of the kept weights', 'f32')
  .option('--score <value>', 'precisions for scoring, with commas; default: that of --weights')
  .option('--damps <value>', 'dampings, with commas', '0.01')
  .option('--blocks <n>', 'blocks to prune, from the first; default: all', whole(1))
  .option('--threads <n>', 'threads', whole(1), 1)
  .option('--done <file>', 'earlier output, whose runs are skipped')
  .option('--task <task=file>', 'also scores this, as halfbyte eval does; repeatable', taskSpec)
  .option('--limit <n>', 'maximum items per task', whole(1), 100)
  .option('--item-seed <n>', 'of the draw of items', whole(0), 1)
  .option('--item-tokens <n>', 'maximum tokens of an item', whole(4), 1024)
  .parse()
const values = command.opts<{
  readonly windows: number
  readonly chunks: number
  readonly context: number
  readonly methods: string
  readonly runs: string
  readonly seeds: number
  readonly weights: string
  readonly score?: string
  readonly damps: string
  readonly blocks?: number
  readonly threads: number
  readonly done?: string
  readonly task?: readonly TaskSpec[]
  readonly limit: number
  readonly itemSeed: number
  readonly itemTokens: number
}>()
const positionals = command.args
const [model = '', calibration = '', held = ''] = positionals
const list = (text: string) => text.split(',')
const { blocks, context, threads } = values
const weights = values.weights as 'f32' | 'w8' | 'w4'
const scores = list(values.score ?? weights) as (typeof weights)[]
const format = ({ f32: 'f32', w8: 'w8_g32', w4: 'w4_g32' } as const)[weights]
const { signal } = new AbortController()
const host = nodeHost()
const solver = await loadSolver()

const files = await openModelFiles(model, { signal, onProgress: () => undefined })
const prepared = await prepareModel(await openModel(files.sources, signal), {
  weights,
  forPack: true,
  signal,
})
const tokenizer = modelTokenizer(prepared.file, prepared.plan.logits.width)
const content = readFileSync(calibration, 'utf8')
const texts = calibration.endsWith('.jsonl')
  ? content.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).text as string]))
  : pagesOf(content)
const textOf = (text: string) => ({ form: 'text', text: [text] }) as const
const windowsOf = (seed: number) =>
  calibrationWindows(texts.filter((_, at) => at % 3 === seed % 3).map(textOf), tokenizer, {
    windows: values.windows,
    length: context,
  })
const ids = tokenizer.encode(readFileSync(held, 'utf8'), { addSpecial: true })

const tasks = await openTasks(values.task ?? [], values.limit)
const tasksOf = (row: string) => ({
  model: row,
  tasks,
  seed: values.itemSeed,
  context: values.itemTokens,
  signal,
})

/** Ends a walk after the last block to prune. */
const PAST = new Error('past the last block')

const isWanted = (name: string) => Number(/\d+/.exec(name)) < (blocks ?? Number.POSITIVE_INFINITY)

interface Pruned {
  readonly tensors: ReadonlyMap<string, TensorInfo>
  readonly matrices: readonly PrunedReport[]
}

/** Prunes the blocks of --blocks. */
async function pruneBlocks(options: PruneModelOptions): Promise<Pruned> {
  if (blocks === undefined) return pruneModel(prepared, options)
  const onMatrix = ({ name }: PrunedReport) => {
    if (!isWanted(name)) throw PAST
  }
  await pruneModel(prepared, { ...options, onMatrix }).catch((error: unknown) => {
    if (error !== PAST) throw error
  })
  const names = matricesOf(prepared).filter(isWanted)
  const done = new DoneMatrices<PrunedReport>(options.work)
  const tensors = new Map<string, TensorInfo>()
  for (const name of names) {
    const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
    if (await done.has(name))
      tensors.set(name, await done.tensor(name, format === 'f32' ? 'rows' : format, n, k))
  }
  return { tensors, matrices: done.reports(names) }
}

const nameOf = ({ method, run }: Run, precision: string): string =>
  [method === 'none' ? 'dense' : method, ...(run === undefined ? [] : [run]), precision].join(', ')

/** Prints a line for each precision. `own`: the run's weights, among those of the model. */
async function score(own: PreparedModel['weights'], run: Run, facts: object): Promise<void> {
  for (const precision of scores) {
    if (isDone.has(keyOf({ ...run, score: precision }))) continue
    const shared = { weights: precision, threads, host, signal } as const
    const contextLength = tasks.length > 0 ? Math.max(context, values.itemTokens) : context
    const found = await withReplaced(prepared, own, { ...shared, contextLength }, async (built) => ({
      ...(await lossOf(built, ids, { context, chunks: values.chunks, signal })),
      ...(tasks.length > 0 && (await scoreTasks(built, tasksOf(nameOf(run, precision))))),
    }))
    print({ ...run, score: precision, ...facts, ...found })
  }
}

const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
const isDone = doneRuns(values.done)

/** Keys of the runs in earlier output. */
function doneRuns(path: string | undefined): ReadonlySet<string> {
  if (path === undefined || !existsSync(path)) return new Set()
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
  return new Set(lines.map((line) => keyOf(JSON.parse(line))))
}

interface Run {
  readonly method: string
  readonly run?: string
  readonly seed?: number
  readonly damp?: number
  readonly blocks?: number | undefined
}

function keyOf(line: Run & { readonly score: string }): string {
  const { method, run, seed, damp, blocks: pruned, score: precision } = line
  return [method, run, seed, damp, pruned, precision].join()
}

await score(prepared.weights, { method: 'none' }, {})
const seeds = Array.from({ length: values.seeds }, (_, seed) => windowsOf(seed))
for (const run of list(values.runs)) {
  for (const [seed, windows] of seeds.entries()) {
    const { pattern, sparsity } = pruningRun(run)
    for (const method of list(values.methods) as PruneMethod[]) {
      // Magnitude uses no text, and neither it nor Wanda uses damping.
      if (method === 'magnitude' && seed > 0) continue
      for (const damp of list(values.damps).map(Number)) {
        const own = { method, run, seed, damp, blocks }
        if (scores.every((each) => isDone.has(keyOf({ ...own, score: each })))) continue
        const before = process.cpuUsage()
        const { tensors, matrices } = await pruneBlocks({
          method,
          pattern,
          sparsity,
          damp,
          sweeps: 8,
          format,
          solver,
          startSolver,
          host,
          signal,
          threads,
          windows: method === 'magnitude' && format === 'f32' ? [] : await windows,
          work: memoryWork(),
        })
        const { user, system } = process.cpuUsage(before)
        const seconds = Math.round((user + system) / 1e6)
        const [loss, energy] = (['loss', 'energy'] as const).map((what) =>
          matrices.reduce((sum, each) => sum + (each[what] ?? 0), 0),
        ) as [number, number]
        const replaced = new Map([...prepared.weights, ...tensors])
        await score(replaced, own, { lost: loss / energy, seconds })
      }
    }
  }
}
await files.close()
