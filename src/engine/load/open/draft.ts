// Draft models. In: a second prepared model, the memory and pool of the first. Out: a drafter for the first
// model.
import { HalfbyteError } from '../../../base/errors.ts'
import { Sequence } from '../../../generate/schedule/sequence.ts'
import { DraftModel } from '../../../generate/speculate/draft-model.ts'
import type { Pool } from '../../../runtime/pool.ts'
import type { Tokenizer } from '../../../text/tokenize/tokenizer.ts'
import type { DraftSource } from '../loaded-model.ts'
import type { PlacedModel } from '../place-model.ts'

/**
 * Models of one family pad their vocabularies to different sizes. A larger difference means another family.
 */
const MOST_PADDING = 512

/** Throws `unsupported` if an id that both models have stands for different text. */
export function checkSameVocabulary(target: Tokenizer, draft: Tokenizer): void {
  const shared = Math.min(target.vocabSize, draft.vocabSize)
  if (Math.abs(target.vocabSize - draft.vocabSize) > MOST_PADDING) {
    throw otherVocabulary(`it has ${draft.vocabSize} tokens but the model ${target.vocabSize}`)
  }
  for (let id = 0; id < shared; id++) {
    if (isSame(target.tokenBytes(id), draft.tokenBytes(id)) && target.isSpecial(id) === draft.isSpecial(id))
      continue
    throw otherVocabulary(
      `its token ${id} is ${JSON.stringify(draft.tokenText(id))} but the model's is ${JSON.stringify(target.tokenText(id))}`,
    )
  }
}

/** Drafts ids below `vocab`, the size of the smaller vocabulary. */
export function draftSource(
  { arena, plan, written, step, cache }: PlacedModel,
  pool: Pool,
  vocab: number,
  now: () => number,
): DraftSource {
  const model = new DraftModel({ pool, arena, plan, written, step, now, vocab })
  return {
    newSequence: (options) => new Sequence(cache, options),
    drafter: (sequence) => model.drafter(sequence),
  }
}

const isSame = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && left.every((byte, index) => byte === right[index])

function otherVocabulary(how: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `the draft model has another vocabulary: ${how}; choose a smaller model of the same family`,
  )
}
