// Chooses the tokens of a trimmed vocabulary. In: the tokens that are always kept, a text's token counts, and
// the scripts of languages. Out: the ids to keep.
import type { Derive } from './merges.ts'

export interface KeptTokens {
  /** Ascending old ids; a token's new id is its index here. */
  readonly ids: readonly number[]
  /** Number of byte tokens, special tokens, template tokens, and other tokens needed to spell any text. */
  readonly fixed: number
  /** Number of further tokens from the text, or from the scripts if there is no text. */
  readonly counted: number
  /** Number of tokens that are kept only as parts of merges. */
  readonly merged: number
  /** Number of the text's tokens that are dropped because of their scripts. */
  readonly foreign: number
}

export interface TokenWishes {
  /** How often each token occurs in a text. Undefined if every token counts. */
  readonly counts: ReadonlyMap<number, number> | undefined
  /** How many of the most frequent counted tokens to keep. Default: all. */
  readonly most?: number | undefined
  /** Whether a token belongs to the requested languages. Default: all do. */
  readonly belongs?: ((id: number) => boolean) | undefined
}

export interface Vocabulary {
  /** Number of ids to consider; `hasRow` may exclude some. */
  readonly size: number
  readonly hasRow: (id: number) => boolean
  readonly fixed: Iterable<number>
  readonly derive: Derive
}

/** Of equally frequent tokens, keeps the first. */
export function keptTokens(
  { size, hasRow, fixed, derive }: Vocabulary,
  { counts, most = Number.POSITIVE_INFINITY, belongs = () => true }: TokenWishes,
): KeptTokens {
  const isFixed = new Set([...fixed].filter(hasRow))
  const times = counts ?? new Map(Array.from({ length: size }, (_, id) => [id, 1]))
  const wanted = [...times].filter(([id]) => hasRow(id) && !isFixed.has(id))
  const own = wanted.filter(([id]) => belongs(id))
  const counted = own
    .sort(([one, count], [other, others]) => others - count || one - other)
    .slice(0, most)
    .map(([id]) => id)
  const all = new Set([...isFixed, ...counted])
  const chosen = all.size
  for (const id of [...all]) for (const part of derive(id)) all.add(part)
  const ids = [...all].filter(hasRow).sort((one, other) => one - other)
  return {
    ids,
    fixed: isFixed.size,
    counted: counted.length,
    merged: ids.length - chosen,
    foreign: counts === undefined ? 0 : wanted.length - own.length,
  }
}
