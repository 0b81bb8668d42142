// The flags of `halfbyte trim`.
import type { TableFlags } from './table-option.ts'

export interface TrimFlags extends TableFlags {
  readonly keepText: readonly string[]
  /** BCP 47 codes. */
  readonly languages?: readonly string[]
  /** How many of the text's most frequent tokens to keep. */
  readonly keep?: number
  /** Maximum number of held-out pieces of text. */
  readonly heldOut: number
  readonly threads: number | 'auto'
  readonly force?: true
  readonly name?: string
  readonly license?: string
  readonly json?: true
}
