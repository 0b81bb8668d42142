// The tasks of `halfbyte eval`. In: their names and data files. Out: items to score.
import { createHash } from 'node:crypto'
import { InvalidArgumentError } from 'commander'
import type { TextPieces } from '../../../core/base/bytes.ts'
import { collectIds, encodeStream } from '../../../core/text/tokenize/encode-stream.ts'
import type { BuiltModel } from '../../../engine/load/build-model.ts'
import type { EvaluatedModel } from '../../../engine/score/score.ts'
import { bfcl, bfclIrrelevance } from '../../evaluate/replies/bfcl.ts'
import { type Gsm8kOptions, gsm8k } from '../../evaluate/replies/gsm8k.ts'
import { ifeval } from '../../evaluate/replies/ifeval.ts'
import type { ReplyTask } from '../../evaluate/replies/reply-task.ts'
import type { TaskReport } from '../../evaluate/report.ts'
import type { Task } from '../../evaluate/task.ts'
import { arc, boolq, hellaswag, ownChoices, piqa, winogrande } from '../../evaluate/tasks/choices.ts'
import type { DataFile, DataStream } from '../../evaluate/tasks/read.ts'
import { joinedRows, lambada, type WindowRules, wikitext, windowTask } from '../../evaluate/tasks/texts.ts'
import { readBytes, readPieces, readText } from '../files.ts'
import { forwardRows } from '../models/model.ts'

/** A task's file, and the second file of tasks that have one. */
type Files = readonly [DataFile, DataFile?]

interface TaskModel extends EvaluatedModel {
  readonly built: BuiltModel
  /** `--context`. Default: each definition's own. */
  readonly context?: number | undefined
}

export const taskModel = (
  built: BuiltModel,
  settings: Pick<TaskModel, 'maxTokens' | 'addBos' | 'context'>,
): TaskModel => ({
  built,
  tokenizer: built.tokenizer,
  scheduler: built.scheduler,
  newSequence: () => built.newSequence(),
  ...settings,
})

/** Tasks whose items are windows of a text of any length, read in pieces. */
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

/** Such tasks' items, read in pieces. */
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

export const TASK_NAMES: readonly string[] = [...WINDOW_TASKS, ...TASKS, ...REPLY_TASKS].map(([name]) => name)

/** Tasks that read a second file, and whether it is required. */
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
    throw new InvalidArgumentError(
      `give ${name}=questions,answers: it also needs the file of possible answers.`,
    )
  return [...before, { name, paths: files }]
}

export interface OpenedTask {
  readonly spec: TaskSpec
  /** Returns undefined for files that are read in pieces. */
  readonly files: Files | undefined
  readonly data: TaskReport['data']
}

/** Throws `format` for a file that cannot be read, or that must fit into memory but does not. */
export async function openTask(spec: TaskSpec): Promise<OpenedTask> {
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

/**
 * Returns undefined for tasks that are read in pieces. Throws `format` for lines that do not match the task's
 * format.
 */
export const itemTask = ({ spec, files }: OpenedTask, seed: number | undefined): Task | undefined =>
  files && TASKS.get(spec.name)!(files, seed)

/** `limit`: maximum items. Throws `format` for lines that do not match the task's format. */
async function makeTask(
  opened: OpenedTask,
  model: TaskModel,
  { limit = Number.POSITIVE_INFINITY, seed }: { readonly limit?: number; readonly seed?: number },
): Promise<Task> {
  const found = itemTask(opened, seed)
  if (found !== undefined) return found
  const { name, paths } = opened.spec
  const { text, ...rules } = WINDOW_TASKS.get(name)!(readPieces(paths[0]), model)
  const parts = encodeStream(model.built.tokenizer, text, { addSpecial: true })
  const { ids, count } = await collectIds(parts, limit * rules.context)
  return windowTask({ ...rules, ids, total: count, forward: forwardRows(model.built) })
}

/**
 * Returns undefined for tasks without replies. Throws `format` for lines that do not match the task's format.
 */
export async function makeReplyTask(
  { name, paths }: TaskSpec,
  options: Gsm8kOptions,
): Promise<ReplyTask | undefined> {
  const [first, second] = paths.map((path): DataStream => ({ name: path, pieces: () => readPieces(path) }))
  return await REPLY_TASKS.get(name)?.([first!, second], options)
}

/** A task of one of the two kinds. `tokens`: about how many the model reads for an item. */
export type EitherTask =
  | { readonly kind: 'replies'; readonly task: ReplyTask; readonly tokens: number }
  | { readonly kind: 'scores'; readonly task: Task; readonly tokens: number }

/** Generating a token takes as long as reading several. */
const READ_PER_WRITTEN = 4
const REPLY_TOKENS = 256
/** Characters per token in English. */
const TOKEN_CHARACTERS = 4

/** Throws what `makeTask` and `makeReplyTask` throw. */
export async function eitherTask(
  opened: OpenedTask,
  model: TaskModel,
  options: Gsm8kOptions & { readonly limit?: number; readonly seed?: number; readonly maxTokens?: number },
): Promise<EitherTask> {
  const replies = await makeReplyTask(opened.spec, options)
  if (replies !== undefined)
    return { kind: 'replies', task: replies, tokens: READ_PER_WRITTEN * (options.maxTokens ?? REPLY_TOKENS) }
  const task = await makeTask(opened, model, options)
  const characters = opened.files?.reduce((sum, file) => sum + (file?.text.length ?? 0), 0)
  const tokens =
    characters === undefined ? model.maxTokens : characters / TOKEN_CHARACTERS / Math.max(1, task.count)
  return { kind: 'scores', task, tokens }
}
