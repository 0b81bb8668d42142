// Messages. In: messages from a caller. Out: copies of the parts that the engine knows.

import { checkLevels } from '../../base/levels.ts'
import { checkList } from '../../base/lists.ts'
import { readFrom, wrongOption } from '../../base/options.ts'
import { isObject, unwrap } from '../../base/values.ts'
import type { Message } from '../../engine/wire/protocol.ts'

/**
 * Copies only what the worker needs, so later changes by the caller have no effect. The worker checks the
 * values. Throws `unsupported` for what is no list of objects, or cannot be read.
 */
export function plainMessages(name: string, messages: unknown): Message[] {
  return readFrom(name, () => {
    checkList(name, messages)
    // Holes are messages too: each is refused by its place.
    return Array.from(messages, plainMessage)
  })
}

function plainMessage(message: unknown): Message {
  if (!isObject(message)) throw wrongOption('a message', message, 'an object with role and content')
  const { role, content, reasoning, toolCalls, toolCallId, name } = message as unknown as Message
  // Values that are nested too deeply are not copied; the worker rejects them.
  checkLevels(toolCalls)
  return {
    ...{ role, content },
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { toolCalls: unwrap(toolCalls) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
  }
}

/** What `send` adds: a text of the user, a message, or several. */
export function saidMessages(input: unknown): Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return readFrom('the message', () => plainMessages('messages', Array.isArray(input) ? input : [input]))
}
