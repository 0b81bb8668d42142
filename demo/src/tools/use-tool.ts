// Using tools. In: a question, or a model's call. Out: exact results, or a sentence that declines.
import type { ToolCall } from '../../../src/index.ts'
import { assistTools, type ExactAnswer, exactAnswer } from '../../../src/ui/assist/index.ts'
import { t } from '../words/later-words.ts'
import type { UsedTool } from './tools.ts'

/** A call that was carried out. `says`: the whole answer; the model adds nothing. */
interface ToolUse {
  readonly used: UsedTool
  readonly says: string
}

/**
 * The exact answer to a question as a tool's step, computed without the model; undefined if the question does
 * not ask for one. `id`: the step's. `results`: those of earlier calculations, oldest first.
 */
export function exactUse(
  question: string,
  results: readonly string[],
  id: string,
  now = new Date(),
): ToolUse | undefined {
  const answer = exactAnswer(question, { now, previous: results.at(-1) })
  return answer && { used: stepOf(answer, id), says: answer.text }
}

const stepOf = (answer: ExactAnswer, id: string): UsedTool => ({
  id,
  name: answer.tool,
  arguments: { ...answer.arguments },
  result: answer.result,
})

/**
 * Declines a call for a calculation: questions that can be computed were answered before the model was asked,
 * and small models copy numbers wrongly. Calls for the date get the date and the time.
 */
export function useTool(call: ToolCall, now = new Date()): ToolUse {
  if (call.name !== 'current_date')
    return { used: { ...call, result: t('sumDeclined') }, says: t('sumUnread') }
  const [date] = assistTools({ only: ['current_date'], now: () => now })
  const says = date!.execute({})
  return { used: { ...call, result: says }, says }
}

/** The results of calculations among the tools that were used, oldest first. */
export const resultsOf = (used: readonly UsedTool[]): readonly string[] =>
  used.filter(({ name, result }) => name === 'calculate' && isNumber(result)).map(({ result }) => result)

const isNumber = (result: string): boolean => /^-?\d+(?:\.\d+)?$/.test(result)

/** Questions that ask for a number and contain one. */
const ASKS =
  /\b(?:how (?:many|much|old|far|long)|what(?:'s| is| are| was)|calculate|compute|add|subtract|multiply|divide)\b/i
const HAS_NUMBER = /\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|half)\b/i

/** Whether a question contains numbers and asks for one, which a small model would make up. */
export const asksForValue = (question: string): boolean => ASKS.test(question) && HAS_NUMBER.test(question)
