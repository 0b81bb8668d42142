// Converts the parameters of a chat completion to our messages and options, and generates its `n` replies.

import { checkList, renamedOption, shown, wrongOption } from '../core/base/check-options.ts'
import { HalfbyteError } from '../core/base/errors.ts'
import { checkValue, whole } from '../core/base/options/option-kinds.ts'
import { isObject } from '../core/base/values.ts'
import type { Engine } from '../engine/api/engine.ts'
import type {
  GenerateOptions,
  Generation,
  GenerationResult,
  Message,
  SamplerOptions,
  TextChunk,
  Timings,
  Tool,
} from '../engine/api/types.ts'
import {
  callOf,
  contentOf,
  pictureAt,
  roleOf,
  splitPrefix,
  textPart,
  thoughtOf,
  withCallIds,
  withToolNames,
} from './chat-messages.ts'
import type { ChatCompletionParams, ChatMessageParam, SamplingParams } from './openai-types.ts'
import { WITHOUT_THOUGHT } from './reasoning-effort.ts'
import {
  ANY_OBJECT,
  formOptions,
  type OnWarning,
  type ToolChoice,
  unreadFields,
  warnOfUnread,
} from './reply-form.ts'
import type { Given } from './request-fields.ts'

export type ChatFields = Given<ChatCompletionParams>
export type ChatMessageFields = Given<ChatMessageParam>

/** OpenAI's own limit. Replies are generated one after another and kept until the last. */
const MAX_REPLIES = 128

type ReplyPart =
  | { readonly type: 'start'; readonly index: number }
  | { readonly type: 'chunk'; readonly index: number; readonly chunk: TextChunk }
  | { readonly type: 'end'; readonly index: number; readonly result: GenerationResult }

/** The number of replies that `n` requests. Throws `unsupported` for an invalid number. */
export function replyCount(n: unknown): number {
  const count = n ?? 1
  checkValue('n', count, whole(1, MAX_REPLIES))
  return count as number
}

/** Our option names, and the corresponding fields of a request. Other names are the same. */
type FieldNames = Readonly<Record<string, string>>

/** What a request used, reported when a reply, or all of its vectors or scores, are complete. */
export interface RequestUsage {
  /** The model's id. */
  readonly model: string
  readonly promptTokens: number
  /** Prompt tokens that were not processed again, because their state was still cached. */
  readonly cachedTokens: number
  /** 0 for vectors and scores. */
  readonly completionTokens: number
  /** The timings of a reply; undefined for vectors and scores. */
  readonly timings?: Timings | undefined
}

export type OnUsage = (usage: RequestUsage) => void

/** What a request tells its caller. */
export interface Hooks {
  readonly onWarning: OnWarning
  readonly onUsage?: OnUsage | undefined
}

/** Reports each reply of the engine to `onUsage`. */
export const tellUsage =
  ({ model }: Engine, onUsage: OnUsage | undefined) =>
  ({ usage: { promptTokens, cachedTokens, completionTokens }, timings }: GenerationResult): void =>
    onUsage?.({ model: model.id, promptTokens, cachedTokens, completionTokens, timings })

interface ReplyRequest {
  /** Number of replies. */
  readonly count: number
  readonly options: GenerateOptions
  readonly names: FieldNames
  /** Called at the end of each reply. */
  readonly onResult?: ((result: GenerationResult) => void) | undefined
}

/**
 * Leaving the loop cancels the running reply. Errors about options use the names of the request's fields.
 */
export async function* replies(
  { count, options, names, onResult }: ReplyRequest,
  start: (options: GenerateOptions) => Generation,
): AsyncGenerator<ReplyPart, void> {
  for (let index = 0; index < count; index++) {
    yield { type: 'start', index }
    try {
      const generation = start({ ...options, ...seedOf(options.seed, index) })
      for await (const chunk of generation) yield { type: 'chunk', index, chunk }
      const result = await generation.result
      onResult?.(result)
      yield { type: 'end', index, result }
    } catch (error) {
      throw renamedOption(error, (name) =>
        name.replaceAll(/\w+/g, (word) => (Object.hasOwn(names, word) ? (names[word] as string) : word)),
      )
    }
  }
}

/** Replies to the same prompt must differ, and must be reproducible if the caller gave a seed. */
function seedOf(seed: unknown, index: number): { readonly seed?: number } {
  if (typeof seed !== 'number' || index === 0) return {}
  // The largest seed is followed by 0. An invalid seed has already been rejected by the first reply.
  return {
    seed: seed > Number.MAX_SAFE_INTEGER - index ? seed - Number.MAX_SAFE_INTEGER - 1 + index : seed + index,
  }
}

export interface ChatRequest extends ReplyRequest {
  readonly messages: readonly Message[]
  readonly isStream: boolean
  readonly includeUsage: boolean
}

/** The supported parameters, by type. Others cause a warning. */
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
  grammar: true,
  tools: true,
  tool_choice: true,
  logprobs: true,
  top_logprobs: true,
  n: true,
  parallel_tool_calls: true,
  top_k: true,
  min_p: true,
  typical_p: true,
  repetition_penalty: true,
  chat_template_kwargs: true,
  reasoning_effort: true,
  halfbyte: true,
}

/** The supported fields of a message. Deprecated function calls are not supported. */
const MESSAGE_FIELDS: Record<Exclude<keyof ChatMessageParam, 'name'>, true> = {
  role: true,
  content: true,
  tool_calls: true,
  tool_call_id: true,
  refusal: true,
  reasoning_content: true,
}

/**
 * Throws `unsupported` for messages that cannot be passed to the model, instead of answering something else.
 */
export function chatRequest(params: ChatFields, sampling: SamplerOptions, onWarning: OnWarning): ChatRequest {
  const given = readMessages(params?.messages)
  if (params?.tools !== undefined) checkList('tools', params.tools)
  warnOfUnread(params, FIELDS, onWarning)
  for (const name of new Set(params.messages.flatMap((message) => unreadFields(message, MESSAGE_FIELDS)))) {
    onWarning(`halfbyte/openai ignores "${name}" in messages: chat templates do not support it`)
  }
  const count = replyCount(params.n)
  const { messages, begun } = splitPrefix(given)
  return {
    messages,
    options: { ...begun, ...options(params, sampling) },
    names: { ...fieldNames(params), logprobs: 'top_logprobs' },
    count,
    isStream: params.stream === true,
    includeUsage: params.stream_options?.include_usage === true,
  }
}

function options(params: ChatFields, sampling: SamplerOptions): GenerateOptions {
  return {
    ...textOptions(params, sampling),
    maxTokens: params.max_completion_tokens ?? params.max_tokens,
    logprobs: readLogprobs(params),
    ...formOf(params),
    templateArguments: templateArgumentsOf(params),
    ...(params.parallel_tool_calls === false && { maxToolCalls: 1 }),
    ...params.halfbyte,
  }
}

/**
 * Template variables from vLLM's and llama.cpp's `chat_template_kwargs`, and from `reasoning_effort`, which
 * templates read under that name or, for `none`, as a switch.
 */
function templateArgumentsOf({ chat_template_kwargs: given, reasoning_effort: effort }: ChatFields) {
  if (given !== undefined && !isObject(given))
    throw wrongOption('chat_template_kwargs', given, 'an object with the variables of the chat template')
  if (given === undefined && effort === undefined) return undefined
  return {
    ...(effort === 'none' && WITHOUT_THOUGHT),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...given,
  }
}

/** The names that a request used for our options. */
export function fieldNames(
  params: Given<SamplingParams> & { readonly max_completion_tokens?: unknown },
): FieldNames {
  const own = Object.keys(params.halfbyte ?? {}).map((name) => [name, `halfbyte.${name}`])
  return {
    topP: 'top_p',
    topK: 'top_k',
    minP: 'min_p',
    typicalP: 'typical_p',
    logitBias: 'logit_bias',
    frequencyPenalty: 'frequency_penalty',
    presencePenalty: 'presence_penalty',
    repeatPenalty: 'repetition_penalty',
    templateArguments: 'chat_template_kwargs',
    maxTokens: params.max_completion_tokens === undefined ? 'max_tokens' : 'max_completion_tokens',
    ...Object.fromEntries(own),
  }
}

/** The options that chats and text completions share. */
export function textOptions(params: Given<SamplingParams>, sampling: SamplerOptions): GenerateOptions {
  const { stop, halfbyte } = params
  if (halfbyte !== undefined && !isObject(halfbyte))
    throw wrongOption('halfbyte', halfbyte, 'an object of options')
  // The API's own defaults, unless the model's files recommend others.
  const own = Object.keys(sampling).length > 0 ? {} : { temperature: 1, topP: 1 }
  const given = {
    temperature: params.temperature,
    topP: params.top_p,
    topK: params.top_k,
    minP: params.min_p,
    typicalP: params.typical_p,
    repeatPenalty: params.repetition_penalty,
    frequencyPenalty: params.frequency_penalty,
    presencePenalty: params.presence_penalty,
    logitBias: params.logit_bias,
    seed: params.seed,
    // llama.cpp's clients send an empty grammar to mean none.
    grammar: params.grammar === '' ? undefined : params.grammar,
    stop: typeof stop === 'string' ? [stop] : stop,
  }
  return { ...own, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
}

function schemaOf(format: ChatFields['response_format']): object | undefined {
  if (format === undefined || format.type === 'text') return undefined
  if (format.type === 'json_object') return format.schema ?? ANY_OBJECT
  if (format.type === 'json_schema' && isObject(format.json_schema)) {
    return format.json_schema.schema ?? ANY_OBJECT
  }
  const wanted = 'an object whose type is text, json_object, or json_schema with its json_schema.schema'
  throw wrongOption('response_format', format, wanted)
}

function formOf(params: ChatFields): GenerateOptions {
  const form = {
    tools: readTools(params.tools),
    choice: readChoice(params.tool_choice),
    schema: schemaOf(params.response_format),
  }
  try {
    return formOptions(form)
  } catch (error) {
    throw renamedOption(error, () => 'tool_choice')
  }
}

function readLogprobs({ logprobs, top_logprobs }: ChatFields): number | undefined {
  if (logprobs === true) return top_logprobs ?? 0
  if (top_logprobs === undefined) return undefined
  throw refused('top_logprobs', `top_logprobs is ${shown(top_logprobs)} but logprobs is not true; set that`)
}

/**
 * Reads tools from a request's fields; none if absent. Throws `unsupported` unless they are a list of
 * functions.
 */
export function readTools(tools: unknown): Tool[] {
  if (tools === undefined) return []
  checkList('tools', tools)
  return (tools as NonNullable<ChatFields['tools']>).map(readTool)
}

function readTool(tool: NonNullable<ChatFields['tools']>[number]): Tool {
  if (!('function' in tool))
    throw refused('tools', `a tool has type ${shown(tool.type)} but only functions can be called`)
  const { name, description, parameters, strict } = tool.function
  return { name, description, parameters, strict }
}

const CHOICES: readonly string[] = ['auto', 'none', 'required'] satisfies ToolChoice[]

function readChoice(choice: ChatFields['tool_choice']): ToolChoice {
  if (choice === undefined) return 'auto'
  if (typeof choice === 'string') {
    if (CHOICES.includes(choice)) return choice
    throw wrongOption('tool_choice', choice, `${CHOICES.join(', ')} or a function`)
  }
  if (isObject(choice) && 'function' in choice) return { tool: choice.function.name }
  throw wrongOption('tool_choice', choice, 'a function')
}

/** Reads messages from a request's fields. Throws `unsupported` for anything else. */
export function readMessages(messages: unknown): readonly Message[] {
  if (Array.isArray(messages)) checkList('messages', messages)
  if (!Array.isArray(messages) || messages.some((each) => !isObject(each)))
    throw wrongOption('messages', messages, 'a list of messages, the conversation so far')
  return withToolNames(withCallIds(messages.map(readMessage)))
}

function readMessage(message: ChatMessageFields, index: number): Message {
  const { tool_calls, tool_call_id, reasoning_content } = message
  if (tool_calls !== undefined) checkList('tool_calls', tool_calls)
  const role = roleOf(message.role, index)
  const blocks = role === 'assistant' ? thoughtOf(message.content, index) : ''
  const reasoning = reasoning_content ?? (blocks === '' ? undefined : blocks)
  return {
    role,
    ...contentOf(message.content, index, (part) => {
      const isThought = role === 'assistant' && part.type === 'thinking'
      return isThought ? '' : (imagePart(part) ?? textPart(part))
    }),
    ...(reasoning !== undefined && { reasoning }),
    ...(tool_calls !== undefined && { toolCalls: tool_calls.map(readCall) }),
    ...(tool_call_id !== undefined && { toolCallId: tool_call_id }),
  }
}

/** An image as a `data:` address, in the form `{ url }` or, from some clients, as a string. */
function imagePart(part: { readonly type: string; readonly image_url?: unknown }): Blob | undefined {
  if (part.type !== 'image_url') return undefined
  const address = isObject(part.image_url) ? part.image_url['url'] : part.image_url
  return typeof address === 'string' ? pictureAt(address) : undefined
}

function readCall(call: NonNullable<ChatMessageFields['tool_calls']>[number]) {
  if ('function' in call) return callOf(call.id, call.function.name, call.function.arguments)
  throw refused('messages', `a call has type ${shown(call.type)} but only functions can be called`)
}

const refused = (name: string, sentence: string) => new HalfbyteError('unsupported', sentence, { name })
