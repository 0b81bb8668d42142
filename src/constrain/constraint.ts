// Constraints. In: nothing. Out: what a constraint is made from, and the interface that the sampler uses.

/** The form of a whole text. */
export type ConstraintSpec =
  /** A JSON value that a JSON Schema allows. `compact`: without blanks between its parts. Default false. */
  | { readonly type: 'schema'; readonly schema: unknown; readonly compact?: boolean | undefined }
  /** A grammar in llama.cpp's GBNF. */
  | { readonly type: 'grammar'; readonly grammar: string }
  /** A regular expression that matches the whole text. */
  | { readonly type: 'pattern'; readonly pattern: string }
  /** One of these texts. */
  | { readonly type: 'choices'; readonly choices: readonly string[] }

/** What may come next in one reply. Holds the position of the reply; the grammar itself is shared. */
export interface TokenConstraint {
  /**
   * The mask for the next token, in words of 32 ids: bit `id % 32` of word `id >> 5` is set if the id is
   * allowed. There is a word for every id of the logits, and at least one bit is set. The mask is read-only
   * and valid until the next call. End-of-text ids are allowed only if the text may end. Throws `unsupported`
   * if no token fits.
   */
  mask(): Uint32Array
  /**
   * Records the token that was picked. An end-of-text id changes nothing. Throws `internal` for a token that
   * the mask forbids.
   */
  accept(id: number): void
  /** True if the accepted text is complete and may end here. */
  readonly canEnd: boolean
  /** True if only the end may follow. */
  readonly mustEnd: boolean
  /** A copy in the same state, for forks and for speculation. */
  copy(): TokenConstraint
}

/** The part of a constraint that a sampler uses. */
export type ReplyConstraint = Omit<TokenConstraint, 'copy'>
