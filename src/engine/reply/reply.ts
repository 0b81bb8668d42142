// The whole life of one reply: prepares the prompt, runs the scheduler, sends chunks, and reports the end.

import { HalfbyteError } from '../../base/errors.ts'
import { checkChoice, checkKeys, checkList, checkTexts, wrongOption } from '../../base/options.ts'
import { perSecond, steadyClock } from '../../base/time/clocks.ts'
import { isCount, isObject } from '../../base/values.ts'
import type { ReplyConstraint } from '../../constrain/written-grammar.ts'
import type { LogProbabilities } from '../../generate/sampler/candidates.ts'
import { SAMPLER_DEFAULTS } from '../../generate/sampler/options.ts'
import { Sampler } from '../../generate/sampler/sampler.ts'
import type {
  GenerateRequest as SchedulerRequest,
  TokenAnswer,
} from '../../generate/schedule/generate-work.ts'
import type { Sequence } from '../../generate/schedule/sequence.ts'
import { markTexts, type SplitText } from '../../text/chat/reasoning.ts'
import { stopMatcher } from '../../text/detokenizer.ts'
import { checkLength, fitPrompt, messageEnds, roomAfter } from '../load/fit.ts'
import type { LoadedModel, ModelText } from '../load/loaded-model.ts'
import { openCompanions } from '../load/open/companions.ts'
import type {
  DecodeOptions,
  FinishReason,
  GenerateRequest,
  Outcome,
  Prompt,
  TextChunk,
  TokenLogprob,
  TokenLogprobs,
  ToolCall,
} from '../wire/protocol.ts'
import type { Outlet } from '../wire/stream.ts'
import { CONSTRAINT_KEYS } from './constraints.ts'
import { loadProcessors } from './processors.ts'
import { aroundThought, openReasoning, type ReplyReasoning } from './reasoning.ts'
import { checkTools, type ReplyToolCalls, toolCallsOf } from './tool-calls.ts'
import { isMessage, type Transcript } from './transcript.ts'

/** What a template is given by the engine itself. */
const OWN: readonly string[] = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token']
const MAX_DEPTH = 64
const MAX_PARTS = 100_000

/** Throws `unsupported` unless the arguments are JSON values of a bounded size, with names that are free. */
export function checkTemplateArguments(given: unknown): void {
  if (!isObject(given)) throw wrongOption('templateArguments', given, 'an object with JSON values')
  const taken = OWN.find((name) => Object.hasOwn(given, name))
  if (taken !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `templateArguments has "${taken}", which the engine sets itself; leave it out`,
      { name: 'templateArguments' },
    )
  }
  let parts = 0
  const check = (name: string, value: unknown, depth: number): void => {
    if (++parts > MAX_PARTS || depth > MAX_DEPTH) {
      throw new HalfbyteError(
        'unsupported',
        `templateArguments.${name} has more than ${MAX_PARTS} values or ${MAX_DEPTH} levels; give less`,
        { name: `templateArguments.${name}` },
      )
    }
    if (Array.isArray(value)) for (const each of value) check(name, each, depth + 1)
    else if (isObject(value)) for (const each of Object.values(value)) check(name, each, depth + 1)
    else if (!isScalar(value)) throw wrongOption(`templateArguments.${name}`, value, 'a JSON value')
  }
  for (const [name, value] of Object.entries(given)) check(name, value, 1)
}

const isScalar = (value: unknown) =>
  value === undefined ||
  value === null ||
  ['string', 'boolean'].includes(typeof value) ||
  Number.isFinite(value)

/** Options that are one of a few words. */
const CHOICES: Readonly<Partial<Record<keyof DecodeOptions, readonly string[]>>> = {
  priority: ['foreground', 'background'],
  speculation: ['off', 'lookup', 'draft'],
}

const OPTION_KEYS = [
  'maxTokens',
  'stop',
  'processors',
  ...CONSTRAINT_KEYS,
  'compact',
  'negativePrompt',
  'maxToolCalls',
  'reasoning',
  'maxReasoningTokens',
  ...Object.keys(CHOICES),
  ...Object.keys(SAMPLER_DEFAULTS),
]

/** Throws `unsupported` for an unknown option or an invalid value. The sampler checks its own options. */
function checkedOptions(options: DecodeOptions): DecodeOptions {
  checkKeys('the options', options, OPTION_KEYS)
  for (const [key, choices] of Object.entries(CHOICES))
    checkChoice(key, options[key as keyof DecodeOptions], choices)
  const { maxTokens = 1, maxToolCalls = 1, stop = [], negativePrompt = '' } = options
  const { reasoning = false, maxReasoningTokens = 0 } = options
  if (typeof negativePrompt !== 'string') throw wrongOption('negativePrompt', negativePrompt, 'a text')
  for (const [name, count] of Object.entries({ maxTokens, maxToolCalls })) {
    if (!Number.isInteger(count) || count < 1) throw wrongOption(name, count, 'a whole number from 1')
  }
  if (!isCount(maxReasoningTokens))
    throw wrongOption('maxReasoningTokens', maxReasoningTokens, 'a whole number from 0')
  if (reasoning !== false && !(isMark(reasoning?.open) && isMark(reasoning.close)))
    throw wrongOption('reasoning', reasoning, 'false, or an object with texts as open and close')
  checkTexts('stop', stop)
  return options
}

const isMark = (text: unknown): boolean => typeof text === 'string' && text.trim() !== ''

/**
 * The prompt as the model reads it: plain text unchanged, a conversation through the template. Throws
 * `unsupported` if the messages are not a conversation or the prefix is not a text.
 */
export function promptText(model: LoadedModel, prompt: Prompt): string {
  if (prompt.type === 'text') {
    if (typeof prompt.text !== 'string') throw wrongOption('the prompt', prompt.text, 'a text')
    return prompt.text
  }
  const { messages, tools = [], prefix = '', templateArguments = {} } = prompt
  checkList('messages', messages)
  checkTools(tools)
  checkTemplateArguments(templateArguments)
  if (typeof prefix !== 'string') throw wrongOption('prefix', prefix, 'a text')
  const wrong = messages.findIndex((message) => !isMessage(message))
  if (wrong < 0) return model.renderPrompt(messages, { tools, prefix, templateArguments })
  throw wrongOption(
    `message ${wrong}`,
    messages[wrong],
    'a role (system, user, assistant or tool) and a text as content',
  )
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
  const text = promptText(model, request.prompt)
  checkLength(model, request, text)
  const prompt = transcript.encode(text, (...rest) => model.text.encode(...rest))
  const fit = fitPrompt(model, request, prompt)
  const reasoning = openReasoning(model, request.prompt, text, options)
  const given = request.constraint && model.constraints.constrain(request.constraint)
  const constraint = reasoning ? aroundThought(model, reasoning, given, options.maxReasoningTokens) : given
  const sampler = new Sampler(model.logitRows, options, {
    constraint,
    processors: await loadProcessors(processors, model, outlet.signal),
    defaults: model.info.model.sampling,
    tokenBytes: (id) => model.text.tokenBytes(id),
  })
  const cachedTokens = sequence.setTokens(prompt, fit)
  const read = [...sequence.tokens]
  sequence.state.markAt(messageEnds(read, model.text.endIds))
  const { guide, drafter, release } = openCompanions(model, request.prompt, read, options)
  const writer = createWriter(
    model,
    // A bare prompt is continued as it stands, and a constraint has decided about the space itself.
    {
      stop,
      constraint,
      reasoning,
      calls: toolCallsOf(request.prompt, maxToolCalls),
      after: given === undefined && request.prompt.type !== 'text' ? prompt.at(-1) : undefined,
    },
    sampler.logprobs,
    outlet,
  )
  let end: End
  try {
    const guideRoom = guide && roomAfter(guide.tokens.length, guide.contextLength)
    const most = Math.min(maxTokens, fit.room, guideRoom ?? fit.room)
    const run = { sequence, guide, drafter, sampler, priority, maxTokens: most }
    end = await decode(model, outlet.signal, writer, run)
  } finally {
    release()
  }
  sequence.state.checkpoint()
  writer.finish()
  const quote = request.prompt.type === 'text' ? (words: string) => words : model.text.quote
  if (writer.isWhole) transcript.extend(reasoning?.splitter.whole(quote) ?? quote(writer.text), writer.tokens)
  const { firstTokenMs, prefillMs, decodeMs } = end
  return {
    text: writer.text,
    ...(writer.hasThought && { reasoning: writer.reasoning }),
    tokens: writer.tokens,
    logprobs: writer.logprobs,
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

/** The constraint on a reply, its thought, where it ends, and the calls that it may contain. */
interface ReplyLimits {
  readonly stop: readonly string[]
  readonly constraint: ReplyConstraint | undefined
  readonly reasoning: ReplyReasoning | undefined
  readonly calls: ReplyToolCalls | undefined
  /** The id before the reply, if the space that encoding adds after a special token is not part of it. */
  readonly after: number | undefined
}

interface End {
  readonly reason: FinishReason
  readonly firstTokenMs: number
  readonly prefillMs: number
  readonly decodeMs: number
  readonly draftedTokens: number
  readonly acceptedTokens: number
}

/** Runs the scheduler. An abort of `signal` is a normal end here, with its timings. */
async function decode(
  model: LoadedModel,
  signal: AbortSignal,
  writer: Writer,
  run: Omit<SchedulerRequest, 'signal' | 'stopTokens' | 'onToken'>,
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
      onToken: (id) => {
        last = now()
        first ??= last
        return writer.take(id)
      },
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

interface Writer {
  readonly tokens: readonly number[]
  readonly text: string
  readonly reasoning: string
  /** True if a thought has begun. */
  readonly hasThought: boolean
  /** Tokens up to the end of the thought. */
  readonly reasoningTokens: number
  /** True if the text is exactly the text of the ids. Known once the reply has finished. */
  readonly isWhole: boolean
  /** False if the reply was cut short and does not satisfy its constraint. */
  readonly isComplete: boolean
  /** One entry for each token, if requested. */
  readonly logprobs: readonly TokenLogprobs[] | undefined
  /** Undefined if there are no tools. */
  readonly toolCalls: readonly ToolCall[] | undefined
  take(id: number): TokenAnswer
  /** Sends the text that was held back, unless a stop text was found. An incomplete character is dropped. */
  finish(): void
}

/** Decodes ids, splits the thought off, holds back text that may become a stop text, and sends the rest. */
function createWriter(
  model: LoadedModel,
  { stop, constraint, reasoning, calls, after }: ReplyLimits,
  source: LogProbabilities | undefined,
  outlet: Outlet,
): Writer {
  const tokens: number[] = []
  const logprobs: TokenLogprobs[] | undefined = source && []
  const marks = reasoning && markTexts(reasoning.form)
  const decoder = model.text.detokenizer({ toolCalls: calls !== undefined, marks, after })
  const splitter = reasoning?.splitter
  const stops = stopMatcher(stop)
  let written = ''
  let thought = ''
  let reasoningTokens = 0
  let isWhole = false
  // Tokens since the last chunk.
  let unsent = 0
  return {
    tokens,
    logprobs,
    get text() {
      return written
    },
    get reasoning() {
      return thought
    },
    get hasThought() {
      return splitter?.hasThought === true
    },
    get reasoningTokens() {
      return reasoningTokens
    },
    get isWhole() {
      return isWhole
    },
    get isComplete() {
      return constraint === undefined || (constraint.canEnd && stops.matched === undefined)
    },
    get toolCalls() {
      return calls?.found
    },
    // hot
    take(id) {
      tokens.push(id)
      unsent += 1
      if (source !== undefined) logprobs?.push(describe(source, model.text, id))
      const sent = pass(split(decoder.push(id)))
      // If nothing but the end may follow, no further token is requested.
      const isOver = stops.matched !== undefined || constraint?.mustEnd === true || calls?.isFull === true
      return isOver ? 'stop' : sent
    },
    finish() {
      pass(splitter?.finish() ?? { reasoning: '', text: '' })
      const isStopped = stops.matched !== undefined
      const text = isStopped ? '' : stops.flush()
      if (calls === undefined) send('', text)
      else send(calls.finishThought(), calls.push(text) + calls.finish())
      isWhole = !isStopped && decoder.flush() === '' && (calls === undefined || isPlain())
    },
  }

  // hot
  function split(piece: string): SplitText {
    if (splitter === undefined) return { reasoning: '', text: piece }
    const before = splitter.phase
    const parts = splitter.push(piece)
    const isThinking = [before, splitter.phase].includes('thought')
    if (splitter.hasThought && (isThinking || parts.reasoning !== '')) reasoningTokens = tokens.length
    return parts
  }

  /** Stop texts end the answer, not the thought; calls are found in both. */
  function pass({ reasoning, text }: SplitText): Promise<void> | undefined {
    const rest = stops.push(text)
    if (calls === undefined) return send(reasoning, rest)
    // Pieces of the thought come before the answer.
    const thoughtText = calls.think(reasoning) + (text === '' ? '' : calls.finishThought())
    return send(thoughtText, calls.push(rest))
  }

  /** With tools, marks of calls are text. The next prompt quotes them, so their ids will differ. */
  function isPlain(): boolean {
    const plain = model.text.detokenizer({ marks, after })
    const text = tokens.map((id) => plain.push(id)).join('') + plain.flush()
    return calls?.found.length === 0 && text === (splitter?.whole((words) => words) ?? written)
  }

  function send(reasoning: string, text: string): Promise<void> | undefined {
    if (reasoning === '' && text === '') return undefined
    written += text
    thought += reasoning
    if (reasoning !== '' && text !== '') sendChunk({ text: '', reasoning, tokens: 0 })
    return sendChunk(text === '' ? { text, reasoning } : { text })
  }

  /** Tokens belong to the last chunk that they complete. */
  function sendChunk(
    part: Pick<TextChunk, 'text' | 'reasoning'> & { tokens?: 0 },
  ): Promise<void> | undefined {
    const count = part.tokens ?? unsent
    unsent -= count
    return outlet.send({
      ...part,
      tokens: count,
      ...(logprobs && { logprobs: logprobs.slice(logprobs.length - count) }),
    })
  }
}

/** The log-probabilities that the sampler saw when it picked `id`. */
function describe(source: LogProbabilities, text: ModelText, id: number): TokenLogprobs {
  const one = (id: number, logprob: number): TokenLogprob => ({
    id,
    text: text.tokenText(id),
    bytes: [...text.tokenBytes(id)],
    logprob,
  })
  const top = Array.from(source.ids.subarray(0, source.count), (id, index) =>
    one(id, source.logprobs[index]!),
  )
  return { ...one(id, source.of(id)), top }
}
