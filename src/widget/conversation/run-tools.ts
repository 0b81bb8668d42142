// Tool calls. In: what the model asks for, the page's functions. Out: messages with the results, and reports
// of each run.
import { reasonOf } from '../../base/errors.ts'
import type { Message } from '../../engine/wire/protocol.ts'
import type { ToolCall } from '../../engine/wire/reply.ts'
import type { ToolRun, WidgetTool } from './entries.ts'

/** Characters of a result that the model is told. */
const MOST_RESULT = 8000

/** Runs the calls in order. `onRun` gets the state of the call at a place, twice each. */
export async function runTools(
  calls: readonly ToolCall[],
  tools: readonly WidgetTool[],
  signal: AbortSignal,
  onRun: (place: number, run: ToolRun) => void,
): Promise<Message[]> {
  const messages: Message[] = []
  for (const [place, call] of calls.entries()) {
    signal.throwIfAborted()
    const tool = tools.find(({ name }) => name === call.name)
    const run = { name: call.name, label: tool?.label ?? call.name, arguments: call.arguments } as const
    onRun(place, { ...run, state: 'running' })
    const outcome = await resultOf(tool, call, signal)
    onRun(place, { ...run, ...outcome })
    messages.push({ role: 'tool', content: outcome.result, toolCallId: call.id, name: call.name })
  }
  return messages
}

async function resultOf(
  tool: WidgetTool | undefined,
  call: ToolCall,
  signal: AbortSignal,
): Promise<{ readonly state: 'done' | 'failed'; readonly result: string }> {
  try {
    if (tool === undefined) throw new Error(`there is no tool ${call.name}`)
    const value = await untilAborted(
      Promise.resolve().then(() => tool.run(call.arguments, { signal })),
      signal,
    )
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'done')
    return { state: 'done', result: text.slice(0, MOST_RESULT) }
  } catch (error) {
    signal.throwIfAborted()
    return { state: 'failed', result: `error: ${reasonOf(error)}`.slice(0, MOST_RESULT) }
  }
}

/** A function that ignores the signal must not hold the conversation. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
