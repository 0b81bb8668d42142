// Trims a model's vocabulary to chosen tokens. In: a prepared model and the ids of a text. Out: the same
// model with fewer rows in its table, and a tokenizer that has only these tokens.

import { weightOf } from '../../../core/arch/tensors/names.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'
import { modelTokenizer, openTokenizer } from '../../../engine/load/model-text.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { type KeptTokens, keptTokens, type TokenWishes } from './choose-tokens.ts'
import { TABLES } from './coded-tables.ts'
import { fixedTokens } from './fixed-tokens.ts'
import { gatherRows } from './gather-rows.ts'
import type { Scripts } from './languages.ts'
import { derivations } from './merges.ts'
import { compareSpelling, type RoundTrip } from './round-trip.ts'
import { type NewIds, tokensOf, trimGeneration, trimSpec } from './trim-spec.ts'

/** `scripts`: the scripts of the languages whose tokens are kept. Default: all. */
export function chooseTokens(
  { file, config }: Pick<PreparedModel, 'file' | 'config'>,
  wishes: Omit<TokenWishes, 'belongs'>,
  scripts?: Scripts,
): KeptTokens {
  const tokenizer = modelTokenizer(file, config.vocabSize)
  const spec = specOf(file)
  const tokens = tokensOf(spec)
  const decoder = new TextDecoder()
  return keptTokens(
    {
      size: config.vocabSize,
      hasRow: (id) => id < config.vocabSize && tokens[id] !== undefined,
      fixed: fixedTokens(spec, tokens, tokenizer),
      derive: derivations(spec, tokens),
    },
    { ...wishes, belongs: scripts && ((id) => isWhole(decoder.decode(tokenizer.tokenBytes(id)), scripts)) },
  )
}

/** Part of a character has no script, so it is kept if a token of the script is merged from it. */
const isWhole = (text: string, { has }: Scripts): boolean => !text.includes('\ufffd') && has(text)

const specOf = (file: PreparedModel['file']) => {
  if (file.tokenizer !== undefined) return file.tokenizer
  throw new HalfbyteError('format', `${file.name} has no tokenizer; give a model that has one`)
}

/** Reads the tables once. Throws what reading throws. */
export async function trimModel(
  prepared: PreparedModel,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<PreparedModel> {
  const { file, config } = prepared
  const weights = new Map(prepared.weights)
  for (const name of TABLES) {
    const isRead = prepared.plan.slots.some(({ ref }) => ref.parts.some((part) => part.name === name))
    if (isRead) weights.set(name, await gatherRows(weightOf(weights, name), ids, signal))
  }
  const spec = specOf(file)
  const newIds: NewIds = new Map(ids.map((id, at) => [id, at]))
  const tokenizer = trimSpec(spec, tokensOf(spec), newIds)
  return {
    ...prepared,
    weights,
    file: { ...file, tokenizer, generationConfig: trimGeneration(file.generationConfig, newIds) },
    config: { ...config, vocabSize: ids.length },
  }
}

/** Both tokenizers, and a comparison of them on texts. `kept`: see `KeptTokens.ids`. */
export function roundTrip(
  before: Tokenizer,
  trimmed: Pick<PreparedModel, 'file'>,
  kept: readonly number[],
): { readonly after: Tokenizer; readonly proof: RoundTrip } {
  const after = openTokenizer(trimmed.file, kept.length)
  const spell = (tokenizer: Tokenizer) => (ids: readonly number[]) => tokenizer.decode(ids, { special: true })
  return { after, proof: compareSpelling(kept, spell(before), spell(after)) }
}
