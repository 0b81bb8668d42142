// Tool calls of replies. In: a prompt with tools, and the reply's text in pieces. Out: the calls in it, with ids of their own.
import { HalfbyteError } from '../base/errors.ts'
import { ToolCallParser } from '../text/tool-calls.ts'
import type { Prompt, ToolCall } from './protocol.ts'

/** Finds the calls of one reply; undefined where the prompt has no tools. Throws `unsupported` for tools without a name. */
export function toolCallsOf(prompt: Prompt): ReplyToolCalls | undefined {
  if (prompt.type === 'text' || prompt.tools === undefined || prompt.tools.length === 0) return undefined
  const names = prompt.tools.map(({ name }) => name)
  if (new Set(names).size < names.length || names.some((name) => typeof name !== 'string' || name === '')) {
    throw new HalfbyteError(
      'unsupported',
      `the ${names.length} tools need a name each, no two alike; change them`,
    )
  }
  const before = prompt.messages.reduce((sum, { toolCalls = [] }) => sum + toolCalls.length, 0)
  return new ReplyToolCalls(names, before)
}

export class ReplyToolCalls {
  readonly #parser: ToolCallParser
  /** Calls of the conversation before this reply. */
  readonly #before: number

  constructor(names: readonly string[], before: number) {
    this.#parser = new ToolCallParser(names)
    this.#before = before
  }

  /** The text that is no call, as far as that is certain. */
  push(text: string): string {
    return this.#parser.push(text)
  }

  finish(): string {
    return this.#parser.finish()
  }

  /** Mistral's template wants ids of nine letters and digits. */
  get found(): readonly ToolCall[] {
    return this.#parser.calls.map((call, index) => ({
      id: `call${String(this.#before + index + 1).padStart(5, '0')}`,
      ...call,
    }))
  }
}
