// The page's tools. In: none. Out: what a model is told of them, and what people and models see of calls.
import type { Tool, ToolCall } from '../../../src/index.ts'
import { t, type Word } from '../words/words.ts'

/** A call and what came of it, as a conversation keeps it. */
export interface UsedTool extends ToolCall {
  readonly result: string
}

/**
 * Their names and descriptions are those that the default model was trained with. A call that was begun is
 * held to their parameters, so half of a call is never an answer.
 */
export const TOOLS: readonly Tool[] = (
  [
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
  ] satisfies readonly Tool[]
).map((tool) => ({ ...tool, strict: true }))

/** What a user sees of a tool, by its name. */
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

/** Messages that show a model what was called before its answer. */
export const usedMessages = (used: readonly UsedTool[]) =>
  used.flatMap(({ id, name, arguments: given, result }) => [
    { role: 'assistant' as const, content: '', toolCalls: [{ id, name, arguments: given }] },
    { role: 'tool' as const, content: result, toolCallId: id, name },
  ])
