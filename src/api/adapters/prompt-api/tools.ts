// Prompt API tools. In: the calls of a reply, a page's tools. Out: the messages that answer them.
import type { Message } from '../../../engine/wire/protocol.ts'
import type { ToolCall } from '../../../engine/wire/reply.ts'
import type { PromptTool } from './input.ts'

/** Most rounds of tool calls for one prompt. */
export const MOST_ROUNDS = 16

/** Runs the calls in parallel and waits for all. Rejects with a tool's error or with the signal's reason. */
export async function runCalls(
  calls: readonly ToolCall[],
  tools: readonly PromptTool[],
  signal: AbortSignal,
): Promise<Message[]> {
  return unlessAborted(Promise.all(calls.map((call) => runCall(call, tools))), signal)
}

/**
 * Resolves as `work` does, or rejects with the signal's reason as soon as it is aborted. `work` is not
 * stopped.
 */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

async function runCall(
  { id, name, arguments: given }: ToolCall,
  tools: readonly PromptTool[],
): Promise<Message> {
  const tool = tools.find((one) => one.name === name)!
  return { role: 'tool', content: String(await tool.execute(given as never)), toolCallId: id, name }
}
