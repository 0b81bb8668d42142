// OpenAI requests. In: the parameters of a chat completion. Out: our messages and options; what has no counterpart is named.
import { HalfbyteError } from '../../base/errors.ts'
import type { Message } from '../../engine/protocol.ts'
import type { GenerateOptions } from '../types.ts'
import type { ChatCompletionParams, ChatMessageParam } from './openai-types.ts'
import type { OnWarning } from './warn.ts'

export interface ChatRequest {
  readonly messages: readonly Message[]
  readonly options: GenerateOptions
  /** Replies to make. */
  readonly count: number
  readonly isStream: boolean
  readonly includeUsage: boolean
}

/** By what is read of them; everything else is warned about. */
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
  n: true,
}

/** Throws `unsupported` for messages that cannot be put before the model, rather than answer something else. */
export function chatRequest(params: ChatCompletionParams, onWarning: OnWarning): ChatRequest {
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
    messages: params.messages.map(readMessage),
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
    // The API's own defaults. Top-k and min-p, of which it knows nothing, stay the engine's.
    temperature: params.temperature ?? 1,
    topP: params.top_p ?? 1,
    frequencyPenalty: params.frequency_penalty ?? undefined,
    presencePenalty: params.presence_penalty ?? undefined,
    logitBias: params.logit_bias ?? undefined,
    seed: params.seed ?? undefined,
    schema: schemaOf(params.response_format),
    stop: typeof stop === 'string' ? [stop] : (stop ?? undefined),
  }
}

function schemaOf(format: ChatCompletionParams['response_format']): object | undefined {
  if (format?.type === 'json_object') return { type: 'object' }
  return format?.type === 'json_schema' ? (format.json_schema.schema ?? { type: 'object' }) : undefined
}

function readMessage({ role, content }: ChatMessageParam, index: number): Message {
  const known = role === 'developer' ? 'system' : role
  if (known !== 'system' && known !== 'user' && known !== 'assistant') {
    throw refused(
      `message ${index} has the role "${role}" but only system, developer, user and assistant are read`,
    )
  }
  return { role: known, content: typeof content === 'string' ? content : joined(content ?? [], index) }
}

function joined(
  parts: Exclude<ChatMessageParam['content'], string | null | undefined>,
  index: number,
): string {
  return parts
    .map((part) => {
      if ('text' in part) return part.text
      throw refused(`message ${index} has a part of type "${part.type}" but the model reads text only`)
    })
    .join('')
}

const refused = (sentence: string): HalfbyteError => new HalfbyteError('unsupported', sentence)
