// halfbyte eval. In: a model, data sets. Out: perplexities and accuracies with their standard errors, as a
// Markdown table, JSON and an SVG plot.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { isObject } from '../../base/values.ts'
import type { BuiltModel } from '../../engine/load/build-model.ts'
import { svgPlot } from '../../evaluate/plot.ts'
import type { ReplyTask } from '../../evaluate/replies/reply-task.ts'
import { type ModelReport, markdownTable, type TaskReport } from '../../evaluate/report.ts'
import { DEFAULT_BATCH, runTask, type Task } from '../../evaluate/task.ts'
import { memoryWork, readWork, type WorkFiles } from '../../shrink/calibrate/work-files.ts'
import { engineOver } from '../engine.ts'
import {
  makeReplyTask,
  makeTask,
  openTask,
  replyModel,
  TASK_NAMES,
  type TaskModel,
  type TaskSpec,
  taskSpec,
} from '../evaluation-tasks.ts'
import { withModel } from '../model.ts'
import { type EngineFlags, MODEL, whole, withEngineOptions } from '../options.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { writeOutput } from '../terminal/output.ts'
import { clearProgress, overwrite } from '../terminal/progress.ts'
import { visible } from '../terminal/visible.ts'
import { readText } from '../text-file.ts'
import { hashOf, hashWeights, jobKey } from '../write/job-key.ts'
import { openWork, type Work } from '../write/work-folder.ts'

interface EvalFlags extends EngineFlags {
  readonly limit?: number
  readonly seed?: number
  readonly maxTokens?: number
  readonly shots: number
  readonly batch: number
  readonly bos?: true
  readonly name?: string
  readonly output?: string
  readonly resume?: true
  readonly samples?: string
  readonly markdown?: string
  readonly plot?: string
  readonly beside?: readonly string[]
}

export function evalCommand(): Command {
  const command = new Command('eval')
    .description(
      'Evaluate a model on data sets from files, by the published definitions: perplexities, LAMBADA, multiple choice, GSM8K, IFEval, BFCL.',
    )
    .argument('<model>', MODEL)
    .argument('<task=file...>', `what to evaluate, and its data: ${TASK_NAMES.join(', ')}`, taskSpec)
    .option('--limit <n>', 'most items of each task; default: all', whole(1))
    .option(
      '--seed <n>',
      'gsm8k, ifeval, bfcl: draw the order of the items; default: as in the file',
      whole(0),
    )
    .option(
      '--max-tokens <n>',
      'gsm8k, ifeval, bfcl: most tokens of a reply; default: 1280 for ifeval, else 256',
      whole(1),
    )
    .option('--shots <n>', 'gsm8k: worked examples before each question', whole(0), 0)
    .option(
      '--context <tokens>',
      "tokens read at once, and of a window; default: the model's limit, 512 for second_halves, 2048 for windows",
      whole(4),
    )
    .option('--batch <n>', 'items that are scored at the same time', whole(1), DEFAULT_BATCH)
    .option('--bos', 'put BOS before the context of each request, where the model has one')
    .option('--name <name>', 'what the model is called in table and plot; default: its file')
    .option('--output <file>', 'write JSON; until then <file>.work holds what is done')
    .option('--resume', 'go on with an unfinished run')
    .option('--samples <file>', 'write the numbers or the reply of each item as JSON lines')
    .option('--markdown <file>', 'write the table; default: stdout')
    .option('--plot <file>', 'write an SVG plot')
    .option('--beside <file...>', 'JSON of other models, shown in the same table and plot')
  return withEngineOptions(command).action(evaluate)
}

async function evaluate(model: string, specs: readonly TaskSpec[], flags: EvalFlags): Promise<void> {
  if (flags.resume === true && flags.output === undefined) {
    throw new HalfbyteError(
      'unsupported',
      'what is done is kept beside the output; give --output FILE to resume',
    )
  }
  const others = await Promise.all((flags.beside ?? []).map(readReport))
  const opened = await Promise.all(specs.map(openTask))
  const path = flags.output && `${flags.output}.work`
  await interruptible(async (signal) => {
    const samples: string[] = []
    let kept: Work | undefined
    const report = await withModel(model, flags, signal, async (built, prepared) => {
      const { tokenizer } = built
      const { file, config, contextLength, weights } = prepared
      const maxTokens = flags.context ?? Math.min(contextLength, config.contextLength)
      const evaluated: TaskModel = {
        ...{ built, tokenizer, scheduler: built.scheduler, newSequence: () => built.newSequence() },
        ...{ maxTokens, addBos: flags.bos === true, context: flags.context },
      }
      const settings = settingsOf(flags, maxTokens)
      if (path !== undefined) {
        const key = jobKey({
          settings: { ...settings, limit: flags.limit ?? 'all' },
          configuration: hashOf([await built.fingerprint(), file.tokenizer, file.generationConfig]),
          template: hashOf(flags.chatTemplate ? await readText(flags.chatTemplate) : 'own'),
          tasks: opened.map(({ spec, data }) => [spec.name, data]),
          weights: await hashWeights(weights, signal),
        })
        kept = await openWork(path, key, flags.resume === true)
      }
      const work = kept ?? memoryWork()
      const tasks: TaskReport[] = []
      for (const [index, each] of opened.entries()) {
        const place = { work, file: `${index}.json`, signal, flags }
        const replies = makeReplyTask(each, flags)
        const { told, results } =
          replies === undefined
            ? await run(await makeTask(each, evaluated, flags.limit), evaluated, each.data, place)
            : await runReplies(replies, built, each.data, place)
        tasks.push(told)
        for (const [item, result] of results.entries())
          samples.push(`${JSON.stringify({ task: told.task, item, result })}\n`)
      }
      return { model: flags.name ?? basename(model), settings, tasks } satisfies ModelReport
    }).finally(clearProgress)
    const reports = [...others, report]
    await writeText(flags.samples, samples.join(''), signal)
    await writeText(flags.plot, flags.plot && svgPlot(reports), signal)
    await writeText(flags.output, `${JSON.stringify(report)}\n`, signal)
    if (flags.markdown === undefined) process.stdout.write(visible(markdownTable(reports)))
    else await writeText(flags.markdown, markdownTable(reports), signal)
    await kept?.removeAll()
  })
}

interface Place {
  readonly work: WorkFiles
  /** The work file of the task's results. */
  readonly file: string
  readonly signal: AbortSignal
  readonly flags: EvalFlags
}

async function runReplies(task: ReplyTask, built: BuiltModel, data: TaskReport['data'], place: Place) {
  await using engine = await engineOver(built)
  return await run(task, replyModel(engine), data, place)
}

async function run<Model, Result>(
  task: Task<Model, Result>,
  model: Model,
  data: TaskReport['data'],
  { work, file, signal, flags: { limit, batch } }: Place,
): Promise<{ told: TaskReport; results: readonly Result[] }> {
  const started = performance.now()
  const found = await readWork(work, file)
  const results = await runTask(model, task, {
    ...{ signal, limit, batch },
    known: found && (parseJson(new TextDecoder().decode(found)) as Result[]),
    keep: (all) => work.write(file, [new TextEncoder().encode(JSON.stringify(all))]),
    onProgress: (done, total) => overwrite(`${task.name}: ${done} of ${total} ${task.unit}`),
  })
  const seconds = Math.round((performance.now() - started) / 100) / 10
  const { name, count, unit, chance } = task
  const notes = task.notes?.(results) ?? []
  const told: TaskReport = {
    ...{ task: name, metrics: task.metrics(results), items: results.length, of: count, unit },
    ...(chance !== undefined && { chance }),
    ...(notes.length > 0 && { notes }),
    ...{ seconds, data },
  }
  return { told, results }
}

const settingsOf = (flags: EvalFlags, maxTokens: number): ModelReport['settings'] => ({
  ...{ maxTokens, context: flags.context ?? 'default', bos: flags.bos === true },
  ...{ seed: flags.seed ?? 'none', replyTokens: flags.maxTokens ?? 'default', shots: flags.shots },
  ...{ weights: flags.weights, keys: flags.kv.k, values: flags.kv.v },
})

async function writeText(
  path: string | undefined,
  text: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (path !== undefined && text !== undefined)
    await writeOutput(path, [new TextEncoder().encode(text)], signal)
}

/** Throws `format` for a file that `--output` did not write. */
async function readReport(path: string): Promise<ModelReport> {
  let value: unknown
  try {
    value = parseJson(await readFile(path, 'utf8'))
  } catch {
    value = undefined
  }
  if (isObject(value) && typeof value['model'] === 'string' && Array.isArray(value['tasks']))
    return value as unknown as ModelReport
  throw new HalfbyteError('format', `${path} is not a result of halfbyte eval; give what --output wrote`, {
    path,
  })
}
