// Chat turns. In: messages and tools of the API. Out: the prompt of a model's template, in which nobody ends a turn by writing.
import { HalfbyteError } from '../base/errors.ts'
import { type ChatMessage, type ChatTemplate, chatTokens } from '../text/chat.ts'
import type { TokenSource } from '../text/detokenizer.ts'
import type { Tokenizer } from '../text/tokenizer.ts'
import { TOOL_CALL_TEXTS } from '../text/tool-calls.ts'
import type { Message, Tool } from './protocol.ts'

/** Throws `format` when the template refuses the messages, `unsupported` when it knows no tools and some are given. */
export function renderTurns(
  template: ChatTemplate,
  tokenizer: Tokenizer,
  messages: readonly Message[],
  tools: readonly Tool[] = [],
): string {
  const turns = messages.map((message) => turnOf(message, tokenizer))
  const tokens = chatTokens(tokenizer)
  const plain = template.render(turns, tokens)
  if (tools.length === 0) return plain
  const described = tools.map((tool) => quoted(descriptionOf(tool), tokenizer) as object)
  const prompt = template.render(turns, { ...tokens, tools: described })
  if (prompt !== plain) return prompt
  throw new HalfbyteError(
    'unsupported',
    `${tools.length} tools are given, but the chat template of this model knows none; leave them out or take another model`,
  )
}

/** The tokenizer's tokens, those that mark tool calls as plain text. */
export function withToolMarks(tokenizer: Tokenizer): TokenSource {
  const marks = new Set(TOOL_CALL_TEXTS.map((text) => tokenizer.idOf(text)))
  return {
    addsSpacePrefix: tokenizer.addsSpacePrefix,
    tokenBytes: (id) => tokenizer.tokenBytes(id),
    isSpecial: (id) => tokenizer.isSpecial(id) && !marks.has(id),
  }
}

/** A message as templates know it, under the names of OpenAI's API. */
function turnOf({ role, content, toolCalls, toolCallId, name }: Message, tokenizer: Tokenizer): ChatMessage {
  const calls = toolCalls?.map(({ id, name, arguments: given }) => ({
    id,
    type: 'function',
    function: quoted({ name, arguments: given }, tokenizer),
  }))
  return {
    role,
    content: tokenizer.quote(content),
    ...(calls !== undefined && calls.length > 0 && { tool_calls: calls }),
    ...(toolCallId !== undefined && { tool_call_id: tokenizer.quote(toolCallId) }),
    ...(name !== undefined && { name: tokenizer.quote(name) }),
  }
}

function descriptionOf({ name, description = '', parameters }: Tool): object {
  const none = { type: 'object', properties: {} }
  return { type: 'function', function: { name, description, parameters: parameters ?? none } }
}

/** The same value, with every text in it quoted. */
function quoted(value: unknown, tokenizer: Tokenizer): unknown {
  if (typeof value === 'string') return tokenizer.quote(value)
  if (Array.isArray(value)) return value.map((item) => quoted(item, tokenizer))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [tokenizer.quote(key), quoted(item, tokenizer)]),
  )
}
