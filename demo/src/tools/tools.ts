// The page's tools. In: a call that the model asks for. Out: its result as text for the model.
import type { Tool, ToolCall } from '../../../src/index.ts'
import { t, type Word } from '../words/words.ts'
import { calculate, plainNumber } from './calculate.ts'
import { convertUnits } from './units.ts'

/** A call and what came of it, as a conversation keeps it. */
export interface UsedTool extends ToolCall {
  readonly result: string
}

/** Their names and descriptions are those that the default model was trained with. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'calculate',
    description: 'Works out an arithmetic expression.',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string' } },
      required: ['expression'],
    },
  },
  {
    name: 'current_date',
    description: "Tells today's date and the time.",
    parameters: { type: 'object', properties: {} },
  },
  {
    name: 'convert_units',
    description: 'Converts a value from one unit to another.',
    parameters: {
      type: 'object',
      properties: { value: { type: 'number' }, from: { type: 'string' }, to: { type: 'string' } },
      required: ['value', 'from', 'to'],
    },
  },
]

/** What a person sees of a tool, by its name. */
const LABELS: ReadonlyMap<string, Word> = new Map(
  Object.entries({
    calculate: 'toolCalculate',
    current_date: 'toolDate',
    convert_units: 'toolUnits',
  }),
)

/** A tool's name for people. */
export function toolLabel(name: string): string {
  const label = LABELS.get(name)
  return label === undefined ? name : t(label)
}

/** The result of a call. What cannot be worked out is a sentence that says so. */
export function useTool({ name, arguments: given }: ToolCall, now = new Date()): string {
  try {
    return resultOf(name, given, now)
  } catch (error) {
    if (error instanceof RangeError) return error.message
    throw error
  }
}

function resultOf(name: string, given: ToolCall['arguments'], now: Date): string {
  switch (name) {
    case 'calculate':
      return plainNumber(calculate(String(given['expression'])))
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

/** Two decimals from 1 on, else three digits that count. */
function rounded(value: number): number {
  if (!Number.isFinite(value)) throw new RangeError('The value is not a number.')
  return Math.abs(value) >= 1 ? Math.round(value * 100) / 100 : Number(value.toPrecision(3))
}

/** Messages that show a model what was called before its answer. */
export const usedMessages = (used: readonly UsedTool[]) =>
  used.flatMap(({ id, name, arguments: given, result }) => [
    { role: 'assistant' as const, content: '', toolCalls: [{ id, name, arguments: given }] },
    { role: 'tool' as const, content: result, toolCallId: id, name },
  ])
