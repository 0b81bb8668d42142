// The page's tools: their descriptions for models, and how calls are shown to users and models.
import type { Tool, ToolCall } from '../../../src/index.ts'
import { t, type Word } from '../words/words.ts'

/** A call and its result, as stored in a conversation. */
export interface UsedTool extends ToolCall {
  readonly result: string
}

/**
 * The default model was trained with these names and descriptions. A call that has begun is
 * constrained to their parameters, so an incomplete call is never an answer.
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

/** How a tool is shown to users, by its name. */
const LABELS: ReadonlyMap<string, Word> = new Map(
  Object.entries({
    calculate: 'toolCalculate',
    current_date: 'toolDate',
    convert_units: 'toolUnits',
  }),
)

/** A tool's display name. */
export function toolLabel(name: string): string {
  const label = LABELS.get(name)
  return label === undefined ? name : t(label)
}

/** Messages that show a model the calls before its answer. */
export const usedMessages = (used: readonly UsedTool[]) =>
  used.flatMap(({ id, name, arguments: given, result }) => [
    { role: 'assistant' as const, content: '', toolCalls: [{ id, name, arguments: given }] },
    { role: 'tool' as const, content: result, toolCallId: id, name },
  ])
