// Validates messages on the tabs' channel: every script of the site can write there, and so can pages of
// other releases.
import { areCounts, isCount, isObject } from '../../../core/base/values.ts'
import { isSavedSession } from '../../reply/transcript.ts'
import type { LoadProgress } from '../../types/model.ts'
import type { GenerateRequest, StreamCommand, StreamReport, WireFailure } from '../../wire/protocol.ts'
import type { Feed, Sink } from '../../wire/reply-stream.ts'

/**
 * Part of the names of the channel and the locks, so that tabs of different versions do not interact. Change
 * it whenever the meaning of a message here or in wire/protocol.ts changes.
 */
export const TABS_VERSION = 4

/** Calls of the engine service that have one answer. Those with a port can be aborted. */
export const CALLS = {
  load: { hasPort: true },
  countTokens: { hasPort: false },
  tokenize: { hasPort: false },
  detokenize: { hasPort: false },
  score: { hasPort: true },
  scoreTokens: { hasPort: true },
  embed: { hasPort: true },
  memory: { hasPort: false },
  fork: { hasPort: false },
  save: { hasPort: true },
  store: { hasPort: true },
  restore: { hasPort: true },
  close: { hasPort: false },
} as const

export type CallName = keyof typeof CALLS

/** Calls that name sessions, and how many of their first arguments are session numbers. */
export const SESSION_ARGUMENTS: { readonly [Name in CallName]?: number } = {
  fork: 2,
  save: 1,
  store: 1,
  restore: 1,
  close: 1,
}

export type TabMessage = { readonly from: string; readonly to?: string } & (
  | { readonly type: 'who' | 'leader' | 'ping' | 'pong' }
  | { readonly type: 'call'; readonly id: number; readonly name: CallName; readonly args: readonly unknown[] }
  | { readonly type: 'abort'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly failure: WireFailure }
  | { readonly type: 'progress'; readonly progress: LoadProgress }
  | { readonly type: 'generate'; readonly id: number; readonly request: GenerateRequest }
  | { readonly type: 'command'; readonly id: number; readonly command: StreamCommand }
  | { readonly type: 'report'; readonly id: number; readonly report: StreamReport }
  /** Never sent: stands for a message of type `of` that could not be read. */
  | { readonly type: 'garbled'; readonly id: number; readonly of: string }
)

/** A message without its sender. */
export type Unsent =
  Exclude<TabMessage, { readonly type: 'garbled' }> extends infer Each
    ? Each extends TabMessage
      ? Omit<Each, 'from'>
      : never
    : never

/** The answering side: the engine of this tab, or of another one. */
export interface Host {
  /** Rejects with the engine's error, the signal's reason, or `Lost`. */
  call(name: CallName, args: readonly unknown[], signal: AbortSignal): Promise<unknown>
  /** A sink may fail with `Lost`. */
  generate(request: GenerateRequest, sink: Sink): Feed
  /** Ends the host: everything pending fails with `Lost`. */
  lose(): void
}

/** The tab with the engine is gone. Another one takes over, so the request can be sent again. */
export class Lost extends Error {
  override name = 'Lost'
}

type Check = (value: unknown) => boolean

/** Maximum length of a tab's id. */
const MAX_ID = 64
const FINISH_REASONS = ['stop', 'length', 'cancelled']

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'
const isAbsent = (value: unknown): boolean => value === undefined
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)
const areTexts = isListOf(isText)
const isBlob = (value: unknown): boolean => value instanceof Blob
const hasCounts =
  (...names: readonly string[]): Check =>
  (value) =>
    isObject(value) && names.every((name) => isCount(value[name]))
const isMaybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

/**
 * Arguments and answers of each call. The engine checks the contents of prompts, options and messages, as it
 * does for its own tab.
 */
const FORMS: { readonly [Name in CallName]: { readonly args: readonly Check[]; readonly answer: Check } } = {
  load: { args: [], answer: (value) => isObject(value) && isObject(value['model']) },
  countTokens: { args: [isObject], answer: isCount },
  tokenize: { args: [isText], answer: areCounts },
  detokenize: { args: [Array.isArray], answer: isText },
  score: { args: [isText, areTexts], answer: isListOf(isObject) },
  scoreTokens: { args: [(it) => isText(it) || Array.isArray(it), isCount], answer: isListOf(isObject) },
  embed: { args: [Array.isArray, isMaybe(isObject)], answer: isListOf((it) => it instanceof Float32Array) },
  memory: { args: [], answer: hasCounts('weightsBytes', 'stateBytes', 'totalBytes') },
  fork: { args: [isCount, isCount], answer: isAbsent },
  save: { args: [isCount, isSavedSession], answer: isBlob },
  store: { args: [isCount, isText, isSavedSession], answer: hasCounts('size') },
  restore: { args: [isCount, (file) => isText(file) || isBlob(file)], answer: isSavedSession },
  close: { args: [isCount], answer: isAbsent },
}

/** Whether `value` is a valid answer to this request. */
export const isAnswer = (name: CallName, value: unknown): boolean => FORMS[name].answer(value)

/**
 * Undefined unless it is a message between tabs. An invalid message with an id is `garbled`, because a caller
 * may be waiting for the result.
 */
export function readMessage(data: unknown): TabMessage | undefined {
  if (!isObject(data)) return undefined
  const { type, from, to, id } = data
  if (!isId(from) || !(to === undefined || isId(to)) || !isText(type)) return undefined
  const read = READERS.get(type)
  if (read === undefined || (read.hasId && !isCount(id))) return undefined
  // A tab of another release may have sent it. Nobody waits for an answer to a message without an id.
  if (read.check(data)) return data as unknown as TabMessage
  return read.hasId ? { type: 'garbled', from, to, id: id as number, of: type } : undefined
}

const isId = (value: unknown): value is string => isText(value) && value !== '' && value.length <= MAX_ID

interface Reader {
  readonly hasId: boolean
  readonly check: (message: { readonly [key: string]: unknown }) => boolean
}

const told = (check: Reader['check'] = () => true): Reader => ({ hasId: false, check })
const numbered = (check: Reader['check'] = () => true): Reader => ({ hasId: true, check })

const READERS: ReadonlyMap<string, Reader> = new Map([
  ...['who', 'leader', 'ping', 'pong'].map((type): [string, Reader] => [type, told()]),
  ['progress', told(({ progress }) => isProgress(progress))],
  ['call', numbered(({ name, args }) => isText(name) && isCall(name, args))],
  ['abort', numbered()],
  ['answer', numbered()],
  ['refused', numbered(({ failure }) => isFailure(failure))],
  ['generate', numbered(({ request }) => isRequest(request))],
  ['command', numbered(({ command }) => isCommand(command))],
  ['report', numbered(({ report }) => isReport(report))],
])

function isCall(name: string, args: unknown): boolean {
  if (!Object.hasOwn(CALLS, name) || !Array.isArray(args)) return false
  const forms = FORMS[name as CallName].args
  return args.length === forms.length && forms.every((check, index) => check(args[index]))
}

function isRequest(request: unknown): boolean {
  if (!isObject(request)) return false
  const { session, prompt, options, constraint, prefill } = request
  return (
    isMaybe(isCount)(session) &&
    isObject(prompt) &&
    isObject(options) &&
    isMaybe(isWritten)(constraint) &&
    isMaybe(isObject)(prefill)
  )
}

const GRAMMAR_LISTS = {
  kinds: Uint8Array,
  a: Float64Array,
  b: Float64Array,
  c: Float64Array,
  options: Uint32Array,
  optionEnds: Uint32Array,
  sets: Uint32Array,
  framed: Uint8Array,
  bodies: Uint32Array,
}

function isWritten(constraint: unknown): boolean {
  if (!isObject(constraint)) return false
  const { key, root, ruleNames, tokens, kinds } = constraint
  return (
    isText(key) &&
    areTexts(ruleNames) &&
    Array.isArray(tokens) &&
    Object.entries(GRAMMAR_LISTS).every(([name, List]) => constraint[name] instanceof List) &&
    isCount(root) &&
    root < (kinds as Uint8Array).length
  )
}

function isCommand(command: unknown): command is StreamCommand {
  if (!isObject(command)) return false
  return command['type'] === 'cancel' || (command['type'] === 'credit' && isCount(command['count']))
}

function isReport(report: unknown): report is StreamReport {
  if (!isObject(report)) return false
  const { type, chunk, progress, outcome, contextUsed, failure } = report
  switch (type) {
    case 'chunk':
      return (
        isObject(chunk) &&
        isText(chunk['text']) &&
        isMaybe(isText)(chunk['reasoning']) &&
        isCount(chunk['tokens'])
      )
    case 'prefill':
      return hasCounts('tokens', 'total')(progress)
    case 'end':
      return isOutcome(outcome) && isCount(contextUsed)
    case 'failed':
      return isFailure(failure)
    default:
      return false
  }
}

function isOutcome(outcome: unknown): boolean {
  if (!isObject(outcome)) return false
  const { text, reasoning, tokens, finishReason, usage, timings } = outcome
  return (
    isText(text) &&
    isMaybe(isText)(reasoning) &&
    areCounts(tokens) &&
    FINISH_REASONS.includes(finishReason as string) &&
    isObject(usage) &&
    isObject(timings)
  )
}

function isProgress(progress: unknown): progress is LoadProgress {
  if (!isObject(progress)) return false
  const { phase, loaded, total, done } = progress
  if (phase === 'download') return isNumber(loaded) && isNumber(total)
  if (phase === 'convert') return isNumber(done) && isNumber(total)
  return phase === 'compile' || phase === 'warmup'
}

function isFailure(failure: unknown): failure is WireFailure {
  if (!isObject(failure)) return false
  const { type, error, name, message } = failure
  if (type === 'halfbyte')
    return isObject(error) && isText(error['code']) && isText(error['message']) && isObject(error['detail'])
  return (type === 'dom' || type === 'other') && isText(name) && isText(message)
}
