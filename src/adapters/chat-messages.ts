// Converts messages from other libraries to our own.

import { fromBase64 } from '../core/base/base64.ts'
import { checkList } from '../core/base/check-options.ts'
import { HalfbyteError } from '../core/base/errors.ts'
import { isObject } from '../core/base/values.ts'
import { joinParts } from '../engine/api/message-parts.ts'
import type { GenerateOptions, Message, ToolCall } from '../engine/api/types.ts'

/** Returns the text or image of a message part; undefined if the part cannot be read. */
type PartReader = (part: { readonly type: string }) => string | Blob | undefined

/** `index`: position of the message, for errors. Throws `unsupported` for an unknown role. */
export function roleOf(role: string, index: number): Message['role'] {
  // Newer OpenAI clients use this name.
  if (role === 'developer') return 'system'
  if (role === 'system' || role === 'user' || role === 'assistant' || role === 'tool') return role
  throw new HalfbyteError(
    'unsupported',
    `message ${index} has the role "${role}" but only system, developer, user, assistant and tool are supported; change it`,
    { name: 'messages' },
  )
}

type Content = string | readonly { readonly type: string }[] | null | undefined

/** The texts of a message's parts, joined. Throws `unsupported` for a part that is not text. */
export const textOf = (content: Content, index: number): string => contentOf(content, index, textPart).content

/** The texts of a message's parts, joined, and its images. Throws `unsupported` for any other part. */
export function contentOf(
  content: Content,
  index: number,
  read: PartReader,
): Pick<Message, 'content' | 'images'> {
  if (typeof content === 'string') return { content }
  if (content != null) checkList(`the content of message ${index}`, content)
  const parts = (content ?? []).map((part) => {
    const found = read(part)
    if (found !== undefined) return found
    throw new HalfbyteError(
      'unsupported',
      `message ${index} has a part of type "${part.type}" but only text and images are supported; leave it out`,
      { name: 'messages' },
    )
  })
  return joinParts(parts)
}

/** An image whose bytes are given in base64. Throws `unsupported` if the data isn't valid base64. */
export function pictureOf(base64: string, type: string): Blob {
  try {
    return new Blob([fromBase64(base64)], { type })
  } catch {
    throw unreadPicture('its data is not valid base64')
  }
}

/** An image at a `data:` address. Throws `unsupported` for other addresses, which are not fetched here. */
export function pictureAt(address: string): Blob {
  const [, type = '', base64] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(address) ?? []
  if (base64 !== undefined) return pictureOf(base64, type)
  throw unreadPicture(`its URL begins with ${JSON.stringify(address.slice(0, 24))}`)
}

const unreadPicture = (reason: string): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `an image cannot be read: ${reason}; fetch it and pass a data: URL with base64`,
    { name: 'messages' },
  )

export function textPart(part: { readonly type: string; readonly text?: unknown }): string | undefined {
  return part.type === 'text' && typeof part.text === 'string' ? part.text : undefined
}

/** The thought in a message's content blocks, as written by Mistral's clients. */
export function thoughtOf(content: unknown, index: number): string {
  if (!Array.isArray(content)) return ''
  return content
    .map((part) => {
      if (!isObject(part) || part['type'] !== 'thinking') return ''
      const { thinking } = part
      return typeof thinking === 'string' ? thinking : textOf(thinking as Parameters<typeof textOf>[0], index)
    })
    .join('')
}

/** A call that an earlier reply made. Throws `unsupported` if the arguments are not an object. */
export function callOf(id: string, name: string, given: unknown): ToolCall {
  const parsed = typeof given === 'string' ? parsedJson(given) : given
  if (isObject(parsed)) {
    const call = { id, name, arguments: parsed as ToolCall['arguments'] }
    return typeof given === 'string' && given !== '' ? { ...call, argumentsJson: given } : call
  }
  throw new HalfbyteError(
    'unsupported',
    `call ${id} of "${name}" has arguments that are not a JSON object; pass an object`,
    { name: 'messages', call: id, tool: name },
  )
}

/** The arguments as JSON text, as the model wrote them. */
export const argumentsTextOf = ({ arguments: given, argumentsJson }: ToolCall): string =>
  argumentsJson ?? JSON.stringify(given)

/**
 * Gives an id to each call without one. Answers without an id belong to the preceding calls, in order. Some
 * clients send null for both.
 */
export function withCallIds(messages: readonly Message[]): readonly Message[] {
  const taken = new Set(messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)))
  let count = 0
  const newId = (): string => {
    const id = `call${String(++count).padStart(5, '0')}`
    return taken.has(id) ? newId() : id
  }
  let unanswered: string[] = []
  return messages.map((message) => {
    if (message.toolCalls !== undefined) {
      const toolCalls = message.toolCalls.map((call) => ({ ...call, id: call.id ?? newId() }))
      unanswered = toolCalls.map(({ id }) => id)
      return { ...message, toolCalls }
    }
    if (message.role !== 'tool') return message
    const { toolCallId = unanswered[0] } = message
    unanswered = unanswered.filter((id) => id !== toolCallId)
    return toolCallId === undefined ? message : { ...message, toolCallId }
  })
}

/** Also adds the tool's name to each answer, because some templates need it. */
export function withToolNames(messages: readonly Message[]): Message[] {
  const names = new Map<string, string>()
  return messages.map((message) => {
    for (const { id, name } of message.toolCalls ?? []) names.set(id, name)
    const name = message.role === 'tool' ? names.get(message.toolCallId ?? '') : undefined
    return name === undefined || message.name !== undefined ? message : { ...message, name }
  })
}

/**
 * A conversation without a final assistant message, which is the beginning of the reply, or of its thought if
 * it has no text. Throws `unsupported` if that message has calls, whose answers are missing.
 */
export function splitPrefix(messages: readonly Message[]): {
  readonly messages: readonly Message[]
  readonly begun: Pick<GenerateOptions, 'prefix' | 'reasoningPrefix'>
} {
  const last = messages.at(-1)
  if (last?.role !== 'assistant') return { messages, begun: {} }
  const { content: prefix, reasoning: reasoningPrefix, toolCalls = [] } = last
  const calls = toolCalls.length
  if (calls === 0) return { messages: messages.slice(0, -1), begun: { prefix, reasoningPrefix } }
  throw new HalfbyteError(
    'unsupported',
    `the last message has ${calls} calls without answers; add a message with the role tool for each`,
    { name: 'messages', calls },
  )
}

function parsedJson(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}
