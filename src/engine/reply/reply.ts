// The whole life of one reply: prepares the prompt, runs the scheduler, sends chunks, and reports the end.

import { checkList, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { countValues } from '../../core/base/json.ts'
import { perSecond, steadyClock } from '../../core/base/time/clocks.ts'
import { isObject } from '../../core/base/values.ts'
import { Sampler } from '../../core/generate/sampler/sampler.ts'
import type { SequenceRequest, WorkTimings } from '../../core/generate/schedule/generate-work.ts'
import type { Sequence } from '../../core/generate/schedule/sequence.ts'
import { GIVEN_VARIABLES } from '../../core/text/chat/chat-template.ts'
import { isMessage } from '../chat/messages.ts'
import { checkLength, fitPrompt, messageEnds, roomAfter } from '../load/fit.ts'
import type { LoadedModel, SeenPrompt } from '../load/loaded-model.ts'
import { openCompanions } from '../load/open/companions.ts'
import { checkedIds } from '../load/prompt-ids.ts'
import type { FinishReason, Outcome } from '../types/reply.ts'
import type { GenerateRequest, Prompt } from '../wire/protocol.ts'
import type { Outlet } from '../wire/reply-stream.ts'
import { HeldCalls } from './held-calls.ts'
import { loadProcessors } from './load-processors.ts'
import { checkedOptions } from './reply-options.ts'
import { aroundThought, openReasoning } from './reply-reasoning.ts'
import { checkTools, toolCallsOf } from './reply-tool-calls.ts'
import { ReplyWriter } from './reply-writer.ts'
import type { Transcript } from './transcript.ts'

const MAX_DEPTH = 64
const MAX_VALUES = 100_000

/**
 * Throws `unsupported` unless the arguments are JSON values of bounded size with names that are not taken.
 */
export function checkTemplateArguments(given: unknown): void {
  if (!isObject(given)) throw wrongOption('templateArguments', given, 'an object with JSON values')
  const taken = GIVEN_VARIABLES.find((name) => Object.hasOwn(given, name))
  if (taken !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `templateArguments has "${taken}", which the engine sets itself; leave it out`,
      { name: 'templateArguments' },
    )
  }
  let count = 0
  for (const [name, value] of Object.entries(given)) {
    const key = `templateArguments.${name}`
    count += countValues(value, MAX_DEPTH, (leaf) => checkScalar(key, leaf)) ?? Number.POSITIVE_INFINITY
    if (count <= MAX_VALUES) continue
    throw new HalfbyteError(
      'unsupported',
      `${key} has more than ${MAX_VALUES} values or ${MAX_DEPTH} levels; pass less`,
      { name: key },
    )
  }
}

function checkScalar(key: string, value: unknown): void {
  const isScalar =
    value === undefined ||
    value === null ||
    ['string', 'boolean'].includes(typeof value) ||
    Number.isFinite(value)
  if (!isScalar) throw wrongOption(key, value, 'a JSON value')
}

/**
 * The prompt as the model reads it: plain text unchanged, ids as text, a conversation rendered with the
 * template. Throws `unsupported` if the messages are not a conversation, the ids are not in the model's
 * vocabulary, or the prefix is not a string.
 */
export function promptText(model: LoadedModel, prompt: Prompt): string {
  if (prompt.type === 'text') {
    if (typeof prompt.text !== 'string') throw wrongOption('the prompt', prompt.text, 'a text')
    return prompt.text
  }
  if (prompt.type === 'ids')
    return checkedIds('the prompt', prompt.ids, model)
      .map((id) => model.text.tokenText(id))
      .join('')
  const { messages, tools = [], prefix = '', reasoningPrefix = '', templateArguments = {} } = prompt
  checkList('messages', messages)
  checkTools(tools)
  checkTemplateArguments(templateArguments)
  for (const [name, value] of Object.entries({ prefix, reasoningPrefix }))
    if (typeof value !== 'string') throw wrongOption(name, value, 'a text')
  const wrong = messages.findIndex((message) => !isMessage(message))
  if (wrong < 0) return model.renderPrompt(messages, { tools, prefix, reasoningPrefix, templateArguments })
  throw wrongOption(
    `message ${wrong}`,
    messages[wrong],
    'a role (system, user, assistant or tool), a string as content (or parts of the type text or image), and images ' +
      'as Blobs or { width, height, data }',
  )
}

/** The prompt of a request: its images, its text, and its ids. Throws like `promptText` and `checkLength`. */
export async function readPrompt(
  model: LoadedModel,
  transcript: Transcript,
  request: GenerateRequest,
  signal: AbortSignal,
): Promise<{ readonly seen: SeenPrompt; readonly text: string; readonly prompt: readonly number[] }> {
  const seen = await model.sight.look(request.prompt, signal)
  const text = promptText(model, seen.prompt)
  if (seen.prompt.type === 'ids') return { seen, text, prompt: seen.prompt.ids }
  checkLength(model, request, text)
  return { seen, text, prompt: transcript.encode(text, seen.encode, request.isShortened) }
}

/**
 * Generates one reply into `outlet`. If the outlet is cancelled, the reply ends as `cancelled`. Throws
 * `unsupported` for invalid options, `context-overflow` if the prompt leaves no room for a reply, and errors
 * of the scheduler.
 */
export async function reply(
  model: LoadedModel,
  sequence: Sequence,
  transcript: Transcript,
  request: GenerateRequest,
  outlet: Outlet,
): Promise<Outcome> {
  const options = checkedOptions(request.options)
  const { maxTokens = Number.POSITIVE_INFINITY, stop = [], processors = [], priority, maxToolCalls } = options
  const { seen, text, prompt } = await readPrompt(model, transcript, request, outlet.signal)
  const isConversation = seen.prompt.type === 'messages'
  const fit = fitPrompt(model, request, prompt)
  const reasoning = openReasoning(model, request.prompt, text, options, request.constraint !== undefined)
  const given = request.constraint && model.constraints.constrain(request.constraint)
  // A plain prompt is continued unchanged, and a constraint decides about the space itself.
  const after = given === undefined && isConversation ? prompt.at(-1) : undefined
  const around = reasoning ? aroundThought(model, reasoning, given, options.maxReasoningTokens) : given
  const { calls } = request
  const constraint =
    given === undefined && calls !== undefined
      ? new HeldCalls(model, () => model.constraints.constrainCalls(calls), around, after)
      : around
  const sampler = new Sampler(model.logitRows, options, {
    constraint,
    processors: await loadProcessors(processors, model, outlet.signal),
    defaults: model.info.model.sampling,
    tokenBytes: (id) => model.text.tokenBytes(id),
  })
  const cachedTokens = sequence.setTokens(prompt, fit.tokens)
  const read = [...sequence.tokens]
  sequence.state.markAt(messageEnds(read, model.text.endIds))
  const { guide, drafters, release } = openCompanions(model, seen, read, options, constraint)
  const writer = new ReplyWriter(
    model,
    { stop, constraint, reasoning, calls: toolCallsOf(request.prompt, maxToolCalls), after },
    sampler.logprobs,
    outlet,
  )
  let end: End
  let letGo: (() => void) | undefined
  try {
    letGo = await seen.hold(sequence, fit.tokens.keep !== undefined || guide !== undefined, outlet.signal)
    const guideRoom = guide && roomAfter(guide.tokens.length, guide.contextLength)
    const most = Math.min(maxTokens, fit.room, guideRoom ?? fit.room)
    const run = { sequence, guide, drafters, sampler, priority, maxTokens: most }
    end = await decode(model, outlet, writer, run)
  } finally {
    letGo?.()
    release()
  }
  sequence.state.checkpoint()
  writer.finish()
  const quote = isConversation ? model.text.quote : (words: string) => words
  if (writer.isWhole) transcript.extend(reasoning?.splitter.whole(quote) ?? quote(writer.text), writer.tokens)
  const { firstTokenMs, prefillMs, decodeMs } = end
  return {
    text: writer.text,
    ...(writer.hasThought && { reasoning: writer.reasoning }),
    tokens: writer.tokens,
    logprobs: writer.logprobs,
    endLogprobs: writer.endLogprobs,
    toolCalls: writer.toolCalls,
    finishReason: end.reason === 'stop' && !writer.isComplete ? 'length' : end.reason,
    usage: {
      promptTokens: prompt.length,
      cachedTokens,
      droppedTokens: prompt.length - read.length,
      completionTokens: writer.tokens.length,
      reasoningTokens: writer.reasoningTokens,
      draftedTokens: end.draftedTokens,
      acceptedTokens: end.acceptedTokens,
    },
    timings: {
      firstTokenMs,
      prefillMs,
      decodeMs,
      prefillTokensPerSecond: perSecond(read.length - cachedTokens, prefillMs),
      decodeTokensPerSecond: perSecond(writer.tokens.length - 1, decodeMs),
    },
    seed: sampler.seed,
  }
}

/** How the scheduler's work ended. */
interface End
  extends Pick<WorkTimings, 'firstTokenMs' | 'prefillMs' | 'decodeMs' | 'draftedTokens' | 'acceptedTokens'> {
  readonly reason: FinishReason
}

/** Runs the scheduler. An abort of `signal` is a normal end here, with its timings. */
async function decode(
  model: LoadedModel,
  { signal, prefill: onPrefill }: Outlet,
  writer: ReplyWriter,
  run: Omit<SequenceRequest, 'signal' | 'stopTokens' | 'onPrefill' | 'onToken' | 'onStop'>,
): Promise<End> {
  const now = steadyClock(() => performance.now())
  const start = now()
  let first: number | undefined
  let last = start
  try {
    const { reason, timings } = await model.scheduler.generate({
      ...run,
      signal,
      stopTokens: model.text.endIds,
      onPrefill,
      onToken: (id) => {
        last = now()
        first ??= last
        return writer.take(id)
      },
      onStop: (id) => writer.takeEnd(id),
    })
    return { reason, ...timings }
  } catch (error) {
    if (!signal.aborted) throw error
    const firstTokenMs = (first ?? now()) - start
    return {
      reason: 'cancelled',
      firstTokenMs,
      prefillMs: firstTokenMs,
      decodeMs: last - (first ?? last),
      draftedTokens: 0,
      acceptedTokens: 0,
    }
  }
}
