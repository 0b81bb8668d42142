// A reply in several steps: the model calls tools, their functions run, and the model continues from the
// results.
//
// Pages load this part of the library with the first reply whose tools have a function.
import { readFrom } from '../../../core/base/check-options.ts'
import { checkOption, whole } from '../../../core/base/options/option-kinds.ts'
import { isObject } from '../../../core/base/values.ts'
import type { Message, Tool, ToolCall } from '../../types/conversation.ts'
import type { Outcome, TextChunk, Timings, Usage } from '../../types/reply.ts'
import type { Feed, Sink } from '../../wire/reply-stream.ts'
import { described, type ReplyOptions } from '../request/decode-options.ts'
import type { GenerationResult, ReplyChunk, ReplyStep, ToolRun } from '../types.ts'
import { type CheckedTool, checkedTool, runCall } from './run-call.ts'

const DEFAULT_STEPS = 6
const MAX_STEPS = 100

/** The session as needed by the steps. */
interface StepHost {
  readonly reply: ReplyOptions
  readonly sink: Sink
  /** Requests the model's next reply. */
  ask(options: ReplyOptions, sink: Sink): Feed
  /** Adds a reply and the results of its calls to the conversation. */
  say(
    reply: Outcome,
    begun: Pick<ReplyOptions, 'prefix' | 'reasoningPrefix'>,
    results: readonly Message[],
  ): void
}

/** Throws `unsupported` for wrong options of the tools. */
export function startSteps(host: StepHost): Feed {
  const steps = readFrom('tools', () => new Steps(host))
  steps.run().catch(host.sink.fail)
  return steps
}

class Steps implements Feed {
  readonly #host: StepHost
  readonly #most: number
  readonly #described: readonly Tool[]
  readonly #tools: ReadonlyMap<string, CheckedTool>
  readonly #done: ReplyStep[] = []
  readonly #stop = new AbortController()
  #feed: Feed | undefined
  /** Chunks that the reader has not taken. */
  #ahead = 0
  /** How many of them the current feed did not send; it gets no credit for those. */
  #foreign = 0

  constructor(host: StepHost) {
    const { tools = [], maxSteps = DEFAULT_STEPS } = host.reply
    checkOption('maxSteps', maxSteps, whole(2, MAX_STEPS))
    this.#host = host
    this.#most = maxSteps
    this.#tools = new Map(
      tools.flatMap((tool) => {
        const checked = checkedTool(tool)
        return checked === undefined ? [] : [[tool.name, checked] as const]
      }),
    )
    // The check of all tools rejects anything that is not a tool.
    this.#described = tools.map((tool) => (isObject(tool) ? described(tool) : tool))
  }

  credit(count: number): void {
    const foreign = Math.min(count, this.#foreign)
    this.#foreign -= foreign
    this.#ahead -= count
    if (count > foreign) this.#feed?.credit(count - foreign)
  }

  cancel(): void {
    const { signal } = this.#host.reply
    const stopped = () => new DOMException('the call was stopped before it ended', 'AbortError')
    this.#stop.abort(signal?.aborted ? signal.reason : stopped())
    this.#feed?.cancel()
  }

  async run(): Promise<void> {
    for (;;) {
      const { outcome, used } = await this.#reply()
      const { runs, left } = await this.#runCalls(outcome)
      const begun = this.#options()
      this.#done.push({ ...outcome, toolRuns: runs })
      this.#host.say(outcome, begun, runs.map(messageOf))
      const isStopped = runs.length > 0 && this.#stop.signal.aborted
      if (runs.length > 0 && left.length === 0 && !isStopped) continue
      const whole = joined(this.#done, left)
      this.#host.sink.end(isStopped ? { ...whole, finishReason: 'cancelled' } : whole, used)
      return
    }
  }

  /**
   * The options of the next reply. The first reply has the prefixes; the last one has no tools, so that it
   * can only answer.
   */
  #options(): ReplyOptions {
    const { reply } = this.#host
    const { length } = this.#done
    return {
      ...reply,
      tools: length + 1 < this.#most ? this.#described : undefined,
      prefix: length === 0 ? reply.prefix : undefined,
      reasoningPrefix: length === 0 ? reply.reasoningPrefix : undefined,
    }
  }

  /** The next reply of the model. An empty line separates it from earlier replies. */
  #reply(): Promise<{ readonly outcome: Outcome; readonly used: number }> {
    let isTextParted = this.#done.every(({ text }) => text === '')
    let isThoughtParted = this.#done.every(({ reasoning = '' }) => reasoning === '')
    this.#foreign = this.#ahead
    return new Promise((resolve, reject) => {
      this.#feed = this.#host.ask(this.#options(), {
        prefill: (progress) => this.#host.sink.prefill(progress),
        chunk: (chunk) => {
          const { text, reasoning = '' } = chunk
          if (text !== '' && !isTextParted) {
            isTextParted = true
            this.#tell({ text: GAP, tokens: 0 })
          }
          if (reasoning !== '' && !isThoughtParted) {
            isThoughtParted = true
            this.#tell({ text: '', reasoning: GAP, tokens: 0 })
          }
          this.#pass(chunk)
        },
        end: (outcome, used) => resolve({ outcome, used }),
        fail: reject,
      })
    })
  }

  /** Runs the calls one after the other. `left`: calls that the caller must answer. */
  async #runCalls({ toolCalls = [], finishReason }: Outcome) {
    const runs: ToolRun[] = []
    if (finishReason !== 'stop') return { runs, left: toolCalls }
    for (const call of toolCalls) {
      const tool = this.#tools.get(call.name)
      if (tool === undefined) continue
      this.#tell({ text: '', tokens: 0, toolRun: { ...call, state: 'running' } })
      const run = await runCall(call, tool, this.#stop.signal)
      this.#tell({ text: '', tokens: 0, toolRun: run })
      runs.push(run)
    }
    return { runs, left: toolCalls.filter(({ name }) => !this.#tools.has(name)) }
  }

  /** Emits a chunk that no feed sent, so no feed gets credit for it. */
  #tell(chunk: ReplyChunk): void {
    this.#foreign += 1
    this.#pass(chunk)
  }

  #pass(chunk: TextChunk): void {
    this.#ahead += 1
    this.#host.sink.chunk(chunk)
  }
}

/** The separator between the texts of two steps. */
const GAP = '\n\n'

const messageOf = ({ id, name, result = '' }: ToolRun): Message => ({
  role: 'tool',
  content: result,
  toolCallId: id,
  name,
})

/** All steps as one reply. `left`: the unanswered calls. */
function joined(steps: readonly ReplyStep[], left: readonly ToolCall[]): GenerationResult {
  const last = steps.at(-1) as ReplyStep
  const filled = (texts: readonly (string | undefined)[]) => texts.filter((text) => text).join(GAP)
  const reasoning = filled(steps.map((step) => step.reasoning))
  return {
    text: filled(steps.map(({ text }) => text)),
    ...(reasoning !== '' && { reasoning }),
    tokens: steps.flatMap(({ tokens }) => tokens),
    ...(last.logprobs !== undefined && { logprobs: steps.flatMap(({ logprobs = [] }) => logprobs) }),
    finishReason: last.finishReason,
    toolCalls: left,
    usage: summed(steps.map(({ usage }) => usage)),
    timings: joinedTimings(steps),
    seed: last.seed,
    steps: [...steps],
  }
}

function joinedTimings(steps: readonly ReplyStep[]): Timings {
  const sums = summed(steps.map(({ timings }) => timings))
  const perSecond = (count: number, ms: number) => (ms > 0 ? (count / ms) * 1000 : 0)
  const read = steps.reduce((sum, { usage }) => sum + usage.promptTokens - usage.cachedTokens, 0)
  const later = steps.reduce((sum, { tokens }) => sum + Math.max(0, tokens.length - 1), 0)
  return {
    ...sums,
    firstTokenMs: steps[0]?.timings.firstTokenMs ?? 0,
    prefillTokensPerSecond: perSecond(read, sums.prefillMs),
    decodeTokensPerSecond: perSecond(later, sums.decodeMs),
  }
}

/** A record with the sums of all fields. */
function summed<Fields extends Usage | Timings>(records: readonly Fields[]): Fields {
  const sums = new Map<string, number>()
  for (const record of records)
    for (const [key, value] of Object.entries(record)) sums.set(key, (sums.get(key) ?? 0) + value)
  return Object.fromEntries(sums) as unknown as Fields
}
