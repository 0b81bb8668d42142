// Converts the body of a request to OpenAI's Responses API to a chat completion request.

import { checkList, readFrom, renamedOption, shown, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isObject, type JsonObject } from '../../core/base/values.ts'
import type { SamplerOptions } from '../../engine/api/types.ts'
import { type ChatFields, type ChatMessageFields, type ChatRequest, chatRequest } from '../openai-request.ts'
import type { ChatCompletionParams } from '../openai-types.ts'
import { type OnWarning, warnOfUnread } from '../reply-form.ts'

/** The fields that have a different form in a chat completion. */
const OWN = {
  input: true,
  instructions: true,
  text: true,
  reasoning: true,
  max_output_tokens: true,
  include: true,
  store: true,
  metadata: true,
  tools: true,
  tool_choice: true,
} as const
/** The fields that are passed on unchanged. */
const SAME = {
  model: true,
  stream: true,
  temperature: true,
  top_p: true,
  top_logprobs: true,
  halfbyte: true,
  parallel_tool_calls: true,
  chat_template_kwargs: true,
  grammar: true,
  seed: true,
  stop: true,
  logit_bias: true,
  top_k: true,
  min_p: true,
  typical_p: true,
  repetition_penalty: true,
  frequency_penalty: true,
  presence_penalty: true,
} as const satisfies Partial<Record<keyof ChatCompletionParams, true>>

/** Fields that refer to data stored on a server. Ignoring them would answer a different question. */
const STORED = {
  previous_response_id: 'send the whole conversation as input',
  conversation: 'send the whole conversation as input',
  prompt: 'send its text as instructions or input',
} as const

/** Fields of chat completions that have other names in responses. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['messages', 'input'],
  ['response_format', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
])

/**
 * `params` are the request's fields. Throws `unsupported` for unsupported values, under the
 * names of these fields.
 */
export function responsesRequest(
  params: JsonObject,
  sampling: SamplerOptions,
  onWarning: OnWarning,
): ChatRequest {
  try {
    return readFrom('the request', () => {
      for (const [name, instead] of Object.entries(STORED)) {
        if (params[name] === undefined) continue
        const sentence = `${name} is ${shown(params[name])}, but nothing is stored here; ${instead}`
        throw new HalfbyteError('unsupported', sentence, { name })
      }
      if (params['background'] === true)
        throw wrongOption('background', true, 'false: nothing is stored here')
      warnOfUnread(params, { ...OWN, ...SAME, background: true }, onWarning)
      const request = chatRequest(chatParams(params), sampling, onWarning)
      return { ...request, names: { ...request.names, maxTokens: 'max_output_tokens' } }
    })
  } catch (error) {
    throw renamedOption(error, (name) => NAMES.get(name) ?? name)
  }
}

function chatParams(params: JsonObject): ChatFields {
  const { tools, tool_choice: choice, text, reasoning, include, top_logprobs } = params
  if (tools !== undefined) checkList('tools', tools)
  if (text !== undefined && !isObject(text)) throw wrongOption('text', text, 'an object with a format')
  if (reasoning !== undefined && !isObject(reasoning)) throw wrongOption('reasoning', reasoning, 'an object')
  const wantsLogprobs =
    Array.isArray(include) && include.slice(0, 100).includes('message.output_text.logprobs')
  const same = Object.entries(params).filter(([name]) => Object.hasOwn(SAME, name))
  return {
    ...(Object.fromEntries(same) as Partial<ChatFields>),
    messages: messagesOf(params),
    max_completion_tokens: params['max_output_tokens'] as number,
    ...(tools !== undefined && { tools: tools.map(toolOf) }),
    ...(choice !== undefined && {
      tool_choice: toolOf(choice) as NonNullable<ChatFields['tool_choice']>,
    }),
    response_format: formatOf(text?.['format']),
    reasoning_effort: reasoning?.['effort'] as string,
    logprobs: wantsLogprobs || top_logprobs !== undefined,
  }
}

/** A function tool, or the choice of one. In chat completions its fields are nested one level deeper. */
function toolOf(tool: unknown): { readonly type: string } {
  if (!isObject(tool) || tool['type'] !== 'function') return tool as { readonly type: string }
  const { type, ...own } = tool
  return { type, function: own } as { readonly type: string }
}

function formatOf(format: unknown): ChatFields['response_format'] {
  if (!isObject(format) || format['type'] !== 'json_schema') {
    return format as ChatFields['response_format']
  }
  if (!isObject(format['schema'])) throw wrongOption('text.format.schema', format['schema'], 'a JSON Schema')
  return { type: 'json_schema', json_schema: { schema: format['schema'] } }
}

function messagesOf({ input, instructions }: JsonObject): ChatMessageFields[] {
  if (instructions !== undefined && typeof instructions !== 'string')
    throw wrongOption('instructions', instructions, 'a text')
  if (typeof input !== 'string' && !Array.isArray(input))
    throw wrongOption('input', input, 'a string or a list of items')
  const said: ChatMessageFields[] = []
  if (typeof input === 'string') said.push({ role: 'user', content: input })
  else {
    checkList('input', input)
    for (const item of input) addItem(said, item)
  }
  return instructions === undefined || instructions === '' ? said : withSystem(instructions, said)
}

/** Many templates accept only one system text. */
function withSystem(instructions: string, [first, ...rest]: ChatMessageFields[]): ChatMessageFields[] {
  const isSystem = first?.role === 'system' || first?.role === 'developer'
  if (first === undefined || !isSystem)
    return [{ role: 'system', content: instructions }, ...(first ? [first] : []), ...rest]
  const parts =
    typeof first.content === 'string' ? [{ type: 'text', text: first.content }] : (first.content ?? [])
  return [{ ...first, content: [{ type: 'text', text: `${instructions}\n\n` }, ...parts] }, ...rest]
}

function addItem(said: ChatMessageFields[], item: unknown): void {
  if (!isObject(item)) throw wrongOption('an item in input', item, 'an object')
  const { type = 'message', call_id: id } = item
  if (type === 'message') {
    said.push({ role: item['role'] as string, content: contentOf(item['content']) })
  } else if (type === 'function_call') {
    const { name, arguments: given } = item as { name: string; arguments: string }
    const call = { id: id as string, type: 'function', function: { name, arguments: given } } as const
    const last = said.at(-1)
    // Calls are their own items here, and parts of the assistant's message in templates.
    if (last?.role === 'assistant')
      said[said.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] }
    else said.push({ role: 'assistant', tool_calls: [call] })
  } else if (type === 'function_call_output') {
    said.push({ role: 'tool', tool_call_id: id as string, content: contentOf(item['output']) })
  } else if (type !== 'reasoning') {
    throw wrongOption('the type of an item in input', type, 'message, function_call or function_call_output')
  }
}

const TEXTS: ReadonlySet<unknown> = new Set(['input_text', 'output_text'])

function contentOf(content: unknown): NonNullable<ChatMessageFields['content']> {
  if (typeof content === 'string') return content
  checkList('the content of an item in input', content)
  return content.map((part) => {
    if (!isObject(part)) throw wrongOption('a part of the content in input', part, 'an object')
    if (part['type'] === 'input_image' && typeof part['image_url'] === 'string')
      return { type: 'image_url', image_url: { url: part['image_url'] } }
    return (TEXTS.has(part['type']) ? { ...part, type: 'text' } : part) as { readonly type: string }
  })
}
