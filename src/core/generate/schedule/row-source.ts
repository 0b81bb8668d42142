// Rows that a sequence has in the place of tokens, such as the parts of a picture: all that the scheduler and
// its steps ask about them.
import { ABI } from '../../abi/constants.ts'
import { HalfbyteError } from '../../base/errors.ts'

/** Whether a word of a sequence stands for a row and not for a token. */
export const isInputWord = (word: number): boolean => word >= 2 ** ABI.INPUT_BIT

export const rowMissing = (word: number): HalfbyteError =>
  new HalfbyteError('internal', `the row of word ${word} is not here; it must be held while it is run`)

/** A source that has no rows: every word is a token. Others extend it. */
export class RowSource {
  /** Numbers in a row; 0 if there are none. */
  readonly width: number = 0
  /** Rows of a picture have places in a grid, by which a model with sections rotates them. */
  readonly isPlaced: boolean = false

  /** The row [width] that a word stands for; undefined if it is not here. */
  row(_word: number): Float32Array | undefined {
    return undefined
  }

  /** Writes the coordinates [AXES] of a word after `place`, and returns the place of the next word. */
  locate(_word: number, place: number, _into: Uint32Array, _at: number): number {
    return place
  }

  /** Whether a word may stand for a row. */
  takes(_word: number): boolean {
    return false
  }

  /** Throws `internal` if a row of tokens[from..to) is not here. */
  check(_tokens: readonly number[], _from: number, _to: number): void {}

  /** How many rows from tokens[at] on see each other, so that one step must have them; 0: at a token. */
  togetherAt(_tokens: readonly number[], _at: number): number {
    return 0
  }

  /** How many of the next `rows` tokens, from tokens[at] on, come before such rows. */
  untilTogether(_tokens: readonly number[], _at: number, rows: number): number {
    return rows
  }
}

export const NO_ROWS = new RowSource()
