// Checks and copies the options of a reply, and separates those that are sent to the worker.

import { checkList, checkSignal, plainOf, readFrom, wrongOption } from '../../../core/base/check-options.ts'
import { HalfbyteError, reasonOf } from '../../../core/base/errors.ts'
import { checkLevels } from '../../../core/base/json.ts'
import { isObject, unwrap } from '../../../core/base/values.ts'
import type { ConstraintSpec, WrittenGrammar } from '../../../core/constrain/written-grammar.ts'
import { MAX_PICTURES, PICTURE_PLACE } from '../../chat/picture-marks.ts'
import { CONSTRAINT_KEYS, constraintSpec } from '../../reply/constraints.ts'
import type { Message, Tool } from '../../types/conversation.ts'
import type { DecodeOptions } from '../../types/reply.ts'
import type { Sink } from '../../wire/reply-stream.ts'
import { type LiveGeneration, startGeneration } from '../generation.ts'
import type { ContentPart, GenerateOptions, GenerationResult, RunnableTool, SaidMessage } from '../types.ts'
import { absolute } from './load-request.ts'

/**
 * Copies only what the worker needs, so that later changes by the caller have no effect. The worker checks
 * the values. Throws `unsupported` unless it is a readable list of objects.
 */
export function plainMessages(name: string, messages: unknown): Message[] {
  return readFrom(name, () => {
    checkList(name, messages)
    // A hole in the list counts as a message and is rejected by its index.
    return Array.from(messages, plainMessage)
  })
}

function plainMessage(message: unknown): Message {
  if (!isObject(message)) throw wrongOption('a message', message, 'an object with role and content')
  const { role, reasoning, toolCalls, toolCallId, name } = message as unknown as Message
  // Values that are nested too deeply are not copied; the worker rejects them.
  checkLevels(toolCalls)
  return {
    role,
    ...contentOf(message as unknown as SaidMessage),
    ...(reasoning !== undefined && { reasoning }),
    ...(toolCalls !== undefined && { toolCalls: unwrap(toolCalls) }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(name !== undefined && { name }),
  }
}

/** Converts a list of parts to a text and its images. The worker rejects any other value. */
function contentOf({ content, images }: SaidMessage): Pick<Message, 'content' | 'images'> {
  // The worker rejects more images than this.
  const found = images?.slice(0, MAX_PICTURES)
  if (!Array.isArray(content) || content.findIndex((part) => !isPart(part)) >= 0)
    return { content: content as string, images: found }
  const shown = content.filter(({ type }) => type === 'image').map(({ data }) => data)
  return {
    content: content.map(({ text = PICTURE_PLACE }) => text).join(''),
    images: shown.length > 0 ? [...(found ?? []), ...shown] : found,
  }
}

const isPart = (part: ContentPart | null): boolean =>
  part?.type === 'image' || (part?.type === 'text' && typeof part.text === 'string')

/** The messages that `send` adds: a user's text, a message, or several. */
export function saidMessages(input: unknown): Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  return readFrom('the message', () => plainMessages('messages', Array.isArray(input) ? input : [input]))
}

/** A generation's options besides its prompt. */
interface DecodeRequest {
  readonly options: DecodeOptions
  readonly constraint?: WrittenGrammar | undefined
  readonly calls?: WrittenGrammar | undefined
}

/**
 * Loads the part of the library that writes grammars, if the options have a constraint. Rejects with
 * `unsupported` for a constraint that cannot be enforced, and with `network` if that part does not load.
 * Returns undefined if the reply was cancelled; checked while a large grammar compiles.
 */
export async function decodeRequest(
  given: DecodeOptions,
  isWanted: () => boolean,
  tools?: readonly Tool[],
): Promise<DecodeRequest | undefined> {
  const constraint = readFrom('the options', () => constraintSpec(given) ?? callSpec(tools))
  const options: Record<string, unknown> = { ...given }
  // A validator is not sent; its JSON Schema is.
  if (constraint !== undefined) for (const key of [...CONSTRAINT_KEYS, 'compact']) delete options[key]
  const [, plain] = plainOf('the options', [options, constraint] as const)
  // Rejects values that cannot be sent to a worker, such as functions.
  const spec = structuredClone(plain)
  if (spec === undefined) return { options: given }
  const { writeGrammarInSlices } = await import('../../../core/constrain/write-grammar.ts').catch(
    notLoaded('writes grammars'),
  )
  const written = await writeGrammarInSlices(spec, isWanted)
  return written && { options, [constraint?.type === 'calls' ? 'calls' : 'constraint']: written }
}

/** A tool as the model sees it, without its function. */
export const described = ({ name, description, parameters, strict }: Tool): Tool => ({
  name,
  ...(strict !== undefined && { strict }),
  ...(description !== undefined && { description }),
  ...(parameters !== undefined && { parameters }),
})

/** The constraint on calls, if a tool is strict. The worker rejects anything that isn't a tool. */
function callSpec(tools?: readonly Tool[]): ConstraintSpec | undefined {
  if (!Array.isArray(tools) || !tools.some((tool) => tool?.strict === true)) return undefined
  return {
    type: 'calls',
    tools: tools.map(({ name, parameters = {}, strict }) => ({ name, ...(strict && { parameters }) })),
  }
}

/** The `network` error for a part of the library that cannot be imported. `does` describes its purpose. */
export const notLoaded =
  (does: string) =>
  (cause: unknown): never => {
    throw new HalfbyteError(
      'network',
      `the part of the library that ${does} did not load: ${reasonOf(cause)}; ` +
        'load the page again, and check that all files of the build are on the server',
      {},
      { cause },
    )
  }

export interface ReplyOptions {
  readonly signal: AbortSignal | undefined
  readonly onPrefill: GenerateOptions['onPrefill']
  readonly tools: readonly RunnableTool[] | undefined
  /** Whether a tool has a function. */
  readonly isRun: boolean
  readonly maxSteps: number | undefined
  readonly prefix: string | undefined
  readonly reasoningPrefix: string | undefined
  readonly templateArguments: GenerateOptions['templateArguments']
  /** Addresses are absolute. The worker checks the values. */
  readonly decode: DecodeOptions
}

/**
 * Throws `unsupported` for options that aren't an object or can't be read, and for a wrong signal or address.
 */
export function replyOptions(given: GenerateOptions = {}): ReplyOptions {
  return readFrom('the options', () => {
    if (!isObject(given)) throw wrongOption('the options', given, 'an object')
    const { signal, onPrefill, tools, maxSteps, processors, ...rest } = given as GenerateOptions
    const { prefix, reasoningPrefix, templateArguments, ...decode } = rest
    const isRun = Array.isArray(tools) && tools.some((tool) => tool?.execute !== undefined)
    const own = { signal, onPrefill, tools, isRun, maxSteps, prefix, reasoningPrefix, templateArguments }
    checkSignal(signal)
    checkVariables(templateArguments)
    if (processors === undefined) return { ...own, decode }
    checkList('processors', processors)
    const addresses = processors.map((address) => {
      if (typeof address === 'string' || address instanceof URL)
        return absolute(address, globalThis.location?.href)
      throw wrongOption('an address in processors', address, 'an address')
    })
    return { ...own, decode: { ...decode, processors: addresses } }
  })
}

/** Throws `unsupported` unless the chat template's variables have names. The worker checks the values. */
export function checkVariables(given: unknown): void {
  if (given !== undefined && !isObject(given))
    throw wrongOption('templateArguments', given, 'an object with JSON values')
}

/** Like `startGeneration`, but wrong options reject the generation. */
export function startReply(
  given: GenerateOptions | undefined,
  begin: (
    options: ReplyOptions,
    sink: Sink,
    isWanted: () => boolean,
  ) => ReturnType<Parameters<typeof startGeneration>[1]>,
  onSettle?: (result: GenerationResult | undefined, options: Partial<ReplyOptions>) => void,
): LiveGeneration {
  let options: ReplyOptions
  try {
    options = replyOptions(given)
  } catch (error) {
    const refuse = () => Promise.reject(error)
    return startGeneration(undefined, refuse, (result) => onSettle?.(result, {}))
  }
  return startGeneration(
    options.signal,
    (sink, isWanted) => begin(options, sink, isWanted),
    (result) => onSettle?.(result, options),
    options.onPrefill,
  )
}
