// Converts prompts, tools and options of the Prompt API to ours, or throws the error that the API defines.

import { checkList, checkSignal, wrongOption } from '../../core/base/check-options.ts'
import { isHalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { unlessAborted } from '../../core/base/time/abort.ts'
import { isObject } from '../../core/base/values.ts'
import { joinParts } from '../../engine/api/message-parts.ts'
import type { GenerateOptions, Message, PictureSource, ToolCall } from '../../engine/api/types.ts'
import { formOptions } from '../reply-form.ts'
import { pictureOf } from './pictures.ts'

/** Maximum rounds of tool calls per prompt. */
export const MAX_ROUNDS = 16

/** Runs the calls in parallel and waits for all. Rejects with a tool's error or with the signal's reason. */
export async function runCalls(
  calls: readonly ToolCall[],
  tools: readonly PromptTool[],
  signal: AbortSignal,
): Promise<Message[]> {
  return unlessAborted(Promise.all(calls.map((call) => runCall(call, tools))), signal)
}

async function runCall(
  { id, name, arguments: given }: ToolCall,
  tools: readonly PromptTool[],
): Promise<Message> {
  const tool = tools.find((one) => one.name === name)!
  return { role: 'tool', content: String(await tool.execute(given as never)), toolCallId: id, name }
}

interface QuotaErrorClass {
  new (message: string, numbers: { readonly requested: number; readonly quota: number }): DOMException
}

/**
 * A `QuotaExceededError` if the platform has that class, otherwise a DOMException with that name. Both have
 * `requested` and `quota`, in tokens.
 */
export function quotaExceeded(requested: number, quota: number): DOMException {
  const { QuotaExceededError: Platform } = globalThis as { QuotaExceededError?: QuotaErrorClass }
  const message = `the conversation needs ${requested} tokens but the context has room for ${quota}; shorten the input`
  const numbers = { requested, quota }
  if (Platform !== undefined) return new Platform(message, numbers)
  return Object.assign(new DOMException(message, 'QuotaExceededError'), numbers)
}

/** A message in the API's form. */
export type PromptMessage = Message

export type Prompt =
  | string
  | readonly {
      readonly role: string
      readonly content: string | readonly { readonly type: string; readonly value?: unknown }[]
      readonly prefix?: boolean
    }[]

export type SamplingMode = 'most-predictable' | 'predictable' | 'balanced' | 'creative' | 'most-creative'

/** The argument of a page's `monitor`: emits events whose `loaded` is a fraction of 1, starting at 0. */
export interface DownloadMonitor extends EventTarget {
  ondownloadprogress: ((event: ProgressEvent) => unknown) | null
  addEventListener(
    type: string,
    listener: ((event: ProgressEvent) => unknown) | EventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void
}

/** A tool. The session runs it when the model calls it; several may run in parallel. */
export interface PromptTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  /** Called with an object of arguments, which are not checked against `inputSchema`. */
  readonly execute: (...args: never[]) => Promise<string>
}

export interface PromptOptions {
  readonly signal?: AbortSignal
  /**
   * A JSON Schema or a regular expression that the whole reply must match. The constraint is not added to the
   * prompt.
   */
  readonly responseConstraint?: object
  /** Has no effect: the constraint is never added to the input. */
  readonly omitResponseConstraintInput?: boolean
}

export interface CreateOptions {
  readonly tools?: readonly PromptTool[]
  readonly initialPrompts?: Prompt
  readonly samplingMode?: SamplingMode
  readonly temperature?: number
  readonly topK?: number
  readonly signal?: AbortSignal
  readonly monitor?: (monitor: DownloadMonitor) => void
  readonly expectedInputs?: readonly { readonly type: string }[]
  readonly expectedOutputs?: readonly { readonly type: string }[]
}

const TEMPERATURES: ReadonlyMap<SamplingMode, number> = new Map([
  ['most-predictable', 0],
  ['predictable', 0.4],
  ['balanced', 0.8],
  ['creative', 1],
  ['most-creative', 1.3],
])

const KINDS: ReadonlySet<string> = new Set(['text', 'tool-call', 'tool-response'])
const IMAGE = 'image'

/**
 * Applies `read` to a page's values. As in browsers, throws TypeError for values of the wrong type and for
 * those that cannot be read.
 */
function given<Read>(name: string, read: () => Read): Read {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof TypeError || cause instanceof DOMException) throw cause
    const reason = isHalfbyteError(cause) ? cause.message : `${name} cannot be read (${reasonOf(cause)})`
    throw new TypeError(reason, { cause })
  }
}

/** A dictionary of the API. A missing value counts as an empty one. */
function dictionary<Options extends object>(
  name: string,
  options: Options | null | undefined,
): Partial<Options> {
  const value = options ?? {}
  if (!isObject(value)) throw wrongOption(name, value, 'an object')
  return value as Partial<Options>
}

/** The options of a call. Throws TypeError for options of the wrong type. */
export const promptOptions = (options: PromptOptions | undefined): PromptOptions =>
  given('the options', () => {
    const { signal, responseConstraint } = dictionary('the options', options)
    checkSignal(signal)
    if (
      responseConstraint !== undefined &&
      (typeof responseConstraint !== 'object' || responseConstraint === null)
    )
      throw wrongOption('responseConstraint', responseConstraint, 'a JSON Schema or a regular expression')
    return { ...(signal && { signal }), ...(responseConstraint && { responseConstraint }) }
  })

/** The options of a session, with checked types. */
export interface CreateRequest {
  readonly sampling: GenerateOptions
  readonly tools: readonly PromptTool[]
  readonly initial: readonly PromptMessage[]
  readonly signal: AbortSignal | undefined
  readonly monitor: CreateOptions['monitor'] | undefined
  /** What the session must read and write according to the options; for images as inputs see `sees`. */
  readonly kinds: readonly string[]
  /** Whether prompts may have images: `expectedInputs` names them. */
  readonly sees: boolean
}

/**
 * Throws TypeError for values of the wrong type, for an unknown mode or one combined with numbers, and for
 * tools that cannot be run or share a name; RangeError for numbers that are impossible for a sampler.
 */
export function createRequest(options: CreateOptions | undefined): CreateRequest {
  const request = given('the options', () => {
    const read = dictionary('the options', options)
    checkSignal(read.signal)
    const { monitor } = read
    if (monitor !== undefined && typeof monitor !== 'function')
      throw wrongOption('monitor', monitor, 'a function')
    const inputs = kindsOf('expectedInputs', read.expectedInputs ?? [])
    const sees = inputs.includes(IMAGE)
    return {
      sampling: samplingOf(read),
      tools: toolsOf(read.tools ?? []),
      initial: readPrompt(read.initialPrompts ?? [], sees),
      sees,
      signal: read.signal,
      monitor,
      kinds: [
        ...inputs.filter((kind) => kind !== IMAGE),
        ...kindsOf('expectedOutputs', read.expectedOutputs ?? []),
      ],
    }
  })
  const { temperature = 0, topK = 1 } = request.sampling
  if (temperature < 0) throw new RangeError(`temperature is ${temperature} but must be 0 or more`)
  if (topK < 1) throw new RangeError(`topK is ${topK} but must be 1 or more`)
  return request
}

/** Whether the model can read and write it. */
export const isReadable = (kind: string): boolean => KINDS.has(kind)

/** Throws NotSupportedError for outputs other than text and inputs other than text and images. */
export function checkKinds({ kinds }: Pick<CreateRequest, 'kinds'>): void {
  const other = kinds.find((kind) => !isReadable(kind))
  if (other !== undefined)
    throw unsupported(`"${other}" is not a supported language or type; request text, and images as inputs`)
}

/** Throws NotSupportedError if images are expected and the model has no vision. */
export function checkSight({ sees }: Pick<CreateRequest, 'sees'>, seesImages: boolean): void {
  if (sees && !seesImages)
    throw unsupported(
      'the model has no vision tower, so "image" cannot be read; load it with the option vision',
    )
}

function kindsOf(name: string, expected: unknown): string[] {
  checkList(name, expected)
  return Array.from(expected, (each) => {
    const { type } = dictionary(`a value in ${name}`, each as { readonly type?: unknown })
    if (typeof type === 'string') return type
    throw wrongOption(`a type in ${name}`, type, 'text')
  })
}

function samplingOf({ samplingMode, temperature, topK }: CreateOptions): GenerateOptions {
  for (const [name, number] of Object.entries({ temperature, topK })) {
    if (number !== undefined && !Number.isFinite(number)) throw wrongOption(name, number, 'a number')
  }
  if (samplingMode === undefined) return { temperature, topK: topK === undefined ? topK : Math.floor(topK) }
  if (temperature !== undefined || topK !== undefined) {
    throw new TypeError('samplingMode cannot be combined with temperature or topK; leave one of them out')
  }
  const known = TEMPERATURES.get(samplingMode)
  if (known !== undefined) return { temperature: known }
  throw wrongOption('samplingMode', samplingMode, [...TEMPERATURES.keys()].join(', '))
}

function toolsOf(tools: unknown): readonly PromptTool[] {
  checkList('tools', tools)
  const read = Array.from(tools, (tool, index): PromptTool => {
    const { name, description, inputSchema, execute } = dictionary(`tool ${index}`, tool as PromptTool)
    if (typeof name !== 'string') throw wrongOption(`the name of tool ${index}`, name, 'a text')
    if (typeof description !== 'string')
      throw wrongOption(`the description of "${name}"`, description, 'a text')
    if (!isObject(inputSchema)) throw wrongOption(`the inputSchema of "${name}"`, inputSchema, 'an object')
    if (typeof execute !== 'function')
      throw new TypeError(`the tool "${name}" has no execute function; add one`)
    return { name, description, inputSchema, execute: (...args) => Reflect.apply(execute, tool, args) }
  })
  if (new Set(read.map(({ name }) => name)).size === read.length) return read
  throw new TypeError(`each of the ${read.length} tools needs a unique name`)
}

/** Our options for a prompt. Throws TypeError for a schema that cannot be read. */
export const constraintOf = (
  { responseConstraint }: PromptOptions,
  tools: readonly PromptTool[],
): Pick<GenerateOptions, 'schema' | 'pattern' | 'tools'> =>
  given('responseConstraint', () => {
    // With an expression, the reply cannot contain calls.
    if (responseConstraint instanceof RegExp) return { pattern: responseConstraint }
    const told = tools.map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameters: inputSchema,
    }))
    return formOptions({ tools: told, choice: 'auto', schema: responseConstraint })
  })

/**
 * Throws TypeError for invalid roles, NotSupportedError for unsupported content, SyntaxError for a misplaced
 * prefix.
 */
export const readPrompt = (input: Prompt, sees: boolean): PromptMessage[] =>
  given('the prompt', () => messagesOf(listOf(input), sees))

type ListedPrompt = Exclude<Prompt, string>

/** The prompt as a list of its own messages. */
function listOf(input: Prompt): ListedPrompt {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  checkList('the prompt', input)
  return Array.from(input, (message, index) => {
    const { role, content, prefix } = dictionary(`message ${index}`, message)
    if (typeof role !== 'string') throw wrongOption(`the role of message ${index}`, role, 'a text')
    if (typeof content !== 'string') checkList(`the content of message ${index}`, content)
    return { role, content, prefix: prefix === true } as ListedPrompt[0]
  })
}

function messagesOf(input: ListedPrompt, sees: boolean): PromptMessage[] {
  const last = input.findLastIndex(({ role }) => role === 'system')
  if (last > 0) {
    throw new TypeError(
      `message ${last} has the role system, which is only allowed for the first message; move its text there`,
    )
  }
  return input.map(({ role, content, prefix }) => {
    if (prefix === true) {
      throw new DOMException(
        'prefix is only allowed on the last message of prompt and promptStreaming, with the role assistant',
        'SyntaxError',
      )
    }
    if (role !== 'system' && role !== 'user' && role !== 'assistant')
      throw wrongOption('a role', role, 'system, user or assistant')
    if (typeof content === 'string') return { role, content }
    const parts = Array.from(content, (part) => readPart(part, sees && role !== 'assistant'))
    return { role, ...joinParts(parts) }
  })
}

interface PrefixedPrompt {
  readonly said: readonly PromptMessage[]
  readonly prefix?: string
}

/** Messages, and the text with which the reply to them begins: the last message, if it is a prefix. */
export const readPrefixed = (input: Prompt, sees: boolean): PrefixedPrompt =>
  given('the prompt', () => {
    const list = listOf(input)
    const last = list.at(-1)
    if (last?.prefix !== true || last.role !== 'assistant') return { said: messagesOf(list, sees) }
    const [{ content }] = messagesOf([{ ...last, prefix: false }], sees) as [PromptMessage]
    return { said: messagesOf(list.slice(0, -1), sees), prefix: content }
  })

/** All messages, including the beginning of the reply. */
export const withPrefix = ({ said, prefix }: PrefixedPrompt): readonly PromptMessage[] =>
  prefix === undefined ? said : [...said, { role: 'assistant', content: prefix }]

/** A part's text or image. Throws a `NotSupportedError` for an image unless `sees`. */
function readPart(part: unknown, sees: boolean): string | PictureSource {
  const { type, value } = dictionary('a part of the content', part as { type?: unknown; value?: unknown })
  if (typeof type !== 'string') throw wrongOption('the type of a part', type, 'text')
  if (type === 'text' && typeof value === 'string') return value
  if (type === 'text') throw wrongOption('the value of a part', value, 'a text')
  if (type === IMAGE && sees) return pictureOf(value)
  const step = "name it in create's expectedInputs, and put it in a user message"
  throw unsupported(
    `content of type "${type}" cannot be read; ${type === IMAGE ? step : 'pass text or images'}`,
  )
}

/** The error that browsers throw for an unsupported capability. */
export const browserError = (error: unknown): unknown =>
  isHalfbyteError(error) && error.code === 'unsupported' ? unsupported(error.message) : error

const unsupported = (sentence: string): DOMException => new DOMException(sentence, 'NotSupportedError')
