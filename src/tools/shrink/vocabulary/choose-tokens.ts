// Chooses the tokens of a trimmed vocabulary. In: what is always kept, how often a text has each token, and
// the scripts of languages. Out: the ids that stay.
import type { Derive } from './merges.ts'

export interface KeptTokens {
  /** Ascending old ids; a token's new id is its place here. */
  readonly ids: readonly number[]
  /** Bytes, special tokens, the template's, and those without which a text cannot be spelled. */
  readonly fixed: number
  /** Tokens of the text, or of the scripts where there is no text, that are not among those. */
  readonly counted: number
  /** Tokens that are there only to be merged. */
  readonly merged: number
  /** Tokens of the text that are left out because of their scripts. */
  readonly foreign: number
}

export interface TokenWishes {
  /** How often a text has each token. Undefined: every token counts. */
  readonly counts: ReadonlyMap<number, number> | undefined
  /** Of the counted tokens, how many of the most frequent are kept. Default: all. */
  readonly most?: number | undefined
  /** Whether a token is of the languages that are asked for. Default: all are. */
  readonly belongs?: ((id: number) => boolean) | undefined
}

export interface Vocabulary {
  /** Ids below this, but for those of `hasRow`. */
  readonly size: number
  readonly hasRow: (id: number) => boolean
  readonly fixed: Iterable<number>
  readonly derive: Derive
}

/** Of equally frequent tokens the first is kept. */
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
