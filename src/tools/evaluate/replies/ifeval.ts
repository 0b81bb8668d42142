// The task IFEval: checks which instructions a reply follows, strictly and loosely.
import { shown } from '../../../core/base/check-options.ts'
import { isObject } from '../../../core/base/values.ts'
import { type DataStream, type Line, textField, wrong } from '../tasks/read.ts'
import { drawItems } from './draw-items.ts'
import { type Check, instructionCheck } from './instructions.ts'
import { type Reply, type ReplyItem, type ReplyTask, type ReplyTaskOptions, replyTask } from './reply-task.ts'

const MAX_TOKENS = 1280

/**
 * `inst_level`: the share of instructions followed. `prompt_level`: the share of prompts with all
 * instructions followed. `loose`: also tries the reply without its first line, its last line or its
 * asterisks. An instruction that cannot be checked here is skipped, and so is its prompt in `prompt_level`.
 * Source: `ifeval` of lm-evaluation-harness.
 */
export async function ifeval(file: DataStream, options: ReplyTaskOptions): Promise<ReplyTask> {
  const read = (line: Line): ReplyItem => {
    const { key } = line.value
    const checks = readChecks(line)
    const known = checks.filter((check) => check !== undefined)
    return {
      id: typeof key === 'string' ? key : shown(key),
      question: { messages: [{ role: 'user', content: textField(line, 'prompt') }], maxTokens: MAX_TOKENS },
      mark: ({ text }: Reply) => {
        const [strict, loose] = [[text], looseForms(text)].map((forms) =>
          known.map((check) => forms.some((form) => form.trim() !== '' && check(form))),
        )
        const whole = (followed: readonly boolean[]) =>
          known.length === checks.length ? [followed.every(Boolean)] : []
        return {
          prompt_level_strict_acc: whole(strict!),
          inst_level_strict_acc: strict!,
          prompt_level_loose_acc: whole(loose!),
          inst_level_loose_acc: loose!,
        }
      },
      leftOut: checks.length - known.length,
    }
  }
  const drawn = await drawItems(file, read, options)
  return replyTask(
    'ifeval',
    drawn,
    options,
    'instructions about a language that cannot be identified by its script',
  )
}

/** Returns undefined for instructions that cannot be checked. */
function readChecks(line: Line): readonly (Check | undefined)[] {
  const { instruction_id_list: ids, kwargs } = line.value
  if (!Array.isArray(ids) || !Array.isArray(kwargs) || ids.length === 0 || ids.length !== kwargs.length)
    throw wrong(line, 'has no "instruction_id_list" with the same number of "kwargs"')
  return ids.map((id, at) => {
    const found = instructionCheck(String(id), isObject(kwargs[at]) ? kwargs[at] : {})
    if (found !== 'unknown') return found === 'unchecked' ? undefined : found
    throw wrong(line, `has the instruction "${id}", which is unknown or is missing an argument`)
  })
}

function looseForms(text: string): readonly string[] {
  const lines = text.split('\n')
  const parts = [lines.slice(1), lines.slice(0, -1), lines.slice(1, -1)].map((part) => part.join('\n').trim())
  const forms = [text, ...parts]
  return [...forms, ...forms.map((form) => form.replaceAll('*', ''))]
}
