// Tool calls of replies. In: a prompt with tools, and the reply's text in pieces. Out: the calls in it, with
// new ids.
import { HalfbyteError } from '../../base/errors.ts'
import { ToolCallParser } from '../../text/chat/tool-calls.ts'
import type { Prompt } from '../wire/protocol.ts'
import type { ToolCall } from '../wire/reply.ts'

/** Finds the calls of one reply. */
export interface ReplyToolCalls {
  /** The text outside calls, as far as that is certain. */
  push(text: string): string
  finish(): string
  readonly found: readonly ToolCall[]
}

/** Undefined if the prompt has no tools. Throws `unsupported` for a tool without a name. */
export function toolCallsOf(prompt: Prompt): ReplyToolCalls | undefined {
  if (prompt.type === 'text' || prompt.tools === undefined || prompt.tools.length === 0) return undefined
  const names = prompt.tools.map(({ name }) => name)
  if (new Set(names).size < names.length || names.some((name) => typeof name !== 'string' || name === '')) {
    throw new HalfbyteError(
      'unsupported',
      `each of the ${names.length} tools needs a name of its own; change them`,
    )
  }
  const before = prompt.messages.reduce((sum, { toolCalls = [] }) => sum + toolCalls.length, 0)
  const parser = new ToolCallParser(prompt.tools)
  return {
    push: (text) => parser.push(text),
    finish: () => parser.finish(),
    get found() {
      // Mistral's template requires ids of nine letters and digits.
      return parser.calls.map((call, index) => ({
        id: `call${String(before + index + 1).padStart(5, '0')}`,
        ...call,
      }))
    },
  }
}
