// Prompt API input. In: prompts and options as the browsers' own API takes them. Out: our messages and sampling, or NotSupportedError.
import type { Message } from '../../engine/protocol.ts'
import type { GenerateOptions } from '../types.ts'

/** Our own message, under the API's word for it. */
export type PromptMessage = Message

export type Prompt =
  | string
  | readonly {
      readonly role: string
      readonly content: string | readonly { readonly type: string; readonly value?: unknown }[]
      readonly prefix?: boolean
    }[]

export type SamplingMode = 'most-predictable' | 'predictable' | 'balanced' | 'creative' | 'most-creative'

export interface DownloadMonitor extends EventTarget {
  /** Gets events whose `loaded` is the share of 1 that is there. */
  ondownloadprogress: ((event: Event) => unknown) | null
  report(share: number): void
}

export interface CreateOptions {
  readonly initialPrompts?: Prompt
  readonly samplingMode?: SamplingMode
  readonly temperature?: number
  readonly topK?: number
  readonly signal?: AbortSignal
  readonly monitor?: (monitor: DownloadMonitor) => void
  readonly expectedInputs?: readonly { readonly type: string }[]
  readonly expectedOutputs?: readonly { readonly type: string }[]
}

const TEMPERATURES: Readonly<Record<SamplingMode, number>> = {
  'most-predictable': 0,
  predictable: 0.4,
  balanced: 0.8,
  creative: 1,
  'most-creative': 1.3,
}

/** Throws TypeError when mode and numbers are given both, NotSupportedError when more than text is expected. */
export function samplingOf(options: CreateOptions): GenerateOptions {
  const { samplingMode, temperature, topK } = options
  for (const { type } of [...(options.expectedInputs ?? []), ...(options.expectedOutputs ?? [])]) {
    if (type !== 'text') throw unsupported(`"${type}" cannot be read or written; the model knows text only`)
  }
  if (samplingMode === undefined) return { temperature, topK }
  if (temperature !== undefined || topK !== undefined) {
    throw new TypeError('samplingMode cannot be given beside temperature or topK; leave one of them out')
  }
  return { temperature: TEMPERATURES[samplingMode] }
}

export function readPrompt(input: Prompt): PromptMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return input.map(({ role, content, prefix }) => {
    if (prefix === true) throw unsupported('a reply cannot be given a prefix')
    if (role !== 'system' && role !== 'user' && role !== 'assistant') {
      throw new TypeError(`"${role}" is not a role; use system, user or assistant`)
    }
    return { role, content: typeof content === 'string' ? content : content.map(readPart).join('') }
  })
}

function readPart({ type, value }: { readonly type: string; readonly value?: unknown }): string {
  if (type === 'text' && typeof value === 'string') return value
  throw unsupported(`content of the type "${type}" cannot be read; the model knows text only`)
}

const unsupported = (sentence: string): DOMException => new DOMException(sentence, 'NotSupportedError')
