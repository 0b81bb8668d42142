// Makes prompts of a given length from a seed: letters that are one token each in the benches' vocabulary; or
// ids from decoded text.
import { Random } from '../../../test/helpers/random.ts'

/** Without `a`, because the vocabulary's only merge is of two of these. */
const LETTERS = 'bcdefghijklmnopqrstuvwxyzBCDEFGHIJKLMNOPQRSTUVWXYZ'
/** Tokens below this are bytes. */
const BYTES = 256

/**
 * From the first letter on, the letters differ for every seed, so that no engine finds the beginning in a
 * cache.
 */
export function promptOf(tokens: number, seed: number): string {
  const random = new Random(seed)
  return Array.from({ length: tokens }, () => LETTERS[random.below(LETTERS.length)]).join('')
}

/** Bytes come first in the vocabulary, so the id is the byte. */
export const promptIds = (prompt: string): number[] => Array.from(prompt, (letter) => letter.charCodeAt(0))

/**
 * The ids of decoded text: `<filler_N>` is token 256 + N, a letter is its byte. Anything else (half a
 * character) is skipped.
 */
export function idsOf(text: string): number[] {
  return Array.from(text.matchAll(/<filler_(\d+)>|[\x21-\x7e]/g), ([piece, filler]) =>
    filler === undefined ? piece.charCodeAt(0) : BYTES + Number(filler),
  )
}
