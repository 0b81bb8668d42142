// The page's tools, and how their calls are shown to users and models. It loads with the code for answers.
import type { Message, ToolCall, ToolRun } from '../../../src/index.ts'
import { type AssistToolName, assistTools } from '../../../src/ui/assist/index.ts'
import { type LaterWord, t } from '../words/later-words.ts'

/** A call and its result, as stored in a conversation. */
export interface UsedTool extends ToolCall {
  readonly result: string
  /** `running`: only while the answer streams. Absent: done. */
  readonly state?: 'running' | 'failed'
}

/** The tools of the embedded model, which was trained with them. */
export const TRAINED_TOOLS = assistTools({ only: ['calculate', 'current_date', 'convert_units'] })

/** The tools of chosen models. */
export const TOOLS = assistTools()

const LABELS: ReadonlyMap<string, LaterWord> = new Map(
  Object.entries({
    calculate: 'toolCalculate',
    current_date: 'toolDate',
    convert_units: 'toolUnits',
    time_in: 'toolTime',
    days_between: 'toolDays',
    tools: 'set-tools',
  } satisfies Readonly<Record<AssistToolName | 'tools', LaterWord>>),
)

/** The step that is shown while a model chooses a tool. */
export const CHOOSING: UsedTool = {
  id: 'choosing',
  name: 'tools',
  arguments: {},
  result: '',
  state: 'running',
}

/** A tool's display name. */
export function toolLabel(name: string): string {
  const label = LABELS.get(name)
  return label === undefined ? name : t(label)
}

/** A call that was run, as a step. */
export const stepOfRun = ({ id, name, arguments: given, state, result = '' }: ToolRun): UsedTool => ({
  id,
  name,
  arguments: given,
  result,
  ...(state !== 'done' && { state }),
})

/** Messages that show a model the calls before its answer. */
export const usedMessages = (used: readonly UsedTool[]): readonly Message[] =>
  used.flatMap(({ id, name, arguments: given, result }) => [
    { role: 'assistant' as const, content: '', toolCalls: [{ id, name, arguments: given }] },
    { role: 'tool' as const, content: result, toolCallId: id, name },
  ])
