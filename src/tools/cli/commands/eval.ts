// `halfbyte eval`: scores a model on data sets, with standard errors, as a Markdown table, JSON and an SVG
// plot.
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { parseJson } from '../../../core/base/json.ts'
import { isObject } from '../../../core/base/values.ts'
import { SAMPLER_DEFAULTS } from '../../../core/generate/sampler/sampler-options.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import type { GenerateOptions } from '../../../engine/api/types.ts'
import type { BuiltModel } from '../../../engine/load/build-model.ts'
import { markdownTable } from '../../evaluate/markdown.ts'
import { svgPlot } from '../../evaluate/plot.ts'
import type { Question, ReplyModel, ReplyTask } from '../../evaluate/replies/reply-task.ts'
import { type ModelReport, type TaskReport, taskReport } from '../../evaluate/report.ts'
import { DEFAULT_BATCH, runTask, type Task } from '../../evaluate/task.ts'
import { memoryWork, readWork, type WorkFiles } from '../../shrink/calibrate/work-files.ts'
import { engineOver } from '../command-engine.ts'
import { evalProgress } from '../eval/eval-progress.ts'
import { eitherTask, openTask, TASK_NAMES, type TaskSpec, taskModel, taskSpec } from '../eval/tasks.ts'
import { readText } from '../files.ts'
import { withModel } from '../models/model.ts'
import { type EngineFlags, MODEL, whole, withEngineOptions } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress, hashingText, overwrite, writeOutput } from '../terminal/output.ts'
import { checkReport } from '../write/check-output.ts'
import { hashOf, hashWeights, jobKey, openWork, type Work } from '../write/work-folder.ts'

/** Greedy, without penalties or drafts, whatever the model's files recommend. */
export const GREEDY: GenerateOptions = {
  ...SAMPLER_DEFAULTS,
  seed: undefined,
  temperature: 0,
  speculation: 'off',
}

/** A model that answers in its own conversations. */
const replyModel = (engine: Engine): ReplyModel => ({
  async answer({ messages, tools, stop, maxTokens }: Question, signal) {
    await using session = engine.createSession({ messages: messages.slice(0, -1) })
    const options = { ...GREEDY, tools, stop, maxTokens, signal }
    const {
      text,
      toolCalls = [],
      finishReason,
      usage,
      tokens,
    } = await session.send([messages.at(-1)!], options).result
    return {
      text,
      finishReason,
      promptTokens: usage.promptTokens,
      tokens,
      toolCalls: toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })),
    }
  },
})

interface EvalFlags extends EngineFlags {
  readonly limit?: number
  readonly seed?: number
  readonly maxTokens?: number
  readonly shots: number
  readonly batch: number
  readonly bos: boolean
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
      'Evaluate a model on data sets from files, as defined by their authors: perplexities, LAMBADA, multiple choice, GSM8K, IFEval, BFCL.',
    )
    .argument('<model>', MODEL)
    .argument('<task=file...>', `what to evaluate, and its data: ${TASK_NAMES.join(', ')}`, taskSpec)
    .option('--limit <n>', 'maximum items per task; default: all', whole(1))
    .option('--seed <n>', 'shuffle the items (except windows and pages); default: in file order', whole(0))
    .option(
      '--max-tokens <n>',
      'gsm8k, ifeval, bfcl: maximum tokens per reply; default: 1280 for ifeval, otherwise 256',
      whole(1),
    )
    .option('--shots <n>', 'gsm8k: worked examples before each question', whole(0), 0)
    .option(
      '--context <tokens>',
      "context length, and tokens per window; default: the model's limit, 512 for second_halves, 2048 for windows",
      whole(4),
    )
    .option('--batch <n>', 'items scored at the same time', whole(1), DEFAULT_BATCH)
    .option('--no-bos', "don't add BOS, even if the tokenizer does")
    .option('--name <name>', "the model's label in the table and plot; default: its file name")
    .option('--output <file>', 'write the result as JSON; meanwhile <file>.work holds partial results')
    .option('--resume', 'resume an unfinished run')
    .option('--samples <file>', "write each item's line in its file, and its numbers or reply, as JSON lines")
    .option('--markdown <file>', 'write the table; default: stdout')
    .option('--plot <file>', 'write an SVG plot')
    .option('--beside <file...>', 'results of other models, shown in the same table and plot')
  return withEngineOptions(command).action(evaluate)
}

async function evaluate(model: string, specs: readonly TaskSpec[], flags: EvalFlags): Promise<void> {
  if (flags.resume === true && flags.output === undefined) {
    throw new HalfbyteError(
      'unsupported',
      'the finished part is stored next to the output; give --output FILE to resume',
    )
  }
  await checkReport(flags.output, 'json')
  await checkReport(flags.samples, 'samples')
  await checkReport(flags.markdown, 'markdown')
  await checkReport(flags.plot, 'plot')
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
      const evaluated = taskModel(built, { maxTokens, addBos: flags.bos, context: flags.context })
      const settings = settingsOf(flags, maxTokens, flags.bos && tokenizer.addsBos)
      if (path !== undefined) {
        const key = jobKey({
          settings: { ...settings, limit: flags.limit ?? 'all' },
          configuration: hashOf([await built.fingerprint(), file.tokenizer, file.generationConfig]),
          template: hashOf(flags.chatTemplate ? await readText(flags.chatTemplate) : 'own'),
          tasks: opened.map(({ spec, data }) => [spec.name, data]),
          weights: await hashWeights(weights, signal, (done, total) => overwrite(hashingText(done, total))),
        })
        kept = await openWork(path, key, flags.resume === true)
      }
      const work = kept ?? memoryWork()
      const tasks: TaskReport[] = []
      overwrite('reading the data')
      const made = await Promise.all(opened.map((each) => eitherTask(each, evaluated, flags)))
      const progress = evalProgress(made, flags.limit)
      for (const [index, each] of made.entries()) {
        const { data } = opened[index]!
        const onProgress = progress[index]!
        const place = { work, file: `${index}.json`, signal, flags, onProgress }
        const { told, results, lines } =
          each.kind === 'scores'
            ? await run(each.task, evaluated, data, place)
            : await runReplies(each.task, built, data, place)
        tasks.push(told)
        for (const [item, result] of results.entries())
          samples.push(`${JSON.stringify({ task: told.task, item, line: lines?.(item), result })}\n`)
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
  /** The work file with the task's results. */
  readonly file: string
  readonly signal: AbortSignal
  readonly flags: EvalFlags
  readonly onProgress: (done: number, total: number) => void
}

async function runReplies(task: ReplyTask, built: BuiltModel, data: TaskReport['data'], place: Place) {
  await using engine = await engineOver(built)
  return await run(task, replyModel(engine), data, place)
}

async function run<Model, Result>(
  task: Task<Model, Result>,
  model: Model,
  data: TaskReport['data'],
  { work, file, signal, onProgress, flags: { limit, batch } }: Place,
): Promise<{ told: TaskReport; results: readonly Result[]; lines: Task['lineOf'] }> {
  const started = performance.now()
  const found = await readWork(work, file)
  const known = found && (parseJson(new TextDecoder().decode(found)) as Result[])
  const total = Math.min(task.count, limit ?? task.count)
  if (total > 0) onProgress(Math.min(known?.length ?? 0, total), total)
  const results = await runTask(model, task, {
    signal,
    limit,
    batch,
    known,
    keep: (all) => work.write(file, [new TextEncoder().encode(JSON.stringify(all))]),
    onProgress,
  })
  const told = taskReport(task, results, { ms: performance.now() - started, data })
  return { told, results, lines: task.lineOf }
}

const settingsOf = (flags: EvalFlags, maxTokens: number, bos: boolean): ModelReport['settings'] => ({
  maxTokens,
  context: flags.context ?? 'default',
  bos,
  seed: flags.seed ?? 'none',
  replyTokens: flags.maxTokens ?? 'default',
  shots: flags.shots,
  weights: flags.weights,
  keys: flags.kv.k,
  values: flags.kv.v,
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
  throw new HalfbyteError(
    'format',
    `${path} is not a result of halfbyte eval; give a file written by --output`,
    {
      path,
    },
  )
}
