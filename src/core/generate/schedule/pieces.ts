// Splits a prompt where rows must be in one step: images whose rows see each other are separate pieces.
import { isInputWord, type RowSource } from './step-buffer.ts'
import type { Lane } from './work.ts'

// hot
/** Rows of the image that a lane runs next, all in one step; 0: it runs tokens next. */
export function pictureAt({ sequence }: Lane, inputs: RowSource | undefined): number {
  const word = sequence.tokens[sequence.cached]
  if (inputs?.isWhole !== true || word === undefined || !isInputWord(word)) return 0
  return inputs.rest(word)
}

// hot
/** How many of a lane's next `rows` tokens precede an image. */
export function untilPicture({ sequence }: Lane, rows: number, inputs: RowSource | undefined): number {
  if (inputs?.isWhole !== true) return rows
  const { tokens, cached } = sequence
  for (let at = 0; at < rows; at++) if (isInputWord(tokens[cached + at] ?? 0)) return at
  return rows
}
