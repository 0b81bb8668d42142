// Tasks of `halfbyte eval`. In: `task=file` from the command line. Out: the task, and hashes of what it was
// read from.
import { createHash } from 'node:crypto'
import { InvalidArgumentError } from 'commander'
import type { Engine } from '../api/engine.ts'
import type { GenerateOptions } from '../api/types.ts'
import type { TextPieces } from '../base/lines.ts'
import type { BuiltModel } from '../engine/load/build-model.ts'
import type { EvaluatedModel } from '../evaluate/pairs.ts'
import { bfcl, bfclIrrelevance } from '../evaluate/replies/bfcl.ts'
import { type Gsm8kOptions, gsm8k } from '../evaluate/replies/gsm8k.ts'
import { ifeval } from '../evaluate/replies/ifeval.ts'
import type { Question, ReplyModel, ReplyTask } from '../evaluate/replies/reply-task.ts'
import type { TaskReport } from '../evaluate/report.ts'
import type { Task } from '../evaluate/task.ts'
import { arc, hellaswag, ownChoices, piqa, winogrande } from '../evaluate/tasks/choices.ts'
import type { DataFile } from '../evaluate/tasks/read.ts'
import { joinedRows, lambada, type WindowRules, wikitext, windowTask } from '../evaluate/tasks/texts.ts'
import { SAMPLER_DEFAULTS } from '../generate/sampler/options.ts'
import { collectIds, encodeStream } from '../text/tokenize/encode-stream.ts'
import { forwardRows } from './model.ts'
import { readBytes, readPieces, readText } from './text-file.ts'

/** The file of a task, and of some a second one. */
type Files = readonly [DataFile, DataFile?]

export interface TaskModel extends EvaluatedModel {
  readonly built: BuiltModel
  /** `--context`; absent: each definition's own. */
  readonly context?: number | undefined
}

/** Tasks whose items are windows of a text of any length, which is read in pieces. */
const WINDOW_TASKS: ReadonlyMap<string, (text: TextPieces, model: TaskModel) => WindowTask> = new Map(
  Object.entries({
    second_halves: (text, model) => ({
      ...{ name: 'second_halves', text },
      context: model.context ?? Math.min(512, model.maxTokens),
      bos: model.tokenizer.addsBos ? model.tokenizer.bosId : undefined,
    }),
    windows: (text, model) => ({
      ...{ name: 'windows', text: joinedRows(text) },
      context: model.context ?? Math.min(2048, model.maxTokens),
    }),
  } satisfies Record<string, (text: TextPieces, model: TaskModel) => WindowTask>),
)

interface WindowTask extends Pick<WindowRules, 'name' | 'context' | 'bos'> {
  readonly text: TextPieces
}

/** Tasks whose items are all in memory. */
const TASKS: ReadonlyMap<string, (files: Files) => Task> = new Map(
  Object.entries({
    wikitext: ([file]) => wikitext(file),
    lambada: ([file]) => lambada(file),
    hellaswag: ([file]) => hellaswag(file),
    piqa: ([file, labels]) => piqa(file, labels),
    arc_easy: ([file]) => arc('arc_easy', file),
    arc_challenge: ([file]) => arc('arc_challenge', file),
    winogrande: ([file]) => winogrande(file),
    choices: ([file]) => ownChoices(file),
  } satisfies Record<string, (files: Files) => Task>),
)

/** Tasks whose items are whole replies. */
const REPLY_TASKS: ReadonlyMap<string, (files: Files, options: Gsm8kOptions) => ReplyTask> = new Map(
  Object.entries({
    gsm8k: ([file, examples], options) => gsm8k(file, examples, options),
    ifeval: ([file], options) => ifeval(file, options),
    bfcl_simple: ([file, answers], options) => bfcl('bfcl_simple', file, answers!, options),
    bfcl_multiple: ([file, answers], options) => bfcl('bfcl_multiple', file, answers!, options),
    bfcl_irrelevance: ([file], options) => bfclIrrelevance(file, options),
  } satisfies Record<string, (files: Files, options: Gsm8kOptions) => ReplyTask>),
)

export const TASK_NAMES: readonly string[] = [...WINDOW_TASKS, ...TASKS, ...REPLY_TASKS].map(([name]) => name)

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

export interface OpenedTask {
  readonly spec: TaskSpec
  /** Undefined for a text that is read in pieces. */
  readonly files: Files | undefined
  readonly data: TaskReport['data']
}

/** Throws `format` for a file that cannot be read, or that has to fit into memory and does not. */
export async function openTask(spec: TaskSpec): Promise<OpenedTask> {
  const paths = spec.paths.slice(0, 2)
  const data = await Promise.all(
    paths.map(async (path) => ({ file: path.replace(/^.*[\\/]/, ''), sha256: await hashFile(path) })),
  )
  if (WINDOW_TASKS.has(spec.name)) return { spec, data, files: undefined }
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
export async function makeTask(
  { spec: { name, paths }, files }: OpenedTask,
  model: TaskModel,
  limit = Number.POSITIVE_INFINITY,
): Promise<Task> {
  if (files !== undefined) return TASKS.get(name)!(files)
  const { text, ...rules } = WINDOW_TASKS.get(name)!(readPieces(paths[0]), model)
  const parts = encodeStream(model.built.tokenizer, text, { addSpecial: true })
  const { ids, count } = await collectIds(parts, limit * rules.context)
  return windowTask({ ...rules, ids, total: count, forward: forwardRows(model.built) })
}

/** Undefined for tasks without replies. Throws `format` for lines that are not of the task's form. */
export const makeReplyTask = (
  { spec, files }: Pick<OpenedTask, 'spec' | 'files'>,
  options: Gsm8kOptions,
): ReplyTask | undefined => REPLY_TASKS.get(spec.name)?.(files!, options)

/** No penalty, no drafts and no draw, whatever the model's files recommend. */
const GREEDY: GenerateOptions = { ...SAMPLER_DEFAULTS, seed: undefined, temperature: 0, speculation: 'off' }

/** A model that answers in conversations of its own. */
export const replyModel = (engine: Engine): ReplyModel => ({
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
      ...{ text, finishReason, promptTokens: usage.promptTokens, tokens },
      toolCalls: toolCalls.map(({ name, arguments: given }) => ({ name, arguments: given })),
    }
  },
})
