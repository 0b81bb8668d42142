// Lines. In: pieces of a text. Out: its lines, each as soon as it is whole.
import { HalfbyteError } from './errors.ts'

/** One text, or its pieces in their order. */
export type TextPieces = string | Iterable<string> | AsyncIterable<string>

/** UTF-16 units. A line is in memory as a whole. */
const LONGEST_LINE = 1 << 26

/** A string by itself would be iterated by characters. */
export const piecesOf = (text: TextPieces): Iterable<string> | AsyncIterable<string> =>
  typeof text === 'string' ? [text] : text

/**
 * The lines without their line breaks (LF); what follows the last one is a line if it is not empty. Throws
 * `format` for a line that is too long.
 */
export async function* linesOf(pieces: TextPieces, longest = LONGEST_LINE): AsyncGenerator<string> {
  let begun: string[] = []
  let length = 0
  let number = 1
  for await (const piece of piecesOf(pieces)) {
    const [first = '', ...others] = piece.split('\n')
    begun.push(first)
    length += first.length
    if (length > longest) {
      throw new HalfbyteError(
        'format',
        `line ${number} of the text has more than ${longest} characters; break it into shorter lines`,
        { line: number, longest },
      )
    }
    for (const line of others) {
      yield begun.join('')
      number++
      begun = [line]
      length = line.length
    }
  }
  if (length > 0) yield begun.join('')
}
