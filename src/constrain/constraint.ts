// Constraints. In: nothing. Out: what a sampler asks of a grammar, as a type.

/** What may come next of one reply. Holds the place where the reply is; the grammar behind it is shared. */
export interface TokenConstraint {
  /**
   * The mask for the next token, in words of 32 ids: bit `id % 32` of word `id >> 5` is set when the id is allowed, and
   * there is a word for every id of the logits. Read it only, and not after the next call. At least one bit is set.
   * The end-of-text ids are allowed only when the text may end. Throws `unsupported` when no token fits.
   */
  mask(): Uint32Array
  /** The token that was picked; an end-of-text id changes nothing. Throws `internal` for one the mask forbids. */
  accept(id: number): void
  /** True when what was accepted is complete: it may end here. */
  readonly canEnd: boolean
  /** True when nothing but the end may follow. */
  readonly mustEnd: boolean
  /** A second one in the same state, for forks and for speculation. */
  copy(): TokenConstraint
}
