// The additional sequences of a reply, for its negative prompt and its draft model.
import { HalfbyteError, isHalfbyteError } from '../../../core/base/errors.ts'
import type { ReplyConstraint } from '../../../core/constrain/written-grammar.ts'
import type { Sequence } from '../../../core/generate/schedule/sequence.ts'
import type { Drafter } from '../../../core/generate/schedule/speculation.ts'
import { ExpectedDrafter } from '../../../core/generate/speculate/draft-expected.ts'
import { LookupDrafter } from '../../../core/generate/speculate/draft-lookup.ts'
import type { Message } from '../../types/conversation.ts'
import type { DecodeOptions } from '../../types/reply.ts'
import type { DraftSource, LoadedModel, SeenPrompt } from '../loaded-model.ts'

/** Release this when the reply has ended. */
export interface Companions {
  readonly guide: Sequence | undefined
  /** For the scheduler; empty if nothing is drafted. */
  readonly drafters: readonly Drafter[]
  release(): void
}

/**
 * Throws `unsupported` if the draft model is missing, `context-overflow` or `out-of-memory` if the negative
 * prompt does not fit. `ids` are the prompt's.
 */
export function openCompanions(
  model: LoadedModel,
  seen: Pick<SeenPrompt, 'prompt' | 'encode'>,
  ids: readonly number[],
  options: Pick<DecodeOptions, 'cfgScale' | 'negativePrompt' | 'speculation'>,
  constraint?: ReplyConstraint,
): Companions {
  const { cfgScale = 1, negativePrompt = '', speculation } = options
  const opened: Sequence[] = []
  const open = (from: Pick<LoadedModel, 'newSequence'>, tokens: readonly number[]): Sequence => {
    const sequence = from.newSequence({ shares: true })
    opened.push(sequence)
    sequence.setTokens(tokens)
    return sequence
  }
  const release = (): void => {
    for (const sequence of opened) sequence.release()
  }
  try {
    const guide = cfgScale === 1 ? undefined : open(model, guideIds(model, seen, ids, negativePrompt))
    const found = openDrafters(model, speculation, (draft) => open(draft, ids))
    const isForced = found.length > 0 && constraint !== undefined
    return { guide, drafters: isForced ? [new ExpectedDrafter(constraint), ...found] : found, release }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * The conversation with the negative prompt as its system text; for plain text, the negative prompt alone.
 */
function guideIds(
  model: LoadedModel,
  { prompt, encode }: Pick<SeenPrompt, 'prompt' | 'encode'>,
  ids: readonly number[],
  negative: string,
): readonly number[] {
  if (prompt.type === 'messages') {
    const rest = prompt.messages.filter(({ role }) => role !== 'system')
    const system: Message[] = negative === '' ? [] : [{ role: 'system', content: negative }]
    return encode(model.renderPrompt([...system, ...rest], prompt), true)
  }
  const encoded = model.text.encode(negative, true)
  return encoded.length > 0 ? encoded : ids.slice(-1)
}

function openDrafters(
  model: LoadedModel,
  speculation: DecodeOptions['speculation'],
  open: (from: Pick<LoadedModel, 'newSequence'>) => Sequence,
): readonly Drafter[] {
  const { draft } = model
  switch (speculation ?? (draft === undefined ? 'lookup' : 'draft')) {
    case 'off':
      return []
    case 'lookup':
      return [new LookupDrafter()]
    case 'draft':
      if (draft === undefined) {
        throw new HalfbyteError(
          'unsupported',
          'speculation is draft but the engine has no draft model; load one with it, or choose lookup or off',
        )
      }
      // What the text repeats need not be drafted by a model.
      return [new LookupDrafter(), ...openModel(draft, open)]
  }
}

/** Without memory for the draft model's state, the reply is slower, but still correct. */
function openModel(
  draft: DraftSource,
  open: (from: Pick<LoadedModel, 'newSequence'>) => Sequence,
): readonly Drafter[] {
  try {
    return [draft.drafter(open(draft))]
  } catch (error) {
    if (isHalfbyteError(error) && ['out-of-memory', 'context-overflow'].includes(error.code)) return []
    throw error
  }
}
