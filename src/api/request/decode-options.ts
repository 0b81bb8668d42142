// Decode options. In: a caller's options. Out: a copy of them, split into what crosses to the worker and what
// does not.

import { checkList } from '../../base/lists.ts'
import { checkSignal, readFrom, wrongOption } from '../../base/options.ts'
import { isObject } from '../../base/values.ts'
import type { DecodeOptions, Tool } from '../../engine/wire/protocol.ts'
import type { Sink } from '../../engine/wire/stream.ts'
import { type LiveGeneration, startGeneration } from '../generation.ts'
import type { GenerateOptions, GenerationResult } from '../types.ts'
import { absolute } from './source.ts'

export interface ReplyOptions {
  readonly signal: AbortSignal | undefined
  readonly tools: readonly Tool[] | undefined
  readonly prefix: string | undefined
  readonly templateArguments: GenerateOptions['templateArguments']
  /** Addresses are absolute. The worker checks the values. */
  readonly decode: DecodeOptions
}

/**
 * Throws `unsupported` for options that are no object or cannot be read, and for a wrong signal or address.
 */
export function replyOptions(given: GenerateOptions = {}): ReplyOptions {
  return readFrom('the options', () => {
    if (!isObject(given)) throw wrongOption('the options', given, 'an object')
    const { signal, tools, prefix, templateArguments, processors, ...decode }: GenerateOptions = given
    checkSignal(signal)
    checkVariables(templateArguments)
    if (processors === undefined) return { signal, tools, prefix, templateArguments, decode }
    checkList('processors', processors)
    const addresses = processors.map((address) => {
      if (typeof address === 'string' || address instanceof URL)
        return absolute(address, globalThis.location?.href)
      throw wrongOption('an address in processors', address, 'an address')
    })
    return { signal, tools, prefix, templateArguments, decode: { ...decode, processors: addresses } }
  })
}

/** Throws `unsupported` for variables of a chat template that have no names. The worker checks the values. */
export function checkVariables(given: unknown): void {
  if (given !== undefined && !isObject(given))
    throw wrongOption('templateArguments', given, 'an object with JSON values')
}

/** As `startGeneration`, with options that reject the generation if they are wrong. */
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
  )
}
