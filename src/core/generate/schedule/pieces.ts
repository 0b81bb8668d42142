// Cuts a prompt where rows must be in one step: pictures whose rows see each other are pieces of their own.
import { isInputWord, type RowSource } from './step-buffer.ts'
import type { Lane } from './work.ts'

// hot
/** Rows of the picture that a lane runs next, all of which one step must have; 0: it runs tokens next. */
export function pictureAt({ sequence }: Lane, inputs: RowSource | undefined): number {
  const word = sequence.tokens[sequence.cached]
  if (inputs?.isWhole !== true || word === undefined || !isInputWord(word)) return 0
  return inputs.rest(word)
}

// hot
/** How many of a lane's next `rows` tokens come before a picture. */
export function untilPicture({ sequence }: Lane, rows: number, inputs: RowSource | undefined): number {
  if (inputs?.isWhole !== true) return rows
  const { tokens, cached } = sequence
  for (let at = 0; at < rows; at++) if (isInputWord(tokens[cached + at] ?? 0)) return at
  return rows
}
