// Scores models on tasks. Prints a line of JSON per model, of which lab/bench/papers/tables.ts makes a table.
//
//   npx node lab/bench/papers/main.ts MODEL[@WEIGHTS]... [--task hellaswag=hellaswag_val_full.txt]
//     [--task piqa=valid.jsonl,labels.lst] [--limit 100] [--seed 1] [--text wiki.test.raw] [--chunks 8]
//     [--context 2048] [--threads 1] [--done rows.jsonl] >> rows.jsonl
// `model.hbm@f32` gives the pack's values to f32 kernels, which don't round activations: this is the pseudo
// quantization of papers. --text adds the perplexity on windows of --context tokens, as in the GPTQ paper.
// Rows in --done are skipped.
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { EXACT_KV } from '../../../src/core/graph/ir.ts'
import { type TaskSpec, taskSpec } from '../../../src/tools/cli/eval/tasks.ts'
import { withModel } from '../../../src/tools/cli/models/model.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { jsonLines, parseModel } from './rows.ts'
import { openTasks, scoreTasks } from './score-tasks.ts'

const command = new Command('papers')
  .argument('<models...>', 'models, each with the precision of its weights after an @; default: auto')
  .option('--task <task=file>', 'as for halfbyte eval; repeatable', taskSpec)
  .option('--limit <n>', 'maximum items per task', whole(1), 100)
  .option('--seed <n>', 'of the draw of items', whole(0), 1)
  .option('--text <file>', 'UTF-8 text whose perplexity is added')
  .option('--chunks <n>', 'maximum number of its windows', whole(1), 8)
  .option('--context <n>', 'maximum tokens of an item, and tokens of a window', whole(4), 2048)
  .option('--threads <n>', 'threads', whole(1), 1)
  .option('--done <file>', 'earlier output, whose rows are skipped')
  .parse()
const {
  task = [],
  limit,
  seed,
  text,
  chunks,
  context,
  threads,
  done,
} = command.opts<{
  readonly task?: readonly TaskSpec[]
  readonly limit: number
  readonly seed: number
  readonly text?: string
  readonly chunks: number
  readonly context: number
  readonly threads: number
  readonly done?: string
}>()
const { signal } = new AbortController()
const tasks = await openTasks(task, limit)
if (text !== undefined) tasks.push(...(await openTasks([{ name: 'windows', paths: [text] }], chunks)))
const skipped = new Set(
  done === undefined || !existsSync(done)
    ? []
    : jsonLines(readFileSync(done, 'utf8')).map(({ model }) => model),
)

for (const { path, weights } of command.args.map(parseModel)) {
  const model = `${basename(path)}${weights === 'auto' ? '' : `, ${weights}`}`
  if (skipped.has(model)) continue
  const flags = { weights, build: 'auto', threads, context, kv: EXACT_KV } as const
  const row = await withModel(path, flags, signal, (built) =>
    scoreTasks(built, { model, tasks, seed, context, signal }),
  )
  process.stdout.write(`${JSON.stringify(row)}\n`)
}
