// OpenAI's text completions: continues a prompt without a chat template, whole or in chunks.
import { wrongOption } from '../../core/base/check-options.ts'
import { randomId } from '../../core/base/values.ts'
import type { Engine } from '../../engine/api/engine.ts'
import type { TokenLogprobs } from '../../engine/api/types.ts'
import { fieldNames, replies, replyCount, textOptions } from '../openai-request.ts'
import type { TextCompletion, TextCompletionParams } from '../openai-types.ts'
import { type OnWarning, warnOfUnread } from '../reply-form.ts'

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
  frequency_penalty: true,
  presence_penalty: true,
  logit_bias: true,
  seed: true,
  stop: true,
  halfbyte: true,
}

/** OpenAI's own default. */
const MAX_TOKENS = 16

/**
 * The chunks of all replies, then the usage if requested. `collect` combines them into one response. Throws
 * `unsupported` for a field with an invalid value.
 */
export async function* textCompletions(
  engine: Engine,
  params: TextCompletionParams,
  onWarning: OnWarning,
  signal?: AbortSignal,
): AsyncGenerator<TextCompletion, void> {
  const { prompt, echo, logprobs } = params
  const prompts = typeof prompt === 'string' ? [prompt] : prompt
  if (!Array.isArray(prompts) || prompts.length === 0 || prompts.some((text) => typeof text !== 'string'))
    throw wrongOption('prompt', prompt, 'a text or a list of texts')
  const count = replyCount(params.n)
  warnOfUnread(params, FIELDS, onWarning)
  const options = {
    ...textOptions(params, engine.model.sampling),
    maxTokens: params.max_tokens ?? MAX_TOKENS,
    logprobs: logprobs ?? undefined,
    ...params.halfbyte,
    signal,
  }
  const request = { count, options, names: fieldNames(params) }
  const head = {
    id: `cmpl-${randomId()}`,
    object: 'text_completion',
    created: Math.floor(Date.now() / 1000),
    model: engine.model.id,
  } as const
  const total = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  for (const [place, text] of prompts.entries()) {
    for await (const part of replies(request, (options) => engine.complete(text, options))) {
      const index = place * count + part.index
      const chunk = (part: Partial<Choice>): TextCompletion => ({
        ...head,
        choices: [{ index, text: '', logprobs: null, finish_reason: null, ...part }],
      })
      if (part.type === 'chunk') {
        yield chunk({ text: part.chunk.text, logprobs: logprobsOf(part.chunk.logprobs) })
      } else if (part.type === 'end') {
        const { finishReason, usage } = part.result
        yield chunk({ finish_reason: finishReason === 'length' ? 'length' : 'stop' })
        if (part.index === 0) total.prompt_tokens += usage.promptTokens
        total.completion_tokens += usage.completionTokens
      } else if (echo === true) yield chunk({ text })
    }
  }
  total.total_tokens = total.prompt_tokens + total.completion_tokens
  yield { ...head, choices: [], usage: total }
}

/** Combines all chunks into one response. */
export async function collect(chunks: AsyncIterable<TextCompletion>): Promise<TextCompletion> {
  let whole: TextCompletion | undefined
  const choices = new Map<number, Choice>()
  for await (const chunk of chunks) {
    whole = chunk
    for (const part of chunk.choices) {
      const before = choices.get(part.index)
      choices.set(part.index, before === undefined ? part : joined(before, part))
    }
  }
  return { ...(whole as TextCompletion), choices: [...choices.values()] }
}

function joined(one: Choice, other: Choice): Choice {
  const text = one.text + other.text
  const finish_reason = other.finish_reason ?? one.finish_reason
  if (one.logprobs === null || other.logprobs === null) {
    return { ...one, text, finish_reason, logprobs: one.logprobs ?? other.logprobs }
  }
  return {
    ...one,
    text,
    finish_reason,
    logprobs: {
      tokens: [...one.logprobs.tokens, ...other.logprobs.tokens],
      token_logprobs: [...one.logprobs.token_logprobs, ...other.logprobs.token_logprobs],
      top_logprobs: [...one.logprobs.top_logprobs, ...other.logprobs.top_logprobs],
    },
  }
}

function logprobsOf(tokens: readonly TokenLogprobs[] | undefined): Choice['logprobs'] {
  if (tokens === undefined) return null
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) =>
      Object.fromEntries(top.map(({ text, logprob }) => [text, logprob])),
    ),
  }
}
