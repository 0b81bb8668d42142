// The flags of `halfbyte trim`.
import type { TableFlags } from './table-option.ts'

export interface TrimFlags extends TableFlags {
  readonly keepText: readonly string[]
  /** Codes of BCP 47. */
  readonly languages?: readonly string[]
  /** Of the text's tokens, how many of the most frequent are kept. */
  readonly keep?: number
  /** Maximum number of pieces of the texts that are held out. */
  readonly heldOut: number
  readonly threads: number | 'auto'
  readonly force?: true
  readonly name?: string
  readonly license?: string
  readonly json?: true
}
