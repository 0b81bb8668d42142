// Trims a model's vocabulary to chosen tokens. In: a prepared model and the ids of a text. Out: the same
// model with fewer rows in its table, and a tokenizer that knows only these.

import { weightOf } from '../../arch/tensors/names.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { modelTokenizer, openTokenizer } from '../../engine/load/model-text.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { Tokenizer } from '../../text/tokenize/tokenizer.ts'
import { TABLES } from './coded-tables.ts'
import { fixedTokens } from './fixed-tokens.ts'
import { gatherRows } from './gather-rows.ts'
import { derivations } from './merges.ts'
import { type NewIds, tokensOf, trimGeneration, trimSpec } from './trim-spec.ts'

export interface KeptTokens {
  /** Ascending old ids; a token's new id is its place here. */
  readonly ids: readonly number[]
  /** Bytes, special tokens and the template's. */
  readonly fixed: number
  /** Tokens of the text that are not among those. */
  readonly counted: number
  /** Tokens that are there only to be merged. */
  readonly merged: number
}

/** `most`: of the text's tokens, how many of the most frequent are kept. Default: all. */
export function chooseTokens(
  { file, config }: Pick<PreparedModel, 'file' | 'config'>,
  counts: ReadonlyMap<number, number>,
  most = Number.POSITIVE_INFINITY,
): KeptTokens {
  const tokenizer = modelTokenizer(file, config.vocabSize)
  const spec = specOf(file)
  const tokens = tokensOf(spec)
  const hasRow = (id: number) => id < config.vocabSize && tokens[id] !== undefined
  const fixed = [...fixedTokens(spec, tokens, tokenizer)].filter(hasRow)
  const isFixed = new Set(fixed)
  const counted = [...counts]
    .filter(([id]) => hasRow(id) && !isFixed.has(id))
    .sort(([one, times], [other, others]) => others - times || one - other)
    .slice(0, most)
    .map(([id]) => id)
  const all = new Set([...fixed, ...counted])
  const wanted = all.size
  const derive = derivations(spec, tokens)
  for (const id of [...all]) for (const part of derive(id)) all.add(part)
  const ids = [...all].filter(hasRow).sort((one, other) => one - other)
  return { ids, fixed: fixed.length, counted: counted.length, merged: ids.length - wanted }
}

const specOf = (file: PreparedModel['file']) => {
  if (file.tokenizer !== undefined) return file.tokenizer
  throw new HalfbyteError('format', `${file.name} comes without a tokenizer; give one with it`)
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

/** Compares both tokenizers on texts. */
export interface RoundTrip {
  /** Old and new ids. Throws `internal` where the new tokenizer loses or changes a text. */
  check(ids: readonly number[], newer: readonly number[]): void
  /** Texts that both write alike, and those of them that have the same pieces. */
  readonly texts: number
  readonly samePieces: number
}

/**
 * A text must decode to what the old tokenizer decodes it to, and a text of kept tokens must have the same
 * pieces. `kept` is as `KeptTokens.ids`.
 */
export function roundTrip(
  before: Tokenizer,
  trimmed: Pick<PreparedModel, 'file'>,
  kept: readonly number[],
): { readonly after: Tokenizer; readonly proof: RoundTrip } {
  const after = openTokenizer(trimmed.file, kept.length)
  const newIds = new Map(kept.map((id, at) => [id, at]))
  const found = { texts: 0, samePieces: 0 }
  const wrong = (what: string) =>
    new HalfbyteError(
      'internal',
      `${what}; nothing was written, and this is a bug: tell us the model and the text`,
    )
  return {
    after,
    proof: {
      check(ids, newer) {
        if (before.decode(ids, { special: true }) !== after.decode(newer, { special: true }))
          throw wrong('a text is another after the trimmed tokenizer encoded and decoded it')
        found.texts++
        const own = ids.map((id) => newIds.get(id))
        if (own.includes(undefined)) return
        if (own.length !== newer.length || own.some((id, at) => id !== newer[at]))
          throw wrong('a text of kept tokens has other tokens with the trimmed tokenizer')
        found.samePieces++
      },
      get texts() {
        return found.texts
      },
      get samePieces() {
        return found.samePieces
      },
    },
  }
}
