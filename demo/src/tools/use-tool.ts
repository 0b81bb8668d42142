// Using tools. In: a model's call, and the conversation. Out: its result as text for the model.
import type { ToolCall } from '../../../src/index.ts'
import { t } from '../words/later-words.ts'
import { calculate, plainNumber } from './calculate.ts'
import { askedSum, foreignNumber } from './sums.ts'
import type { UsedTool } from './tools.ts'
import { convertUnits } from './units.ts'

/** What a call's numbers may come from. */
export interface Said {
  readonly question: string
  /** Results of earlier calculations, oldest first. */
  readonly results: readonly number[]
}

/** A call that was carried out. `says`: the whole answer, if the model is not asked to phrase it. */
interface ToolUse {
  readonly used: UsedTool
  readonly says?: string
}

/** Runs a call. If it cannot be computed, the result is a sentence, which is also the answer. */
export function useTool(call: ToolCall, said: Said, now = new Date()): ToolUse {
  try {
    if (call.name === 'calculate') return calculated(call, said)
    const number = call.name === 'convert_units' ? foreignValue(call.arguments['value'], said) : undefined
    if (number !== undefined) return refused(call, number)
    return { used: { ...call, result: resultOf(call.name, call.arguments, now) } }
  } catch (error) {
    if (error instanceof RangeError) return { used: { ...call, result: error.message }, says: error.message }
    throw error
  }
}

/**
 * Calculates the sum in the question, whatever the model's call says. Without one, it calculates the model's
 * sum if all its numbers are in the question or in earlier results: small models copy numbers wrongly.
 */
function calculated(call: ToolCall, { question, results }: Said): ToolUse {
  const expression = String(call.arguments['expression'])
  const asked = askedSum(question, results.at(-1))
  if (asked !== undefined) {
    const result = plainNumber(calculate(asked))
    if (result === valueFrom(expression)) return { used: { ...call, result } }
    return { used: { ...call, arguments: { expression: asked }, result }, says: `${asked} = ${result}` }
  }
  const number = foreignNumber(expression, question, results)
  if (number === undefined) return { used: { ...call, result: plainNumber(calculate(expression)) } }
  return refused(call, number)
}

const refused = (call: ToolCall, number: string): ToolUse => ({
  used: { ...call, result: t('sumForeign', { number }) },
  says: t('sumUnread'),
})

/** The value to convert if nobody mentioned it. `a mile` mentions 1. */
const foreignValue = (value: unknown, { question, results }: Said): string | undefined =>
  Number(value) === 1 ? undefined : foreignNumber(String(value), question, results)

/** Undefined unless it is an expression. */
function valueFrom(expression: string): string | undefined {
  try {
    return plainNumber(calculate(expression))
  } catch {
    return undefined
  }
}

/** Computes the sum in a question even if the model did not request it. */
export function calculateAsked({ question, results }: Said, id: string): ToolUse | undefined {
  const expression = askedSum(question, results.at(-1))
  if (expression === undefined) return undefined
  const result = plainNumber(calculate(expression))
  const used = { id, name: 'calculate', arguments: { expression }, result }
  return { used, says: `${expression} = ${result}` }
}

/** The results of calculations among the tools that were used, oldest first. */
export const resultsOf = (used: readonly UsedTool[]): readonly number[] =>
  used.filter(isCalculated).map(({ result }) => Number(result))

const isCalculated = ({ name, result }: UsedTool): boolean =>
  name === 'calculate' && result !== '' && Number.isFinite(Number(result))

/** The model's words about its last calculation, unless they contain other numbers. */
export function checkedWords(content: string, used: readonly UsedTool[], said: Said): string {
  const last = used.at(-1)
  if (last === undefined || !isCalculated(last)) return content
  const expression = String(last.arguments['expression'])
  const results = [...said.results, ...resultsOf(used)]
  const isNamed = content.replaceAll(',', '').includes(last.result)
  const isOurs = foreignNumber(content, `${said.question} ${expression}`, results) === undefined
  return isNamed && isOurs ? content : `${expression} = ${last.result}`
}

function resultOf(name: string, given: ToolCall['arguments'], now: Date): string {
  switch (name) {
    case 'current_date':
      return `${longDate(now)}, ${clock(now)}`
    case 'convert_units': {
      const to = String(given['to'])
      return `${rounded(convertUnits(Number(given['value']), String(given['from']), to))} ${to}`
    }
    default:
      throw new RangeError(`There is no tool ${name}.`)
  }
}

const longDate = (now: Date): string =>
  `${now.toLocaleDateString('en-GB', { weekday: 'long' })}, ${now.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric' })}`

const clock = (now: Date): string =>
  now.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', hour12: false })

/** Two decimals from 1 up, otherwise three significant digits. */
function rounded(value: number): number {
  if (!Number.isFinite(value)) throw new RangeError('The value is not a number.')
  return Math.abs(value) >= 1 ? Math.round(value * 100) / 100 : Number(value.toPrecision(3))
}
