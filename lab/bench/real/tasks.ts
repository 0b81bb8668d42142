// `npm run bench:tasks` scores datasets in llama.cpp, with the items, ids and rules of `halfbyte eval`. Its
// JSON is for `halfbyte eval --beside`, which pairs the items.
import { rmSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Command } from 'commander'
import type { Sequence } from '../../../src/core/generate/schedule/sequence.ts'
import type { ForwardRequest } from '../../../src/core/generate/schedule/work.ts'
import { modelTokenizer } from '../../../src/engine/load/model-text.ts'
import type { EvaluatedModel } from '../../../src/engine/score/score.ts'
import { itemTask, openTask, type TaskSpec, taskSpec } from '../../../src/tools/cli/eval/tasks.ts'
import { withPrepared } from '../../../src/tools/cli/models/model.ts'
import { markdownTable } from '../../../src/tools/evaluate/markdown.ts'
import { type ModelReport, type TaskReport, taskReport } from '../../../src/tools/evaluate/report.ts'
import { runTask } from '../../../src/tools/evaluate/task.ts'
import { modelPathOf } from './model-path.ts'
import { openReference } from './reference.ts'

interface Options {
  readonly model: string
  readonly python: string
  readonly output: string
  readonly limit?: number
  readonly seed?: number
  readonly context: number
  readonly threads: number
}

const command = new Command('bench:tasks')
  .description('Scores of llama.cpp on the items of halfbyte eval, by the same rules.')
  .argument('<task=file...>', 'as for halfbyte eval', taskSpec)
  .option('--model <name or file>', 'a name of "npm run setup", or a GGUF file', 'smollm2')
  .requiredOption('--python <program>', 'a Python with llama-cpp-python')
  .requiredOption('--output <file>', 'JSON for halfbyte eval --beside')
  .option('--limit <n>', 'maximum items per task', Number)
  .option('--seed <n>', 'as for halfbyte eval', Number)
  .option('--context <tokens>', 'maximum tokens of an input', Number, 2048)
  .option('--threads <n>', 'threads', Number, 1)
  .parse()
const options = command.opts<Options>()
const [specs] = command.processedArgs as [readonly TaskSpec[]]
const { signal } = new AbortController()

/** Tokens to run. llama.cpp processes all of them each time, but does not score those before `#from`. */
class LlamaSequence {
  #tokens: readonly number[] = []
  readonly #from: number

  constructor(from = 0) {
    this.#from = from
  }

  setTokens(ids: readonly number[]): void {
    this.#tokens = ids
  }

  fork(): LlamaSequence {
    return new LlamaSequence(this.#tokens.length)
  }

  release(): void {}

  async forward({ logits, onLogits }: Pick<ForwardRequest, 'logits' | 'onLogits'>): Promise<void> {
    const tokens = this.#tokens
    const from = logits === 'all' ? this.#from : tokens.length - 1
    await reference.ask({ type: 'rows', tokens, from, path: rowsPath })
    const { buffer, byteOffset, byteLength } = await readFile(rowsPath)
    const rows = new Float32Array(buffer, byteOffset, byteLength / 4)
    const width = rows.length / (tokens.length - from)
    for (let at = from; at < tokens.length; at++)
      onLogits(at, rows.subarray((at - from) * width, (at - from + 1) * width))
  }
}

const modelPath = modelPathOf(options.model)
const folder = await mkdtemp(join(tmpdir(), 'halfbyte-rows-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
const rowsPath = join(folder, 'rows.f32')
const { python, threads, context } = options
const reference = await openReference(python, { modelPath, threads, context })
const tasks: TaskReport[] = []
await withPrepared(modelPath, { weights: 'auto' }, signal, async ({ file, plan }) => {
  const model: EvaluatedModel = {
    tokenizer: modelTokenizer(file, plan.logits.width),
    scheduler: {
      forward: ({ sequence, ...request }) => (sequence as unknown as LlamaSequence).forward(request),
    },
    newSequence: () => new LlamaSequence() as unknown as Sequence,
    maxTokens: context,
    addBos: true,
  }
  for (const spec of specs) {
    const opened = await openTask(spec)
    const task = itemTask(opened, options.seed)
    if (task === undefined) throw new Error(`${spec.name} has no items in memory`)
    const started = performance.now()
    const results = await runTask(model, task, {
      signal,
      limit: options.limit,
      // There is only one sequence.
      batch: 1,
      onProgress: (done, total) => process.stderr.write(`\r${task.name}: ${done} of ${total}`),
    })
    tasks.push(taskReport(task, results, { ms: performance.now() - started, data: opened.data }))
  }
})
const report: ModelReport = {
  model: `llama.cpp, ${basename(modelPath)}`,
  settings: { maxTokens: context, bos: true, seed: options.seed ?? 'none' },
  tasks,
}
await writeFile(options.output, `${JSON.stringify(report)}\n`)
process.stdout.write(`\n${markdownTable([report])}`)
reference.close()
