// `chat.completions.create` of OpenAI's client for an engine, complete or as a stream of chunks.
import { readFrom, signalOf } from '../core/base/check-options.ts'
import { randomId } from '../core/base/values.ts'
import type { Engine } from '../engine/api/engine.ts'
import type {
  GenerateOptions,
  GenerationResult,
  Message,
  Session,
  TokenLogprob,
  TokenLogprobs,
} from '../engine/api/types.ts'
import { argumentsTextOf } from './chat-messages.ts'
import { checkEngine } from './load-once.ts'
import { type ChatRequest, chatRequest, type OnUsage, replies, tellUsage } from './openai-request.ts'
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionParams,
  ChatFinishReason,
  ChatLogprobs,
  ChatToolCall,
  CompletionUsage,
} from './openai-types.ts'
import { type OnWarning, warnOnce } from './reply-form.ts'
import { requestFields } from './request-fields.ts'

/** Options of `openai` and `openaiFetch`. */
export interface OpenAIOptions {
  /** Called once for each field without a counterpart. Default: writes to the console. */
  readonly onWarning?: OnWarning | undefined
  /** Called when a reply is complete; not if it failed or was aborted. Default: nothing. */
  readonly onUsage?: OnUsage | undefined
}

/** The second argument of `create`. */
export interface RequestOptions {
  /** Aborting rejects with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

export interface ChatCompletions {
  create(
    params: ChatCompletionParams & { readonly stream: true },
    options?: RequestOptions,
  ): Promise<AsyncIterable<ChatCompletionChunk>>
  create(
    params: ChatCompletionParams & { readonly stream?: false | null },
    options?: RequestOptions,
  ): Promise<ChatCompletion>
  /** For callers that do not know in advance whether they stream. */
  create(
    params: ChatCompletionParams,
    options?: RequestOptions,
  ): Promise<AsyncIterable<ChatCompletionChunk> | ChatCompletion>
}

/** The part of OpenAI's client that a local model supports. */
export interface OpenAIClient {
  readonly chat: { readonly completions: ChatCompletions }
}

/**
 * Offers OpenAI's chat completions on `engine`. If the model's files recommend no sampling options, it uses
 * OpenAI's defaults (temperature 1, top_p 1). Every call sends its whole conversation; the part shared with
 * earlier calls is not processed again. A final assistant message is the beginning of the reply.
 */
export function openai(engine: Engine, { onWarning, onUsage }: OpenAIOptions = {}): OpenAIClient {
  checkEngine(engine)
  const warn = warnOnce(onWarning)
  const onResult = tellUsage(engine, onUsage)
  const create = async (params: ChatCompletionParams, given?: RequestOptions) => {
    const { request, signal } = readFrom('the request', () => ({
      request: { ...chatRequest(requestFields(params), engine.model.sampling, warn), onResult },
      signal: signalOf(given ?? undefined),
    }))
    return request.isStream ? chunks(engine, request, signal) : completion(engine, request, signal)
  }
  return { chat: { completions: { create: create as ChatCompletions['create'] } } }
}

export async function completion(
  engine: Engine,
  { messages, ...request }: ChatRequest,
  signal: AbortSignal | undefined,
): Promise<ChatCompletion> {
  const results: GenerationResult[] = []
  await using session = engine.createSession({ messages })
  for await (const part of replies(request, answers(session, messages, signal))) {
    if (part.type === 'end') results.push(part.result)
  }
  return {
    ...heading(engine, 'chat.completion'),
    choices: results.map((result, index) => ({
      index,
      message: messageOf(result),
      finish_reason: reasonOf(result),
      logprobs: logprobsOf(result.logprobs),
    })),
    usage: usageOf(results),
  }
}

export async function* chunks(
  engine: Engine,
  { messages, includeUsage, ...request }: ChatRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<ChatCompletionChunk, void> {
  await using session = engine.createSession({ messages })
  const head = heading(engine, 'chat.completion.chunk')
  const results: GenerationResult[] = []
  for await (const part of replies(request, answers(session, messages, signal))) {
    const chunk = (
      delta: ChatCompletionChunk['choices'][0]['delta'],
      finish_reason: ChatFinishReason | null = null,
      logprobs: ChatLogprobs | null = null,
    ): ChatCompletionChunk => ({
      ...head,
      choices: [{ index: part.index, delta, finish_reason, ...(logprobs !== null && { logprobs }) }],
      ...(includeUsage && { usage: null }),
    })
    if (part.type === 'start') yield chunk({ role: 'assistant', content: '' })
    else if (part.type === 'chunk') {
      const { text, reasoning, logprobs } = part.chunk
      const delta = reasoning === undefined ? { content: text } : { reasoning_content: reasoning }
      yield chunk(delta, null, logprobsOf(logprobs))
    } else {
      const calls = callsOf(part.result)
      if (calls.length > 0) yield chunk({ tool_calls: calls.map((call, at) => ({ index: at, ...call })) })
      yield chunk({}, reasonOf(part.result))
      results.push(part.result)
    }
  }
  if (includeUsage) yield { ...head, choices: [], usage: usageOf(results) }
}

/** Answers the same conversation several times. */
export const answers =
  (session: Session, messages: readonly Message[], signal: AbortSignal | undefined) =>
  (options: GenerateOptions) => {
    session.setMessages(messages)
    return session.regenerate({ ...options, signal })
  }

const heading = <T extends string>(engine: Engine, object: T) => ({
  id: `chatcmpl-${randomId()}`,
  object,
  created: Math.floor(Date.now() / 1000),
  model: engine.model.id,
})

const callsOf = ({ toolCalls = [] }: GenerationResult): ChatToolCall[] =>
  toolCalls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: argumentsTextOf(call) },
  }))

export function logprobsOf(tokens: readonly TokenLogprobs[] | undefined): ChatLogprobs | null {
  if (tokens === undefined) return null
  const one = ({ text, bytes, logprob }: TokenLogprob) => ({ token: text, logprob, bytes: [...bytes] })
  return {
    content: tokens.map((token) => ({ ...one(token), top_logprobs: token.top.map(one) })),
    refusal: null,
  }
}

function messageOf(result: GenerationResult): ChatCompletion['choices'][0]['message'] {
  const { text, reasoning } = result
  const calls = callsOf(result)
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(reasoning !== undefined && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

function reasonOf({ finishReason, toolCalls = [] }: GenerationResult): ChatFinishReason {
  if (finishReason === 'length') return 'length'
  return toolCalls.length > 0 ? 'tool_calls' : 'stop'
}

function usageOf(results: readonly GenerationResult[]): CompletionUsage {
  const sum = (of: (result: GenerationResult) => number) =>
    results.reduce((all, result) => all + of(result), 0)
  // The prompt is counted once, regardless of the number of replies.
  const prompt_tokens = results[0]?.usage.promptTokens ?? 0
  const completion_tokens = sum(({ usage }) => usage.completionTokens)
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: results[0]?.usage.cachedTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: sum(({ usage }) => usage.reasoningTokens) },
  }
}
