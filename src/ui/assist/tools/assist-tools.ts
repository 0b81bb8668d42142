// Tools for any model that calls tools: sums, units, dates and times, with the arithmetic of `exactAnswer`.
import type { RunnableTool } from '../../../engine/api/types.ts'
import { calculate, plainNumber } from '../exact/calculate.ts'
import { daysBetween, presentText, timeInPlace } from '../exact/dates.ts'
import { askedSum } from '../exact/sums.ts'
import { convertedText } from '../exact/units.ts'

/** The names of the tools. */
export type AssistToolName = 'calculate' | 'current_date' | 'convert_units' | 'time_in' | 'days_between'

/** A tool that returns its result synchronously, without a model or a network. */
export interface AssistTool extends RunnableTool {
  readonly name: AssistToolName
  readonly description: string
  readonly parameters: object
  /** Shown to users. */
  readonly label: string
  /**
   * The result for the model. Throws a `RangeError` for arguments without a result; its message is a sentence
   * for the model.
   */
  execute(args: { readonly [name: string]: unknown }): string
}

/** Options of `assistTools`; every key is optional. */
export interface AssistToolOptions {
  /** The tools to return. Default: all. */
  readonly only?: readonly AssistToolName[] | undefined
  /** Returns the current time, in the user's time zone. Default: the system clock's. */
  readonly now?: (() => Date) | undefined
}

const text = (description?: string) => ({ type: 'string', ...(description !== undefined && { description }) })
const given = (properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  properties,
  ...(Object.keys(properties).length > 0 && { required: Object.keys(properties) }),
})

/** The embedded model was trained with the first three, word by word. */
const DESCRIBED: Readonly<Record<AssistToolName, Pick<AssistTool, 'label' | 'description' | 'parameters'>>> =
  {
    calculate: {
      label: 'Calculator',
      description: 'Works out an arithmetic expression.',
      parameters: given({ expression: text() }),
    },
    current_date: {
      label: 'Date and time',
      description: "Tells today's date and the time.",
      parameters: given({}),
    },
    convert_units: {
      label: 'Unit conversion',
      description: 'Converts a value from one unit to another.',
      parameters: given({ value: { type: 'number' }, from: text(), to: text() }),
    },
    time_in: {
      label: 'Time in a place',
      description: 'Tells the current time in a city or a time zone.',
      parameters: given({ place: text() }),
    },
    days_between: {
      label: 'Days between dates',
      description: 'Counts the days between two dates.',
      parameters: given({ from: text('A date such as 2026-12-24, or today'), to: text() }),
    },
  }

type Runs = Readonly<
  Record<AssistToolName, (args: { readonly [name: string]: unknown }, now: Date) => string>
>
const RUNS: Runs = {
  calculate: ({ expression }) => calculated(String(expression)),
  current_date: (_, now) => presentText(now),
  convert_units: ({ value, from, to }) => convertedText(Number(value), String(from), String(to)),
  time_in: ({ place }, now) =>
    timeInPlace(String(place), now) ??
    timeInPlace(String(place).replace(/,.*/, ''), now) ??
    unknown(`"${place}" is not a city or a time zone with one time. Use a name such as Asia/Tokyo.`),
  days_between: ({ from, to }, now) =>
    daysBetween(String(from), String(to), now) ??
    unknown(`"${from}" or "${to}" is not a date. Use the form 2026-12-24.`),
}

function unknown(sentence: string): never {
  throw new RangeError(sentence)
}

/** Models write `15% of 240`, `2**10`, `1,250 + 3` and `$5 * 3` as well as plain expressions. */
function calculated(expression: string): string {
  try {
    return plainNumber(calculate(expression))
  } catch (error) {
    const sum = askedSum(expression, undefined)
    if (sum === undefined) throw error
    return plainNumber(calculate(sum))
  }
}

/**
 * Tools for `session.send(message, { tools })` and for the widget's property `tools`: a calculator, the date
 * and the time, unit conversion, the time in a place, and days between dates. Each has a JSON Schema, and
 * computes like `exactAnswer`. With `strict`, a call that a model has begun is always complete.
 */
export function assistTools({ only, now = () => new Date() }: AssistToolOptions = {}): readonly AssistTool[] {
  const names = only ?? (Object.keys(DESCRIBED) as AssistToolName[])
  return names.map((name) => ({
    name,
    ...DESCRIBED[name],
    strict: true,
    execute: (args) => RUNS[name](args, now()),
  }))
}
