// A fake reply: turns the test's reply into the chunks and the outcome that an engine would send.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Message, Tool, ToolCall } from '../../types/conversation.ts'
import type { FinishReason, Outcome } from '../../types/reply.ts'
import type { Outlet } from '../../wire/reply-stream.ts'
import type { GenerateOptions } from '../types.ts'

/** The app's request. */
export interface FakeRequest {
  /** The conversation with its system text; empty for `complete`. */
  readonly messages: readonly Message[]
  /** The prompt of `complete`, otherwise the content of the last message. */
  readonly prompt: string
  /** The tools offered to the model. */
  readonly tools: readonly Tool[]
  /** The beginning of the reply, if the app gave one. */
  readonly prefix: string
  /** Sampler options, `maxTokens`, `stop` and others. Constraints are not included. */
  readonly options: Pick<
    GenerateOptions,
    'temperature' | 'seed' | 'topK' | 'topP' | 'minP' | 'maxTokens' | 'stop'
  >
  /** Aborts when the reply is cancelled or its engine is disposed. */
  readonly signal: AbortSignal
}

/** A reply with more than text. */
export interface FakeAnswer {
  /**
   * The text. Pieces arrive unchanged, one chunk each; a string is split before each word. Default: empty.
   */
  readonly text?: string | Iterable<string> | AsyncIterable<string> | undefined
  /** The thought before the text. Default: none. */
  readonly reasoning?: string | undefined
  /** Calls after the text. Ids are `call_1`, `call_2`, ... unless given. Default: none. */
  readonly toolCalls?: readonly (Omit<ToolCall, 'id'> & Partial<Pick<ToolCall, 'id'>>)[] | undefined
  /** Why the reply ended. Default `stop`, or `length` if `maxTokens` cut off the text. */
  readonly finishReason?: FinishReason | undefined
}

/** A text, its pieces, or a full answer. An error makes the reply fail with that error. */
export type FakeReply = string | Iterable<string> | AsyncIterable<string> | FakeAnswer | Error

/** Words, each with the space before it. They are the tokens of a fake engine. */
export const wordsOf = (text: string): string[] => text.match(/\s*\S+|\s+$/g) ?? []

/** Numbers that depend only on the texts. */
interface Counted {
  readonly promptTokens: number
  readonly idOf: (word: string) => number
}

/** Sends the pieces while there is credit. Returns the outcome, or throws the reply's error. */
export async function sendReply(
  reply: FakeReply,
  { options: { maxTokens = Number.POSITIVE_INFINITY, stop = [] } }: Pick<FakeRequest, 'options'>,
  outlet: Outlet,
  { promptTokens, idOf }: Counted,
): Promise<Outcome> {
  const answer = answerOf(reply)
  const { reasoning = '', toolCalls = [] } = answer
  const tokens: number[] = []
  let text = ''
  let finishReason = answer.finishReason ?? 'stop'
  for (const piece of wordsOf(reasoning)) {
    if (outlet.signal.aborted) break
    tokens.push(idOf(piece))
    await outlet.send({ text: '', reasoning: piece, tokens: 1 })
  }
  const reasoningTokens = tokens.length
  for await (const piece of piecesOf(answer.text ?? '', outlet.signal)) {
    if (outlet.signal.aborted) break
    if (tokens.length >= maxTokens) {
      finishReason = 'length'
      break
    }
    const end = stopAt(text + piece, stop)
    const shown = end === undefined ? piece : piece.slice(0, Math.max(0, end - text.length))
    text = end === undefined ? text + piece : (text + piece).slice(0, end)
    tokens.push(idOf(piece))
    if (shown !== '') await outlet.send({ text: shown, tokens: 1 })
    if (end !== undefined) break
  }
  if (outlet.signal.aborted) finishReason = 'cancelled'
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    tokens,
    finishReason,
    ...(toolCalls.length > 0 &&
      finishReason === 'stop' && {
        toolCalls: toolCalls.map((call, index) => ({ id: `call_${index + 1}`, ...call })),
      }),
    usage: {
      promptTokens,
      cachedTokens: 0,
      droppedTokens: 0,
      completionTokens: tokens.length,
      reasoningTokens,
      draftedTokens: 0,
      acceptedTokens: 0,
    },
    timings: {
      firstTokenMs: 1,
      prefillMs: 1,
      decodeMs: 1,
      prefillTokensPerSecond: 1000,
      decodeTokensPerSecond: 1000,
    },
  }
}

function answerOf(reply: FakeReply): FakeAnswer {
  if (reply instanceof Error) throw reply
  if (typeof reply === 'string') return { text: reply }
  if (typeof reply !== 'object' || reply === null) {
    throw new HalfbyteError(
      'unsupported',
      `a fake reply is ${String(reply)}; give a string, its pieces, an object with text or toolCalls, or an error`,
    )
  }
  return isPieces(reply) ? { text: reply } : reply
}

const isPieces = (value: object): value is Iterable<string> | AsyncIterable<string> =>
  Symbol.iterator in value || Symbol.asyncIterator in value

const CANCELLED = Symbol()

/**
 * The pieces of a reply. Ends when the signal aborts, even while waiting for a piece, and lets the source
 * clean up.
 */
async function* piecesOf(
  text: string | Iterable<string> | AsyncIterable<string>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  if (typeof text === 'string') {
    yield* wordsOf(text)
    return
  }
  const source = Symbol.asyncIterator in text ? text[Symbol.asyncIterator]() : text[Symbol.iterator]()
  const cancelled = new Promise<typeof CANCELLED>((resolve) => {
    signal.addEventListener('abort', () => resolve(CANCELLED))
  })
  try {
    while (!signal.aborted) {
      const next = await Promise.race([source.next(), cancelled])
      if (next === CANCELLED || next.done === true) return
      yield next.value
    }
  } finally {
    // A source that waits forever would never return.
    Promise.resolve(source.return?.()).catch(() => undefined)
  }
}

/** Where the first stop text begins. */
function stopAt(text: string, stop: readonly string[]): number | undefined {
  const found = stop.map((each) => text.indexOf(each)).filter((at) => at >= 0)
  return found.length === 0 ? undefined : Math.min(...found)
}
