// Chat messages. In: roles, contents and tool answers as other libraries write them. Out: our own messages.
import { HalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import type { Message, ToolCall } from '../../engine/wire/protocol.ts'

/** What a part of a message says; undefined: it is none that can be read. */
export type PartReader = (part: { readonly type: string }) => string | undefined

/** `index` is the message's place, for the sentence of an error. Throws `unsupported` for a role that no template knows. */
export function roleOf(role: string, index: number): Message['role'] {
  // What newer clients of OpenAI call it.
  if (role === 'developer') return 'system'
  if (role === 'system' || role === 'user' || role === 'assistant' || role === 'tool') return role
  throw new HalfbyteError(
    'unsupported',
    `message ${index} has the role "${role}" but only system, developer, user, assistant and tool are read; change it`,
  )
}

/** The texts of a message's parts, one after the other. Throws `unsupported` for a part that says something else. */
export function textOf(
  content: string | readonly { readonly type: string }[] | null | undefined,
  index: number,
  read: PartReader = textPart,
): string {
  if (typeof content === 'string') return content
  return (content ?? [])
    .map((part) => {
      const text = read(part)
      if (text !== undefined) return text
      throw new HalfbyteError(
        'unsupported',
        `message ${index} has a part of the type "${part.type}" but the model reads text only; leave it out`,
      )
    })
    .join('')
}

export function textPart(part: { readonly type: string; readonly text?: unknown }): string | undefined {
  return part.type === 'text' && typeof part.text === 'string' ? part.text : undefined
}

/** A call that an earlier reply made. Throws `unsupported` for arguments that are no object. */
export function callOf(id: string, name: string, given: unknown): ToolCall {
  const parsed = typeof given === 'string' ? parsedJson(given) : given
  if (isObject(parsed)) {
    return { id, name, arguments: parsed as ToolCall['arguments'] }
  }
  throw new HalfbyteError(
    'unsupported',
    `call ${id} of "${name}" has arguments that are no object; give the JSON of one`,
    { id, name },
  )
}

/** Tells answers apart by the name of their tool too, as some templates want it. */
export function withToolNames(messages: readonly Message[]): Message[] {
  const names = new Map<string, string>()
  return messages.map((message) => {
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name)
    const name = message.role === 'tool' ? names.get(message.toolCallId ?? '') : undefined
    return name === undefined || message.name !== undefined ? message : { ...message, name }
  })
}

function parsedJson(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}
