// Messages. In: a message as a caller made it. Out: what of it the engine knows.
import { checkLevels } from '../base/levels.ts'
import type { Message } from '../engine/wire/protocol.ts'

/** Only what crosses to the worker, which looks at it, and nothing the caller may change later. */
export const plainMessage = (message: Message): Message => {
  const { role, content, toolCalls, toolCallId, name } = message
  // What has too many levels is not copied either.
  checkLevels(toolCalls)
  return {
    ...{ role, content },
    ...(toolCalls !== undefined && { toolCalls: structuredClone(toolCalls) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
  }
}
