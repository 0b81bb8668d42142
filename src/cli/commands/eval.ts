// `halfbyte eval`: scores a model on data sets, with standard errors, as a Markdown table, JSON and an SVG
// plot.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import type { Engine } from '../../api/engine.ts'
import type { GenerateOptions } from '../../api/types.ts'
import type { TextPieces } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { isObject } from '../../base/values.ts'
import type { BuiltModel } from '../../engine/load/build-model.ts'
import { markdownTable } from '../../evaluate/markdown.ts'
import { svgPlot } from '../../evaluate/plot.ts'
import { bfcl, bfclIrrelevance } from '../../evaluate/replies/bfcl.ts'
import { type Gsm8kOptions, gsm8k } from '../../evaluate/replies/gsm8k.ts'
import { ifeval } from '../../evaluate/replies/ifeval.ts'
import type { Question, ReplyModel, ReplyTask } from '../../evaluate/replies/reply-task.ts'
import type { ModelReport, TaskReport } from '../../evaluate/report.ts'
import type { EvaluatedModel } from '../../evaluate/score.ts'
import { DEFAULT_BATCH, runTask, type Task } from '../../evaluate/task.ts'
import { arc, boolq, hellaswag, ownChoices, piqa, winogrande } from '../../evaluate/tasks/choices.ts'
import type { DataFile, DataStream } from '../../evaluate/tasks/read.ts'
import { joinedRows, lambada, type WindowRules, wikitext, windowTask } from '../../evaluate/tasks/texts.ts'
import { SAMPLER_DEFAULTS } from '../../generate/sampler/sampler-options.ts'
import { memoryWork, readWork, type WorkFiles } from '../../shrink/calibrate/work-files.ts'
import { collectIds, encodeStream } from '../../text/tokenize/encode-stream.ts'
import { engineOver } from '../command-engine.ts'
import { readBytes, readPieces, readText } from '../files.ts'
import { forwardRows, withModel } from '../model.ts'
import { type EngineFlags, MODEL, whole, withEngineOptions } from '../options.ts'
import { interruptible, visible } from '../terminal/failure.ts'
import { clearProgress, overwrite, writeOutput } from '../terminal/output.ts'
import { hashOf, hashWeights, jobKey, openWork, type Work } from '../write/work-folder.ts'

/** The file of a task, and the second file of those tasks that have one. */
type Files = readonly [DataFile, DataFile?]

interface TaskModel extends EvaluatedModel {
  readonly built: BuiltModel
  /** `--context`; absent: each definition's own. */
  readonly context?: number | undefined
}

/** Tasks whose items are windows of a text of any length, which is read in pieces. */
const WINDOW_TASKS: ReadonlyMap<string, (text: TextPieces, model: TaskModel) => WindowTask> = new Map(
  Object.entries({
    second_halves: (text, model) => ({
      name: 'second_halves',
      text,
      context: model.context ?? Math.min(512, model.maxTokens),
      bos: model.tokenizer.addsBos ? model.tokenizer.bosId : undefined,
    }),
    windows: (text, model) => ({
      name: 'windows',
      text: joinedRows(text),
      context: model.context ?? Math.min(2048, model.maxTokens),
    }),
  } satisfies Record<string, (text: TextPieces, model: TaskModel) => WindowTask>),
)

interface WindowTask extends Pick<WindowRules, 'name' | 'context' | 'bos'> {
  readonly text: TextPieces
}

/** Tasks whose items are all in memory. */
const TASKS: ReadonlyMap<string, (files: Files, seed: number | undefined) => Task> = new Map(
  Object.entries({
    wikitext: ([file]) => wikitext(file),
    lambada: ([file], seed) => lambada(file, seed),
    hellaswag: ([file], seed) => hellaswag(file, seed),
    piqa: ([file, labels], seed) => piqa(file, labels, seed),
    arc_easy: ([file], seed) => arc('arc_easy', file, seed),
    arc_challenge: ([file], seed) => arc('arc_challenge', file, seed),
    winogrande: ([file], seed) => winogrande(file, seed),
    boolq: ([file], seed) => boolq(file, seed),
    choices: ([file], seed) => ownChoices(file, seed),
  } satisfies Record<string, (files: Files, seed: number | undefined) => Task>),
)

/** The same, read in pieces. */
type Streams = readonly [DataStream, DataStream?]

/** Tasks whose items are whole replies. */
const REPLY_TASKS: ReadonlyMap<string, (files: Streams, options: Gsm8kOptions) => Promise<ReplyTask>> =
  new Map(
    Object.entries({
      gsm8k: ([file, examples], options) => gsm8k(file, examples, options),
      ifeval: ([file], options) => ifeval(file, options),
      bfcl_simple: ([file, answers], options) => bfcl('bfcl_simple', file, answers!, options),
      bfcl_multiple: ([file, answers], options) => bfcl('bfcl_multiple', file, answers!, options),
      bfcl_irrelevance: ([file], options) => bfclIrrelevance(file, options),
    } satisfies Record<string, (files: Streams, options: Gsm8kOptions) => Promise<ReplyTask>>),
  )

const TASK_NAMES: readonly string[] = [...WINDOW_TASKS, ...TASKS, ...REPLY_TASKS].map(([name]) => name)

/** Tasks that read a second file, and whether they need it. */
const SECOND_FILES: ReadonlyMap<string, 'needed' | 'optional'> = new Map([
  ['piqa', 'optional'],
  ['gsm8k', 'optional'],
  ['bfcl_simple', 'needed'],
  ['bfcl_multiple', 'needed'],
])

/** A task and the paths of its files. */
export interface TaskSpec {
  readonly name: string
  readonly paths: readonly string[]
}

/** `task=file`, or `task=file,second file`. */
export function taskSpec(text: string, before: readonly TaskSpec[] = []): readonly TaskSpec[] {
  const [, name = '', paths = ''] = /^(\w+)=(.+)$/.exec(text) ?? []
  if (!TASK_NAMES.includes(name))
    throw new InvalidArgumentError(`give task=file with one of the tasks ${TASK_NAMES.join(', ')}.`)
  const second = SECOND_FILES.get(name)
  const files = second === undefined ? [paths] : paths.split(',')
  if (second === 'needed' && files.length < 2)
    throw new InvalidArgumentError(`give ${name}=questions,answers: the file of possible answers too.`)
  return [...before, { name, paths: files }]
}

interface OpenedTask {
  readonly spec: TaskSpec
  /** Undefined for files that are read in pieces. */
  readonly files: Files | undefined
  readonly data: TaskReport['data']
}

/** Throws `format` for a file that cannot be read, or that must fit into memory but does not. */
async function openTask(spec: TaskSpec): Promise<OpenedTask> {
  const paths = spec.paths.slice(0, 2)
  const data = await Promise.all(
    paths.map(async (path) => ({ file: path.replace(/^.*[\\/]/, ''), sha256: await hashFile(path) })),
  )
  if (!TASKS.has(spec.name)) return { spec, data, files: undefined }
  const [first, second] = (await Promise.all(
    paths.map(async (name): Promise<DataFile> => ({ name, text: await readText(name) })),
  )) as [DataFile, DataFile?]
  return { spec, data, files: second === undefined ? [first] : [first, second] }
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const bytes of readBytes(path)) hash.update(bytes)
  return hash.digest('hex')
}

/** `limit`: most items. Throws `format` for lines that are not of the task's form. */
async function makeTask(
  { spec: { name, paths }, files }: OpenedTask,
  model: TaskModel,
  { limit = Number.POSITIVE_INFINITY, seed }: Pick<EvalFlags, 'limit' | 'seed'>,
): Promise<Task> {
  if (files !== undefined) return TASKS.get(name)!(files, seed)
  const { text, ...rules } = WINDOW_TASKS.get(name)!(readPieces(paths[0]), model)
  const parts = encodeStream(model.built.tokenizer, text, { addSpecial: true })
  const { ids, count } = await collectIds(parts, limit * rules.context)
  return windowTask({ ...rules, ids, total: count, forward: forwardRows(model.built) })
}

/** Undefined for tasks without replies. Throws `format` for lines that are not of the task's form. */
export async function makeReplyTask(
  { name, paths }: TaskSpec,
  options: Gsm8kOptions,
): Promise<ReplyTask | undefined> {
  const [first, second] = paths.map((path): DataStream => ({ name: path, pieces: () => readPieces(path) }))
  return await REPLY_TASKS.get(name)?.([first!, second], options)
}

/** Greedy, without penalties and drafts, whatever the model's files recommend. */
const GREEDY: GenerateOptions = { ...SAMPLER_DEFAULTS, seed: undefined, temperature: 0, speculation: 'off' }

/** A model that answers in conversations of its own. */
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
      'Evaluate a model on data sets from files, by the published definitions: perplexities, LAMBADA, multiple choice, GSM8K, IFEval, BFCL.',
    )
    .argument('<model>', MODEL)
    .argument('<task=file...>', `what to evaluate, and its data: ${TASK_NAMES.join(', ')}`, taskSpec)
    .option('--limit <n>', 'most items of each task; default: all', whole(1))
    .option(
      '--seed <n>',
      'draw the order of the items, but for windows and pages; default: as in the file',
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
    .option('--no-bos', 'leave out BOS, which a context has where the tokenizer adds it by itself')
    .option('--name <name>', 'what the model is called in table and plot; default: its file')
    .option('--output <file>', 'write JSON; until then <file>.work holds the finished part')
    .option('--resume', 'continue an unfinished run')
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
      'the finished part is stored beside the output; give --output FILE to resume',
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
        built,
        tokenizer,
        scheduler: built.scheduler,
        newSequence: () => built.newSequence(),
        maxTokens,
        addBos: flags.bos,
        context: flags.context,
      }
      const settings = settingsOf(flags, maxTokens, flags.bos && tokenizer.addsBos)
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
        const replies = await makeReplyTask(each.spec, flags)
        const { told, results } =
          replies === undefined
            ? await run(await makeTask(each, evaluated, flags), evaluated, each.data, place)
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
    signal,
    limit,
    batch,
    known: found && (parseJson(new TextDecoder().decode(found)) as Result[]),
    keep: (all) => work.write(file, [new TextEncoder().encode(JSON.stringify(all))]),
    onProgress: (done, total) => overwrite(`${task.name}: ${done} of ${total} ${task.unit}`),
  })
  const seconds = Math.round((performance.now() - started) / 100) / 10
  const { name, count, unit, chance } = task
  const notes = task.notes?.(results) ?? []
  const told: TaskReport = {
    task: name,
    metrics: task.metrics(results),
    items: results.length,
    of: count,
    unit,
    ...(chance !== undefined && { chance }),
    ...(notes.length > 0 && { notes }),
    seconds,
    data,
  }
  return { told, results }
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
  throw new HalfbyteError('format', `${path} is not a result of halfbyte eval; give what --output wrote`, {
    path,
  })
}
