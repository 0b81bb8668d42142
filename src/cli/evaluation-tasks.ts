// Tasks of `halfbyte eval`. In: `task=file` from the command line. Out: the task, and hashes of what it was
// read from.
import { InvalidArgumentError } from 'commander'
import { sha256 } from '../base/sha256.ts'
import type { BuiltModel } from '../engine/load/build-model.ts'
import type { EvaluatedModel } from '../evaluate/pairs.ts'
import type { TaskReport } from '../evaluate/report.ts'
import type { Task } from '../evaluate/task.ts'
import { arc, hellaswag, ownChoices, piqa, winogrande } from '../evaluate/tasks/choices.ts'
import type { DataFile } from '../evaluate/tasks/read.ts'
import { joinedRows, lambada, wikitext, windowTask } from '../evaluate/tasks/texts.ts'
import { forwardRows } from './model.ts'
import { readText } from './text-file.ts'

/** The file of a task, and of PIQA the labels too. */
type Files = readonly [DataFile, DataFile?]

export interface TaskModel extends EvaluatedModel {
  readonly built: BuiltModel
  /** `--context`; absent: each definition's own. */
  readonly context?: number | undefined
}

const TASKS: ReadonlyMap<string, (files: Files, model: TaskModel) => Task> = new Map(
  Object.entries({
    second_halves: ([{ text }], model) =>
      windowTask({
        ...{ name: 'second_halves', forward: forwardRows(model.built) },
        context: model.context ?? Math.min(512, model.maxTokens),
        ids: model.tokenizer.encode(text, { addSpecial: true }),
        bos: model.tokenizer.addsBos ? model.tokenizer.bosId : undefined,
      }),
    windows: ([{ text }], model) =>
      windowTask({
        ...{ name: 'windows', forward: forwardRows(model.built) },
        context: model.context ?? Math.min(2048, model.maxTokens),
        ids: model.tokenizer.encode(joinedRows(text), { addSpecial: true }),
      }),
    wikitext: ([file]) => wikitext(file),
    lambada: ([file]) => lambada(file),
    hellaswag: ([file]) => hellaswag(file),
    piqa: ([file, labels]) => piqa(file, labels),
    arc_easy: ([file]) => arc('arc_easy', file),
    arc_challenge: ([file]) => arc('arc_challenge', file),
    winogrande: ([file]) => winogrande(file),
    choices: ([file]) => ownChoices(file),
  }),
)

export const TASK_NAMES: readonly string[] = [...TASKS.keys()]

/** A task and the paths of its files. */
export interface TaskSpec {
  readonly name: string
  readonly paths: readonly string[]
}

/** `task=file`, or `task=file,labels`. */
export function taskSpec(text: string, before: readonly TaskSpec[] = []): readonly TaskSpec[] {
  const [, name = '', paths = ''] = /^(\w+)=(.+)$/.exec(text) ?? []
  if (!TASKS.has(name))
    throw new InvalidArgumentError(`give task=file with one of the tasks ${TASK_NAMES.join(', ')}.`)
  return [...before, { name, paths: name === 'piqa' ? paths.split(',') : [paths] }]
}

export interface OpenedTask {
  readonly spec: TaskSpec
  readonly files: Files
  readonly data: TaskReport['data']
}

/** Throws `format` for a file that cannot be read. */
export async function openTask(spec: TaskSpec): Promise<OpenedTask> {
  const files = await Promise.all(
    spec.paths.slice(0, 2).map(async (name): Promise<DataFile> => ({ name, text: await readText(name) })),
  )
  const data = await Promise.all(
    files.map(async ({ name, text }) => ({
      file: name.replace(/^.*[\\/]/, ''),
      sha256: await sha256(new TextEncoder().encode(text)),
    })),
  )
  const [first, second] = files as [DataFile, DataFile?]
  return { spec, data, files: second === undefined ? [first] : [first, second] }
}

/** Throws `format` for lines that are not of the task's form. */
export const makeTask = ({ spec, files }: OpenedTask, model: TaskModel): Task =>
  TASKS.get(spec.name)!(files, model)
