// Messages. In: a message from a caller. Out: a copy of the parts that the engine knows.
import { checkLevels } from '../../base/levels.ts'
import { wrongOption } from '../../base/options.ts'
import { isObject, unwrap } from '../../base/values.ts'
import type { Message } from '../../engine/wire/protocol.ts'

/**
 * Copies only what the worker needs, so later changes by the caller have no effect. The worker checks the
 * values.
 */
export const plainMessage = (message: Message): Message => {
  if (!isObject(message)) throw wrongOption('a message', message, 'an object with role and content')
  const { role, content, toolCalls, toolCallId, name } = message
  // Values that are nested too deeply are not copied; the worker rejects them.
  checkLevels(toolCalls)
  return {
    ...{ role, content },
    ...(toolCalls !== undefined && { toolCalls: unwrap(toolCalls) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
  }
}
