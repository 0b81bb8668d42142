// Fit. In: a prompt's ids, the context, what a session wants when they are too many. Out: what is kept, and room for the reply.
import { HalfbyteError } from '../../base/errors.ts'
import { wrongOption } from '../../base/options.ts'
import { isCount } from '../../base/values.ts'
import type { GenerateRequest } from '../wire/protocol.ts'
import type { LoadedModel } from './loaded-model.ts'

export interface PromptFit {
  /** Tokens that may be generated. */
  readonly room: number
  /** Of the first tokens, how many stay when the oldest are dropped; absent when none are. */
  readonly keep: number | undefined
}

/** Attention sinks: the least that a context must keep of its beginning (Xiao et al., StreamingLLM, 2023). */
const SINKS = 4

/**
 * Throws `unsupported` for a prompt without tokens or a `keep` that is no count, `context-overflow` for one that leaves no
 * room for a reply where nothing may be dropped.
 */
export function fitPrompt(model: LoadedModel, request: GenerateRequest, ids: readonly number[]): PromptFit {
  const { contextLength } = model.info.model
  const { overflow = 'error', keep = keptByDefault(model, request, ids) } = request
  if (overflow === 'error') return { room: roomAfter(ids.length, contextLength), keep: undefined }
  checkNotEmpty(ids.length)
  if (overflow !== 'shift') throw wrongOption('overflow', overflow, 'error or shift')
  if (!isCount(keep)) throw wrongOption('keep', keep, 'a whole number from 0')
  return { room: contextLength, keep: Math.min(keep, Math.floor(contextLength / 2)) }
}

/** Throws `context-overflow` for a prompt too long for the context whatever its tokens are: reading it would take long too. */
export function checkLength(
  { info, text }: LoadedModel,
  { overflow }: GenerateRequest,
  prompt: string,
): void {
  const { contextLength } = info.model
  const most = contextLength * text.longestToken
  if (overflow === 'shift' || !(prompt.length > most)) return
  throw new HalfbyteError(
    'context-overflow',
    `the prompt has ${prompt.length} characters, of which a context of ${contextLength} tokens holds ${most} at most; ` +
      'raise contextLength or shorten it',
    { characters: prompt.length, contextLength },
  )
}

/** Tokens that fit after a prompt. */
export function roomAfter(needed: number, contextLength: number): number {
  checkNotEmpty(needed)
  if (needed < contextLength) return contextLength - needed
  throw new HalfbyteError(
    'context-overflow',
    `the prompt needs ${needed} tokens and one for the reply, but the context holds ${contextLength}; ` +
      'raise contextLength, shorten it, or let the session drop the oldest with overflow: "shift"',
    { needed: needed + 1, contextLength },
  )
}

/** Positions behind the end of each message: where another conversation or an edit goes its own way. */
export function messageEnds(ids: readonly number[], endIds: ReadonlySet<number>): number[] {
  return ids.flatMap((id, index) => (endIds.has(id) ? [index + 1] : []))
}

/** The system text, where there is one. */
function keptByDefault(model: LoadedModel, { prompt }: GenerateRequest, ids: readonly number[]): number {
  const hasSystem = prompt.type === 'messages' && prompt.messages[0]?.role === 'system'
  return Math.max(SINKS, hasSystem ? (messageEnds(ids, model.text.endIds)[0] ?? 0) : 0)
}

function checkNotEmpty(count: number): void {
  if (count > 0) return
  throw new HalfbyteError(
    'unsupported',
    'the prompt has 0 tokens but needs 1 for the model to go on from; write something',
  )
}
