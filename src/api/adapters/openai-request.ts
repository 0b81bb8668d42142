// OpenAI requests. In: the parameters of a chat completion. Out: our messages and options, and the names of
// ignored fields.
import { HalfbyteError } from '../../base/errors.ts'
import { isObject } from '../../base/values.ts'
import type { Message, Tool } from '../../engine/wire/protocol.ts'
import type { GenerateOptions } from '../types.ts'
import { callOf, roleOf, textOf, withToolNames } from './chat-messages.ts'
import type { ChatCompletionParams, ChatMessageParam } from './openai-types.ts'
import { ANY_OBJECT, formOptions, type ToolChoice } from './reply-form.ts'
import type { OnWarning } from './warn.ts'

export interface ChatRequest {
  readonly messages: readonly Message[]
  readonly options: GenerateOptions
  /** Number of replies. */
  readonly count: number
  readonly isStream: boolean
  readonly includeUsage: boolean
}

/** The parameters that are read, by type. Others cause a warning. */
const FIELDS: Record<keyof ChatCompletionParams, true> = {
  messages: true,
  model: true,
  stream: true,
  stream_options: true,
  max_tokens: true,
  max_completion_tokens: true,
  temperature: true,
  top_p: true,
  frequency_penalty: true,
  presence_penalty: true,
  logit_bias: true,
  seed: true,
  stop: true,
  response_format: true,
  tools: true,
  tool_choice: true,
  logprobs: true,
  top_logprobs: true,
  n: true,
}

/** Throws `unsupported` for messages that the model cannot be given, instead of answering something else. */
export function chatRequest(params: ChatCompletionParams, onWarning: OnWarning): ChatRequest {
  if (!Array.isArray(params?.messages) || params.messages.some((each) => !isObject(each)))
    throw refused('messages is not a list of messages; give the conversation so far')
  for (const [name, value] of Object.entries(params)) {
    if (value == null || Object.hasOwn(FIELDS, name)) continue
    onWarning(`halfbyte/openai ignores "${name}": the engine has nothing like it`)
  }
  const count = params.n ?? 1
  const isStream = params.stream === true
  if (!(Number.isSafeInteger(count) && count >= 1))
    throw refused(`n is ${count} but must be a whole number from 1`)
  if (isStream && count > 1)
    throw refused(`n is ${count} but a stream has one reply; ask for them one by one`)
  return {
    messages: withToolNames(params.messages.map(readMessage)),
    options: options(params),
    count,
    isStream,
    includeUsage: params.stream_options?.include_usage === true,
  }
}

function options(params: ChatCompletionParams): GenerateOptions {
  const { stop } = params
  return {
    maxTokens: params.max_completion_tokens ?? params.max_tokens ?? undefined,
    // The API's own defaults. It has no top-k and min-p, so these keep the engine's defaults.
    temperature: params.temperature ?? 1,
    topP: params.top_p ?? 1,
    frequencyPenalty: params.frequency_penalty ?? undefined,
    presencePenalty: params.presence_penalty ?? undefined,
    logitBias: params.logit_bias ?? undefined,
    seed: params.seed ?? undefined,
    logprobs: readLogprobs(params),
    ...formOptions({
      tools: (params.tools ?? []).map(readTool),
      choice: readChoice(params.tool_choice),
      schema: schemaOf(params.response_format),
    }),
    stop: typeof stop === 'string' ? [stop] : (stop ?? undefined),
  }
}

function schemaOf(format: ChatCompletionParams['response_format']): object | undefined {
  if (format?.type === 'json_object') return ANY_OBJECT
  return format?.type === 'json_schema' ? (format.json_schema.schema ?? ANY_OBJECT) : undefined
}

function readLogprobs({ logprobs, top_logprobs }: ChatCompletionParams): number | undefined {
  if (logprobs === true) return top_logprobs ?? 0
  if (top_logprobs == null) return undefined
  throw refused(`top_logprobs is ${top_logprobs} but logprobs is ${logprobs}; set that to true`)
}

function readTool(tool: NonNullable<ChatCompletionParams['tools']>[number]): Tool {
  if (!('function' in tool))
    throw refused(`a tool has the type "${tool.type}" but only functions can be called`)
  const { name, description, parameters } = tool.function
  return { name, description, parameters }
}

const CHOICES: readonly string[] = ['auto', 'none', 'required'] satisfies ToolChoice[]

function readChoice(choice: ChatCompletionParams['tool_choice']): ToolChoice {
  if (choice == null) return 'auto'
  if (typeof choice === 'string') {
    if (CHOICES.includes(choice)) return choice
    throw refused(`tool_choice is "${choice}" but must be ${CHOICES.join(', ')} or a function`)
  }
  if ('function' in choice) return { tool: choice.function.name }
  throw refused(`tool_choice has the type "${choice.type}" but only a function can be chosen`)
}

function readMessage(message: ChatMessageParam, index: number): Message {
  const { tool_calls, tool_call_id } = message
  return {
    role: roleOf(message.role, index),
    content: textOf(message.content, index),
    ...(tool_calls != null && { toolCalls: tool_calls.map(readCall) }),
    ...(tool_call_id != null && { toolCallId: tool_call_id }),
  }
}

function readCall(call: NonNullable<ChatMessageParam['tool_calls']>[number]) {
  if ('function' in call) return callOf(call.id, call.function.name, call.function.arguments)
  throw refused(`call ${call.id} has the type "${call.type}" but only functions can be called`)
}

const refused = (sentence: string): HalfbyteError => new HalfbyteError('unsupported', sentence)
