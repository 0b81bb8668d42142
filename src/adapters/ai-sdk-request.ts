// Turns a call of the AI SDK into our messages and options, with warnings for options without a counterpart.

import { checkList, readFrom } from '../core/base/check-options.ts'
import { isHalfbyteError } from '../core/base/errors.ts'
import { isObject } from '../core/base/values.ts'
import type { Engine } from '../engine/api/engine.ts'
import type { GenerateOptions, Message, Tool } from '../engine/api/types.ts'
import type {
  CallOptions,
  EmbedCall,
  FunctionTool,
  PromptMessage,
  ToolCallPart,
  ToolOutput,
  ToolResultPart,
  Warning,
} from './ai-sdk-types.ts'
import {
  callOf,
  contentOf,
  pictureAt,
  pictureOf,
  roleOf,
  splitPrefix,
  textOf,
  textPart,
  withToolNames,
} from './chat-messages.ts'
import { effortOf } from './reasoning-effort.ts'
import { ANY_OBJECT, formOptions, type ToolChoice } from './reply-form.ts'

interface CallRequest {
  readonly messages: readonly Message[]
  readonly options: GenerateOptions
  readonly warnings: Warning[]
}

/**
 * `variables`: the variables of the model's chat template. Throws `unsupported` for messages that cannot be
 * passed to the model.
 */
export const callRequest = (call: CallOptions, variables: readonly string[]): CallRequest =>
  readFrom('the call', () => read(call, variables))

function read(call: CallOptions, variables: readonly string[]): CallRequest {
  const warnings: Warning[] = []
  checkList('prompt', call.prompt)
  if (call.tools != null) checkList('tools', call.tools)
  const tools: Tool[] = []
  for (const tool of call.tools ?? []) {
    if (tool.type === 'function') tools.push(readTool(tool))
    else warnings.push({ type: 'unsupported', feature: `tool ${tool.name}` })
  }
  const own = call.providerOptions?.['halfbyte']
  const templateArguments = templateArgumentsOf(call.reasoning, variables, own, warnings)
  const options: GenerateOptions = {
    maxTokens: call.maxOutputTokens,
    temperature: call.temperature,
    stop: call.stopSequences,
    topP: call.topP,
    topK: call.topK,
    presencePenalty: call.presencePenalty,
    frequencyPenalty: call.frequencyPenalty,
    seed: call.seed,
    ...formOptions({ tools, choice: choiceOf(call.toolChoice), schema: schemaOf(call.responseFormat) }),
    signal: call.abortSignal,
    ...own,
    ...(templateArguments !== undefined && { templateArguments }),
  }
  const { messages, begun } = splitPrefix(withToolNames(call.prompt.flatMap(readMessage)))
  return { messages, options: { ...begun, ...options }, warnings }
}

/** An effort as template variables, which the caller's own variables override. */
function templateArgumentsOf(
  effort: CallOptions['reasoning'],
  variables: readonly string[],
  own: Readonly<Record<string, unknown>> | undefined,
  warnings: Warning[],
): GenerateOptions['templateArguments'] {
  if (effort === undefined || effort === 'provider-default') return undefined
  const { given, lost: details, isIgnored = false } = effortOf(effort, variables)
  if (details !== undefined)
    warnings.push({ type: isIgnored ? 'unsupported' : 'compatibility', feature: 'reasoning', details })
  const named = own?.['templateArguments']
  if (Object.keys(given).length === 0 || (named != null && !isObject(named))) return undefined
  return { ...given, ...(named as GenerateOptions['templateArguments']) }
}

export interface EmbedRequest {
  readonly values: readonly string[]
  readonly dimensions: number | undefined
  readonly options: Parameters<Engine['embed']>[1]
}

/** Throws `unsupported` for an invalid call. */
export const embedRequest = (call: EmbedCall): EmbedRequest =>
  readFrom('the call', () => {
    const { values, dimensions, abortSignal: signal, providerOptions } = call
    checkList('values', values)
    return { values: [...values], dimensions, options: { ...providerOptions?.['halfbyte'], signal } }
  })

/**
 * Marks an error about a call as the SDK's `InvalidArgumentError`, too. The SDK recognises its errors by
 * markers that all copies of it share.
 */
export function sdkError(error: unknown): unknown {
  if (!isHalfbyteError(error) || error.code !== 'unsupported') return error
  const mark = 'vercel.ai.error'
  return Object.assign(error, {
    [Symbol.for(mark)]: true,
    [Symbol.for(`${mark}.AI_InvalidArgumentError`)]: true,
    argument: error.detail['name'] ?? 'call',
  })
}

export function throwToSdk(error: unknown): never {
  throw sdkError(error)
}

const isObjectOrList = (value: unknown): value is object => typeof value === 'object' && value !== null

function schemaOf(format: CallOptions['responseFormat']): object | undefined {
  if (format?.type !== 'json') return undefined
  return isObjectOrList(format.schema) ? format.schema : ANY_OBJECT
}

function readTool({ name, description, inputSchema, strict }: FunctionTool): Tool {
  return { name, description, parameters: isObjectOrList(inputSchema) ? inputSchema : undefined, strict }
}

function choiceOf(choice: CallOptions['toolChoice'] = { type: 'auto' }): ToolChoice {
  return choice.type === 'tool' ? { tool: choice.toolName } : choice.type
}

/** A message with several answers becomes one message per answer. */
function readMessage({ role, content }: PromptMessage, index: number): readonly Message[] {
  const known = roleOf(role, index)
  if (typeof content === 'string') return [{ role: known, content }]
  checkList(`the content of message ${index}`, content)
  const answers = content.filter(isResult)
  if (known === 'tool' && answers.length === content.length) {
    return answers.map(({ toolCallId, toolName, output }) => {
      return { role: 'tool', content: answerOf(output, index), toolCallId, name: toolName }
    })
  }
  const calls = known === 'assistant' ? content.filter(isCall) : []
  const thought = known === 'assistant' ? content.map(thoughtOf).join('') : ''
  const toolCalls = calls.map(({ toolCallId, toolName, input }) => callOf(toolCallId, toolName, input))
  return [
    {
      role: known,
      ...contentOf(content, index, (part) => readPart(part, known)),
      ...(thought !== '' && { reasoning: thought }),
      ...(toolCalls.length > 0 && { toolCalls }),
    },
  ]
}

const isResult = (part: { readonly type: string }): part is ToolResultPart => part.type === 'tool-result'
const isCall = (part: { readonly type: string }): part is ToolCallPart => part.type === 'tool-call'

const thoughtOf = (part: { readonly type: string; readonly text?: unknown }): string =>
  part.type === 'reasoning' && typeof part.text === 'string' ? part.text : ''

function readPart(part: { readonly type: string }, role: string): string | Blob | undefined {
  // The reply's thought and calls have their own fields.
  const isSilent = part.type === 'reasoning' || part.type === 'tool-call'
  if (role === 'assistant' && isSilent) return ''
  return part.type === 'file' ? imageOf(part) : textPart(part)
}

/** An image in one of the SDK's forms: bytes, base64, a `data:` address, or an object with one of these. */
function imageOf(part: {
  readonly type: string
  readonly mediaType?: unknown
  readonly data?: unknown
}): Blob | undefined {
  const { mediaType, data } = part
  if (typeof mediaType !== 'string' || !/^image(?:\/|$)/.test(mediaType)) return undefined
  const { data: inner, url } = (isObject(data) ? data : {}) as {
    readonly data?: unknown
    readonly url?: unknown
  }
  const given = inner ?? url ?? data
  if (given instanceof Uint8Array) return new Blob([new Uint8Array(given)], { type: mediaType })
  if (given instanceof URL) return pictureAt(given.href)
  if (typeof given !== 'string') return undefined
  return /^[a-z]+:/i.test(given) ? pictureAt(given) : pictureOf(given, mediaType)
}

function answerOf(output: ToolOutput, index: number): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value
    case 'json':
    case 'error-json':
      return JSON.stringify(output.value)
    case 'execution-denied':
      return output.reason ?? 'The call was denied.'
    case 'content':
      return textOf(output.value, index)
  }
}
