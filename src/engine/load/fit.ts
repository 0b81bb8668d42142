// Decides which tokens of a prompt are kept in the context, and how many the reply may have.

import { HalfbyteError } from '../../core/base/errors.ts'
import { checkValues, choice, whole } from '../../core/base/options/option-kinds.ts'
import type { SetTokensOptions } from '../../core/generate/schedule/sequence.ts'
import type { GenerateRequest } from '../wire/protocol.ts'
import type { LoadedModel } from './loaded-model.ts'

interface PromptFit {
  /** Number of tokens that may be generated. */
  readonly room: number
  /** How the prompt replaces the sequence's tokens; without `keep` if none may be dropped. */
  readonly tokens: SetTokensOptions
}

const OVERFLOW_OPTIONS = { overflow: choice(['error', 'shift']), keep: whole(0), room: whole(1) }

/**
 * Attention sinks: how much of its beginning a context must keep at least (Xiao et al., StreamingLLM, 2023).
 */
const SINKS = 4

/**
 * Throws `unsupported` if the prompt has no tokens or `keep` is not a count, and `context-overflow` if no
 * space is left for a reply and nothing may be dropped.
 */
export function fitPrompt(model: LoadedModel, request: GenerateRequest, ids: readonly number[]): PromptFit {
  const { contextLength } = model.info.model
  const { overflow = 'error', keep = keptByDefault(model, request, ids) } = request
  const { room } = request.prefill ?? {}
  checkValues(OVERFLOW_OPTIONS, { overflow, keep, room })
  if (overflow === 'error') return { room: roomAfter(ids.length, contextLength), tokens: {} }
  checkNotEmpty(ids.length)
  const { maxTokens = contextLength } = request.options
  return {
    room: maxTokens,
    tokens: {
      keep: Math.min(keep, Math.floor(contextLength / 2)),
      // Plain text has no messages, although it may have ids that end one.
      ends: request.prompt.type === 'messages' ? model.text.endIds : undefined,
      room,
      isShortened: request.isShortened,
    },
  }
}

/**
 * Throws `context-overflow` if the prompt is too long for any tokenization to fit. Encoding such a prompt
 * would be slow.
 */
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
    `the prompt has ${prompt.length} characters, but a context of ${contextLength} tokens has room for at most ${most}; ` +
      'raise contextLength or shorten it',
    { characters: prompt.length, contextLength },
  )
}

/** Number of tokens that fit after a prompt. */
export function roomAfter(needed: number, contextLength: number): number {
  checkNotEmpty(needed)
  if (needed < contextLength) return contextLength - needed
  throw new HalfbyteError(
    'context-overflow',
    `the prompt needs ${needed} tokens and one for the reply, but the context has room for ${contextLength}; ` +
      'raise contextLength, shorten it, or let the session drop the oldest with overflow: "shift"',
    { needed: needed + 1, contextLength },
  )
}

/** Positions after the end of each message, where an edit or another conversation may diverge. */
export function messageEnds(ids: readonly number[], endIds: ReadonlySet<number>): number[] {
  return ids.flatMap((id, index) => (endIds.has(id) ? [index + 1] : []))
}

/** The length of the system prompt, if there is one. */
function keptByDefault(model: LoadedModel, { prompt }: GenerateRequest, ids: readonly number[]): number {
  const hasSystem = prompt.type === 'messages' && prompt.messages[0]?.role === 'system'
  return Math.max(SINKS, hasSystem ? (messageEnds(ids, model.text.endIds)[0] ?? 0) : 0)
}

export function checkNotEmpty(count: number): void {
  if (count > 0) return
  throw new HalfbyteError(
    'unsupported',
    'the prompt has 0 tokens, but the model needs at least 1; write something',
    { name: 'the prompt' },
  )
}
