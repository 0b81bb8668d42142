// Finds the tool calls in a reply that arrives in chunks, and gives them ids.

import { checkList, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isObject } from '../../core/base/values.ts'
import { ToolCallParser } from '../../core/text/chat/calls/tool-calls.ts'
import type { Tool, ToolCall } from '../types/conversation.ts'
import type { Prompt } from '../wire/protocol.ts'

/** Finds the calls of one reply. */
export interface ReplyToolCalls {
  /** Returns the text outside calls, as far as it is certain. */
  push(text: string): string
  finish(): string
  /** Whether the reply has reached its maximum number of calls. */
  readonly isFull: boolean
  /** Like `push`, for the thought, in which only calls with marks count. */
  think(text: string): string
  finishThought(): string
  readonly found: readonly ToolCall[]
}

/** Throws `unsupported` unless it is a list of tools with distinct names. */
export function checkTools(tools: unknown): asserts tools is readonly Tool[] {
  checkList('tools', tools)
  for (const [index, tool] of tools.entries()) {
    const {
      name,
      description = '',
      parameters = {},
      strict = false,
    }: Record<string, unknown> = isObject(tool) ? tool : {}
    const isNamed = typeof name === 'string' && name !== '' && typeof description === 'string'
    if (isNamed && isObject(parameters) && typeof strict === 'boolean') continue
    throw wrongOption(
      `tool ${index}`,
      tool,
      'a name, and optionally description (a string), parameters (an object) and strict (true or false)',
    )
  }
  const names = tools.map((tool) => (tool as Tool).name)
  if (new Set(names).size === names.length) return
  throw new HalfbyteError('unsupported', `each of the ${names.length} tools needs a unique name; change them`)
}

/** Checks the prompt's tools; undefined if there are none. Text after call number `most` is dropped. */
export function toolCallsOf(prompt: Prompt, most = Number.POSITIVE_INFINITY): ReplyToolCalls | undefined {
  if (prompt.type !== 'messages' || prompt.tools === undefined || prompt.tools.length === 0) return undefined
  const before = prompt.messages.reduce((sum, { toolCalls = [] }) => sum + toolCalls.length, 0)
  const parser = new ToolCallParser(prompt.tools)
  const thought = new ToolCallParser(prompt.tools, { isMarked: true })
  const calls = () => [...thought.calls, ...parser.calls]
  const isFull = () => thought.calls.length + parser.calls.length >= most
  return {
    push: (text) => (isFull() ? '' : parser.push(text)),
    finish: () => (isFull() ? '' : parser.finish()),
    think: (text) => (isFull() ? '' : thought.push(text)),
    finishThought: () => (isFull() ? '' : thought.finish()),
    get isFull() {
      return isFull()
    },
    get found() {
      // Mistral's template requires ids of nine letters and digits. A list of calls is parsed at once.
      return calls()
        .slice(0, most)
        .map(({ name, arguments: given, json }, index) => ({
          id: `call${String(before + index + 1).padStart(5, '0')}`,
          name,
          arguments: given,
          argumentsJson: json,
        }))
    },
  }
}
