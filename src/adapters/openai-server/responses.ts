// OpenAI's responses: the events of a response in OpenAI's order. The last event has the whole response.
import { isHalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { type JsonObject, randomId } from '../../core/base/values.ts'
import type { Engine } from '../../engine/api/engine.ts'
import type { GenerationResult, ToolCall } from '../../engine/api/types.ts'
import { argumentsTextOf } from '../chat-messages.ts'
import { answers, logprobsOf } from '../openai-chat.ts'
import { type ChatRequest, replies } from '../openai-request.ts'
import type { ChatTokenLogprob } from '../openai-types.ts'

interface OutputText {
  readonly type: 'output_text'
  readonly text: string
  readonly annotations: readonly []
  readonly logprobs: readonly ChatTokenLogprob[]
}

type Status = 'in_progress' | 'completed' | 'incomplete'

type OutputItem = { readonly id: string; readonly status: Status } & (
  | { readonly type: 'message'; readonly role: 'assistant'; readonly content: readonly OutputText[] }
  | {
      readonly type: 'function_call'
      readonly call_id: string
      readonly name: string
      readonly arguments: string
    }
)

export interface ResponseObject extends JsonObject {
  readonly id: string
  readonly object: 'response'
  readonly status: Status | 'failed'
  readonly output: readonly OutputItem[]
}

interface ResponseEvent extends JsonObject {
  readonly type: string
  readonly sequence_number: number
  /** The response so far. Only events about the whole response have it. */
  readonly response?: ResponseObject
}

type Draft = JsonObject & { readonly type: string; readonly response?: ResponseObject }

/**
 * Throws the engine's errors; `unsupported` uses the request's own field names. After the first event of a
 * stream, an error becomes the event `response.failed`.
 */
export async function* responseEvents(
  engine: Engine,
  params: JsonObject,
  request: ChatRequest,
  signal?: AbortSignal,
): AsyncGenerator<ResponseEvent, void> {
  let number = 0
  let response = responseOf(engine, params)
  try {
    for await (const draft of drafts(engine, response, request, signal)) {
      response = draft.response ?? response
      yield { ...draft, sequence_number: number++ } as ResponseEvent
    }
  } catch (error) {
    if (number === 0 || !request.isStream || signal?.aborted === true) throw error
    const code = isHalfbyteError(error) ? error.code : 'internal'
    const failed = { code: 'server_error', message: `${reasonOf(error)} (${code})` }
    response = { ...response, status: 'failed', error: failed }
    yield { type: 'response.failed', response, sequence_number: number }
  }
}

async function* drafts(
  engine: Engine,
  begun: ResponseObject,
  { messages, ...request }: ChatRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<Draft, void> {
  await using session = engine.createSession({ messages })
  const message = { id: `msg_${randomId()}`, type: 'message', role: 'assistant' } as const
  const place = { item_id: message.id, output_index: 0, content_index: 0 }
  const output: OutputItem[] = []
  let isOpen = false
  let isBegun = false
  for await (const part of replies({ ...request, count: 1 }, answers(session, messages, signal))) {
    if (part.type === 'start') continue
    // Nothing is sent before the model begins, so that a request that the engine rejects gets a status of its
    // own.
    if (!isBegun) {
      yield { type: 'response.created', response: begun }
      yield { type: 'response.in_progress', response: begun }
    }
    isBegun = true
    if (part.type === 'chunk') {
      // A thought is counted but not shown.
      if (part.chunk.reasoning !== undefined) continue
      if (!isOpen) yield* opened({ ...message, status: 'in_progress', content: [] }, place)
      isOpen = true
      const { text: delta, logprobs } = part.chunk
      yield { type: 'response.output_text.delta', ...place, delta, logprobs: tokensOf(logprobs) }
      continue
    }
    const { result } = part
    const status = result.finishReason === 'length' ? 'incomplete' : 'completed'
    if (isOpen) {
      const content = textOf(result.text, tokensOf(result.logprobs))
      const item: OutputItem = { ...message, status, content: [content] }
      output.push(item)
      yield { type: 'response.output_text.done', ...place, text: result.text, logprobs: content.logprobs }
      yield { type: 'response.content_part.done', ...place, part: content }
      yield { type: 'response.output_item.done', output_index: 0, item }
    }
    for (const call of result.toolCalls ?? []) {
      const item = callItem(call)
      yield* calling(item, output.length)
      output.push(item)
    }
    const incomplete_details = status === 'incomplete' ? { reason: 'max_output_tokens' } : null
    const response = { ...begun, status, output, incomplete_details, usage: usageOf(result) } as const
    yield { type: `response.${status}`, response }
  }
}

function* opened(item: OutputItem, place: { readonly item_id: string }): Generator<Draft> {
  yield { type: 'response.output_item.added', output_index: 0, item }
  yield { type: 'response.content_part.added', ...place, part: textOf('', []) }
}

type CallItem = OutputItem & { readonly type: 'function_call' }

const callItem = (call: ToolCall): CallItem => ({
  id: `fc_${randomId()}`,
  type: 'function_call',
  status: 'completed',
  call_id: call.id,
  name: call.name,
  arguments: argumentsTextOf(call),
})

/** A call arrives complete, so its arguments are one delta. */
function* calling(item: CallItem, output_index: number): Generator<Draft> {
  const place = { item_id: item.id, output_index }
  yield {
    type: 'response.output_item.added',
    output_index,
    item: { ...item, status: 'in_progress', arguments: '' },
  }
  yield { type: 'response.function_call_arguments.delta', ...place, delta: item.arguments }
  const { name, arguments: given } = item
  yield { type: 'response.function_call_arguments.done', ...place, name, arguments: given }
  yield { type: 'response.output_item.done', output_index, item }
}

const textOf = (text: string, logprobs: readonly ChatTokenLogprob[]): OutputText => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs,
})

const tokensOf = (tokens: GenerationResult['logprobs']) => logprobsOf(tokens)?.content ?? []

/** The response before it has output, with the request's settings. */
function responseOf(engine: Engine, params: JsonObject): ResponseObject {
  const given = (name: string, otherwise: unknown) => params[name] ?? otherwise
  return {
    id: `resp_${randomId()}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status: 'in_progress',
    model: engine.model.id,
    output: [],
    error: null,
    incomplete_details: null,
    usage: null,
    background: false,
    store: false,
    previous_response_id: null,
    truncation: 'disabled',
    access_programs: null,
    instructions: given('instructions', null),
    max_output_tokens: given('max_output_tokens', null),
    metadata: given('metadata', {}),
    parallel_tool_calls: given('parallel_tool_calls', true),
    reasoning: { effort: null, summary: null, ...(params['reasoning'] as object) },
    temperature: given('temperature', engine.model.sampling.temperature ?? 1),
    text: { format: { type: 'text' }, ...(params['text'] as object) },
    tool_choice: given('tool_choice', 'auto'),
    tools: given('tools', []),
    top_logprobs: given('top_logprobs', 0),
    top_p: given('top_p', engine.model.sampling.topP ?? 1),
  }
}

const usageOf = ({
  usage: { promptTokens, cachedTokens, completionTokens, reasoningTokens },
}: GenerationResult) => ({
  input_tokens: promptTokens,
  input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
  output_tokens: completionTokens,
  output_tokens_details: { reasoning_tokens: reasoningTokens },
  total_tokens: promptTokens + completionTokens,
})
