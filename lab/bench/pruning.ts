// Measures the cost of pruning: perplexity by method, pattern and sparsity as JSON, one line per run.
//
//   npx node lab/bench/pruning.ts MODEL CALIBRATION.jsonl TEXT [--windows 24] [--chunks 24] [--context 256]
//     [--methods obs,sparsegpt-obs,sparsegpt,wanda,magnitude] [--runs 0.5,0.7,2:4,sv32@0.5] [--seeds 3]
//     [--weights f32] [--score w8] [--damps 0.01] [--threads 1] [--done FILE]
// A run is a sparsity without a pattern, N:M, or pattern@sparsity. Seed s calibrates on every third line of
// the text, starting with line s. Runs in --done are skipped. `windowLosses` are nats per token of each
// window, for paired differences. `--score w8` rounds pruned matrices to 8 bits for scoring, which is several
// times as fast as f32; other matrices then keep the file's encodings.
import { existsSync, readFileSync } from 'node:fs'
import { Command } from 'commander'
import { openModel } from '../../src/core/arch/open-model.ts'
import { modelTokenizer } from '../../src/engine/load/model-text.ts'
import { type PreparedModel, prepareModel } from '../../src/engine/load/prepare.ts'
import { openModelFiles } from '../../src/tools/cli/files.ts'
import { loadSolver, nodeHost, startSolver } from '../../src/tools/cli/node-host.ts'
import { whole } from '../../src/tools/cli/options.ts'
import { calibrationWindows } from '../../src/tools/shrink/calibrate/calibration-windows.ts'
import { pruneModel } from '../../src/tools/shrink/calibrate/prune-model.ts'
import { memoryWork } from '../../src/tools/shrink/calibrate/work-files.ts'
import type { PruneMethod } from '../../src/tools/shrink/prune/prune-matrix.ts'
import { replacedLoss } from './replaced-loss.ts'
import { pruningRun } from './sparse/pruning-run.ts'

const command = new Command('pruning')
  .argument('<model>', 'model')
  .argument('<calibration>', 'lines of JSON with texts')
  .argument('<held>', 'UTF-8 text to score')
  .option('--windows <n>', 'windows of the calibration text', whole(1), 24)
  .option('--chunks <n>', 'maximum number of windows to score', whole(1), 24)
  .option('--context <n>', 'tokens of a window', whole(2), 256)
  .option('--methods <value>', 'methods, with commas', 'obs,sparsegpt-obs,sparsegpt,wanda,magnitude')
  .option('--runs <value>', 'sparsities or patterns, separated by commas', '0.5')
  .option('--seeds <n>', 'number of calibration texts', whole(1), 1)
  .option('--weights <value>', 'precision of the kept weights', 'f32')
  .option('--score <value>', 'precision for scoring; default: that of --weights')
  .option('--damps <value>', 'dampings, with commas', '0.01')
  .option('--threads <n>', 'threads', whole(1), 1)
  .option('--done <file>', 'earlier output, whose runs are skipped')
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
  readonly threads: number
  readonly done?: string
}>()
const positionals = command.args
const [model = '', calibration = '', held = ''] = positionals
const list = (text: string) => text.split(',')
const { context, threads } = values
const weights = values.weights as 'f32' | 'w8' | 'w4'
const scored = (values.score ?? weights) as typeof weights
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
const texts = readFileSync(calibration, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
const textOf = (line: string) => ({ form: 'text', text: [JSON.parse(line).text as string] }) as const
const windowsOf = (seed: number) =>
  calibrationWindows(
    texts.filter((_, at) => at % 3 === seed % 3).map((line) => textOf(line)),
    tokenizer,
    { windows: values.windows, length: context },
  )
const ids = tokenizer.encode(readFileSync(held, 'utf8'), { addSpecial: true })

/** The rows' own weights, among those of the model. */
const score = ({ weights: own }: Pick<PreparedModel, 'weights'>) =>
  replacedLoss(prepared, own, ids, { weights: scored, context, chunks: values.chunks, threads, host, signal })

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

function keyOf(run: { method: string; run?: string; seed?: number; damp?: number }): string {
  return [run.method, run.run, run.seed, run.damp].join()
}

if (!isDone.has(keyOf({ method: 'none' }))) {
  print({ method: 'none', weights: scored, ...(await score(prepared)) })
}
const seeds = Array.from({ length: values.seeds }, (_, seed) => windowsOf(seed))
for (const run of list(values.runs)) {
  for (const [seed, windows] of seeds.entries()) {
    const { pattern, sparsity } = pruningRun(run)
    for (const method of list(values.methods) as PruneMethod[]) {
      // Magnitude uses no text, and neither it nor Wanda uses damping.
      if (method === 'magnitude' && seed > 0) continue
      for (const damp of list(values.damps).map(Number)) {
        if (isDone.has(keyOf({ method, run, seed, damp }))) continue
        const started = performance.now()
        const { tensors, matrices } = await pruneModel(prepared, {
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
        const seconds = (performance.now() - started) / 1000
        const own = { ...prepared, weights: new Map([...prepared.weights, ...tensors]) }
        const { perplexity: value, windowLosses } = await score(own)
        const [loss, energy] = (['loss', 'energy'] as const).map((what) =>
          matrices.reduce((sum, each) => sum + (each[what] ?? 0), 0),
        ) as [number, number]
        print({
          method,
          run,
          seed,
          damp,
          perplexity: value,
          lost: loss / energy,
          seconds: Math.round(seconds),
          windowLosses,
        })
      }
    }
  }
}
await files.close()
