// OpenAI's text completions: continues and scores prompts without a chat template, whole or in chunks.
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import { memo, randomId } from '../../core/base/values.ts'
import type { Engine } from '../../engine/api/engine.ts'
import type { GenerateOptions, ScoredToken } from '../../engine/api/types.ts'
import {
  fieldNames,
  type Hooks,
  type OnUsage,
  replies,
  replyCount,
  tellUsage,
  textOptions,
} from '../openai-request.ts'
import type { CompletionLogprobs, TextCompletion, TextCompletionParams } from '../openai-types.ts'
import { warnOfUnread } from '../reply-form.ts'
import type { Given } from '../request-fields.ts'
import { codePoints, completionLogprobs, joinedLogprobs, TextOffsets } from './completion-logprobs.ts'
import { type TextOrIds, textsOrIds } from './texts-or-ids.ts'

type Choice = TextCompletion['choices'][0]

const FIELDS: Record<keyof TextCompletionParams, true> = {
  prompt: true,
  model: true,
  stream: true,
  stream_options: true,
  echo: true,
  logprobs: true,
  n: true,
  max_tokens: true,
  temperature: true,
  top_p: true,
  top_k: true,
  min_p: true,
  typical_p: true,
  repetition_penalty: true,
  grammar: true,
  frequency_penalty: true,
  presence_penalty: true,
  logit_bias: true,
  seed: true,
  stop: true,
  halfbyte: true,
}

/** OpenAI's own default. */
const MAX_TOKENS = 16

const PROMPT = 'a string, a list of token ids, or a list of either'

interface CompletionRequest {
  readonly prompts: readonly TextOrIds[]
  /** Number of choices for each prompt. */
  readonly count: number
  readonly echoes: boolean
  readonly options: GenerateOptions
  readonly names: ReturnType<typeof fieldNames>
  readonly onUsage: OnUsage | undefined
}

/** Throws `unsupported` for a field with a wrong value. */
function readRequest(
  engine: Engine,
  params: Given<TextCompletionParams>,
  { onWarning, onUsage }: Hooks,
  signal: AbortSignal | undefined,
): CompletionRequest {
  const prompts = textsOrIds('prompt', params.prompt, PROMPT)
  const count = replyCount(params.n)
  warnOfUnread(params, FIELDS, onWarning)
  const options = {
    ...textOptions(params, engine.model.sampling),
    maxTokens: params.max_tokens ?? MAX_TOKENS,
    logprobs: params.logprobs,
    ...params.halfbyte,
    signal,
  }
  return { prompts, count, echoes: params.echo === true, options, names: fieldNames(params), onUsage }
}

/**
 * The chunks of all replies, then the usage if requested. `collect` combines them into one response. Throws
 * `unsupported` for a field with an invalid value.
 */
export async function* textCompletions(
  engine: Engine,
  params: Given<TextCompletionParams>,
  hooks: Hooks,
  signal?: AbortSignal,
): AsyncGenerator<TextCompletion, void> {
  const request = readRequest(engine, params, hooks, signal)
  const head = {
    id: `cmpl-${randomId()}`,
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: engine.model.id,
  } as const
  const total = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  for (const [place, prompt] of request.prompts.entries()) {
    try {
      for await (const { index, promptTokens, tokens, ...part } of choicesOf(engine, prompt, request)) {
        const choice = { text: '', logprobs: null, finish_reason: null, ...part }
        yield { ...head, choices: [{ index: place * request.count + index, ...choice }] }
        if (index === 0) total.prompt_tokens += promptTokens ?? 0
        total.completion_tokens += tokens ?? 0
      }
    } catch (error) {
      throw aboutPrompt(error)
    }
  }
  total.total_tokens = total.prompt_tokens + total.completion_tokens
  yield { ...head, choices: [], usage: total }
}

/** A part of a choice. The last part has the token counts. */
interface Part extends Partial<Choice> {
  readonly index: number
  readonly promptTokens?: number
  readonly tokens?: number
}

async function* choicesOf(
  engine: Engine,
  prompt: TextOrIds,
  { count, echoes, options, names, onUsage }: CompletionRequest,
): AsyncGenerator<Part, void> {
  const { logprobs: top, signal } = options
  const isOnlyRead = options.maxTokens === 0
  const scored =
    isOnlyRead || (echoes && top !== undefined)
      ? await engine.scoreTokens(prompt, { top, signal })
      : undefined
  const text = echoes ? await textOf(engine, prompt) : ''
  const echo = echoes && { text, logprobs: echoed(text, top === undefined ? undefined : scored) }
  if (isOnlyRead) {
    const promptTokens = scored?.length ?? 0
    onUsage?.({ model: engine.model.id, promptTokens, cachedTokens: 0, completionTokens: 0 })
    for (let index = 0; index < count; index++) {
      if (echo !== false) yield { index, ...echo }
      yield { index, finish_reason: 'length', promptTokens }
    }
    return
  }
  let offsets = new TextOffsets()
  let sent = 0
  const request = { count, options, names, onResult: tellUsage(engine, onUsage) }
  for await (const part of replies(request, (options) => engine.complete(prompt, options))) {
    const { index } = part
    if (part.type === 'start') {
      offsets = new TextOffsets(codePoints(text))
      sent = 0
      if (echo !== false) yield { index, ...echo }
    } else if (part.type === 'chunk') {
      const { text, logprobs } = part.chunk
      sent += logprobs?.length ?? 0
      yield { index, text, logprobs: completionLogprobs(logprobs, text, offsets) }
    } else {
      const { finishReason, usage, logprobs, endLogprobs } = part.result
      // These are tokens whose text was not sent, such as an incomplete character, and the end of the text.
      const rest = logprobs && [...logprobs.slice(sent), ...(endLogprobs === undefined ? [] : [endLogprobs])]
      yield {
        index,
        logprobs: completionLogprobs(rest?.length === 0 ? undefined : rest, '', offsets),
        finish_reason: finishReason === 'length' ? 'length' : 'stop',
        promptTokens: usage.promptTokens,
        tokens: usage.completionTokens,
      }
    }
  }
}

const textOf = async (engine: Engine, prompt: TextOrIds): Promise<string> =>
  typeof prompt === 'string' ? prompt : engine.detokenize(prompt)

const echoed = (text: string, scored: readonly ScoredToken[] | undefined): CompletionLogprobs | null =>
  completionLogprobs(scored, text, new TextOffsets())

/** Ids outside the vocabulary and too many tokens are errors that name this field. */
function aboutPrompt(error: unknown): unknown {
  if (!isHalfbyteError(error) || !['context-overflow', 'format'].includes(error.code)) return error
  const code = error.code === 'format' ? 'unsupported' : error.code
  return new HalfbyteError(code, error.message, { ...error.detail, name: 'prompt' }, { cause: error })
}

/** Combines all chunks into one response. */
export async function collect(chunks: AsyncIterable<TextCompletion>): Promise<TextCompletion> {
  let whole: TextCompletion | undefined
  const choices = new Map<number, Choice[]>()
  for await (const chunk of chunks) {
    whole = chunk
    for (const part of chunk.choices) memo(choices, part.index, () => []).push(part)
  }
  return { ...(whole as TextCompletion), choices: [...choices.values()].map(joined) }
}

function joined(parts: readonly Choice[]): Choice {
  return {
    ...(parts[0] as Choice),
    text: parts.map(({ text }) => text).join(''),
    logprobs: joinedLogprobs(parts.map(({ logprobs }) => logprobs)),
    finish_reason: parts.at(-1)?.finish_reason ?? null,
  }
}
