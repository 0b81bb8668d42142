// Rows that a sequence has in place of tokens, such as the parts of an image: the interface that the
// scheduler and its steps use.
import { ABI } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'

/** Whether a word of a sequence represents a row instead of a token. */
export const isInputWord = (word: number): boolean => word >= 2 ** ABI.INPUT_BIT

export const rowMissing = (word: number): HalfbyteError =>
  new HalfbyteError('internal', `the row of word ${word} is missing; hold it while it is used`)

/** A source without rows: every word is a token. Other sources extend it. */
export class RowSource {
  /** Numbers per row; 0 if there are no rows. */
  readonly width: number = 0
  /** True if rows of an image have positions in a grid, which a model with RoPE sections rotates by. */
  readonly isPlaced: boolean = false

  /** The row [width] that a word represents; undefined if it is not held. */
  row(_word: number): Float32Array | undefined {
    return undefined
  }

  /** Writes the coordinates [AXES] of a word after `place`, and returns the place of the next word. */
  locate(_word: number, place: number, _into: Uint32Array, _at: number): number {
    return place
  }

  /** Whether a word may represent a row. */
  takes(_word: number): boolean {
    return false
  }

  /** Throws `internal` if the row of a word in tokens[from..to) is not held. */
  check(_tokens: readonly number[], _from: number, _to: number): void {}

  /**
   * How many rows, starting at tokens[at], attend to each other and so must be in one step; 0 if tokens[at]
   * is a token.
   */
  togetherAt(_tokens: readonly number[], _at: number): number {
    return 0
  }

  /** How many of the `rows` tokens from tokens[at] on come before such rows. */
  untilTogether(_tokens: readonly number[], _at: number, rows: number): number {
    return rows
  }
}

export const NO_ROWS = new RowSource()
