// Prompt API input. In: prompts and options in the browsers' own form. Out: our messages and sampling
// options, or NotSupportedError.
import { shown } from '../../base/options.ts'
import type { Message } from '../../engine/wire/protocol.ts'
import type { GenerateOptions } from '../types.ts'
import { formOptions } from './reply-form.ts'

/** Our own message, under the API's name for it. */
export type PromptMessage = Message

export type Prompt =
  | string
  | readonly {
      readonly role: string
      readonly content: string | readonly { readonly type: string; readonly value?: unknown }[]
      readonly prefix?: boolean
    }[]

export type SamplingMode = 'most-predictable' | 'predictable' | 'balanced' | 'creative' | 'most-creative'

/** What a page's `monitor` gets: events whose `loaded` is a fraction of 1, from 0 on. */
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
   * A JSON Schema or a regular expression that the whole reply must match. The model is not told about it.
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

/**
 * Throws TypeError if the mode is unknown or given with numbers, NotSupportedError if anything other than
 * text is expected.
 */
export function samplingOf(options: CreateOptions): GenerateOptions {
  const { samplingMode, temperature, topK } = options
  for (const { type } of [...(options.expectedInputs ?? []), ...(options.expectedOutputs ?? [])]) {
    if (!KINDS.has(type)) throw unsupported(`"${type}" cannot be read or written; the model knows text only`)
  }
  if (samplingMode === undefined) return { temperature, topK }
  if (temperature !== undefined || topK !== undefined) {
    throw new TypeError('samplingMode cannot be combined with temperature or topK; leave one of them out')
  }
  const known = TEMPERATURES.get(samplingMode)
  if (known !== undefined) return { temperature: known }
  throw new TypeError(
    `samplingMode is ${shown(samplingMode)} but must be ${[...TEMPERATURES.keys()].join(', ')}; change it or leave it out`,
  )
}

/** False if anything other than text is expected. Throws TypeError as `samplingOf`. */
export function isTextOnly(options: CreateOptions): boolean {
  try {
    samplingOf(options)
    return true
  } catch (error) {
    if (error instanceof DOMException) return false
    throw error
  }
}

/** Throws TypeError for tools that cannot be run or that share a name. */
export function toolsOf({ tools = [] }: CreateOptions): readonly PromptTool[] {
  for (const { name, execute } of tools) {
    if (typeof execute === 'function') continue
    throw new TypeError(`the tool "${name}" has no function execute; give it one`)
  }
  if (new Set(tools.map(({ name }) => name)).size === tools.length) return tools
  throw new TypeError(`each of the ${tools.length} tools needs a name of its own`)
}

/** Our options for a prompt. Throws TypeError if the constraint is neither a schema nor an expression. */
export function constraintOf(
  { responseConstraint }: PromptOptions,
  tools: readonly PromptTool[],
): Pick<GenerateOptions, 'schema' | 'pattern' | 'tools'> {
  const told = tools.map(({ name, description, inputSchema }) => ({
    ...{ name, description, parameters: inputSchema },
  }))
  const free = { tools: told, choice: 'auto' } as const
  if (responseConstraint === undefined) return formOptions({ ...free, schema: undefined })
  if (typeof responseConstraint !== 'object' || responseConstraint === null) {
    throw new TypeError('responseConstraint must be a JSON Schema or a regular expression')
  }
  if (!(responseConstraint instanceof RegExp)) return formOptions({ ...free, schema: responseConstraint })
  const { source, flags } = responseConstraint
  if (/[^dguy]/.test(flags)) throw unsupported(`the flags "${flags}" of an expression change what it matches`)
  // With an expression the reply cannot contain calls.
  return { pattern: source }
}

/** Throws TypeError for roles, NotSupportedError for content, SyntaxError for a prefix. */
export function readPrompt(input: Prompt): PromptMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const last = input.findLastIndex(({ role }) => role === 'system')
  if (last > 0) {
    throw new TypeError(
      `message ${last} has the role system, which only the first may have; put its text there`,
    )
  }
  return input.map(({ role, content, prefix }) => {
    if (prefix === true) {
      throw new DOMException(
        'prefix is for the last message of prompt and promptStreaming, with the role assistant',
        'SyntaxError',
      )
    }
    if (role !== 'system' && role !== 'user' && role !== 'assistant') {
      throw new TypeError(`"${role}" is not a role; use system, user or assistant`)
    }
    return { role, content: typeof content === 'string' ? content : content.map(readPart).join('') }
  })
}

interface PrefixedPrompt {
  readonly said: readonly PromptMessage[]
  readonly prefix?: string
}

/** Messages, and the text with which the reply to them begins: the last message, if it is a prefix. */
export function readPrefixed(input: Prompt): PrefixedPrompt {
  const last = typeof input === 'string' ? undefined : input.at(-1)
  if (typeof input === 'string' || last?.prefix !== true || last.role !== 'assistant')
    return { said: readPrompt(input) }
  const [{ content }] = readPrompt([{ ...last, prefix: false }]) as [PromptMessage]
  return { said: readPrompt(input.slice(0, -1)), prefix: content }
}

/** All messages, the beginning of the reply among them. */
export const withPrefix = ({ said, prefix }: PrefixedPrompt): readonly PromptMessage[] =>
  prefix === undefined ? said : [...said, { role: 'assistant', content: prefix }]

function readPart({ type, value }: { readonly type: string; readonly value?: unknown }): string {
  if (type === 'text' && typeof value === 'string') return value
  throw unsupported(`content of the type "${type}" cannot be read; the model knows text only`)
}

export const unsupported = (sentence: string): DOMException => new DOMException(sentence, 'NotSupportedError')
