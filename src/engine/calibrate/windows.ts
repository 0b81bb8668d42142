// Windows. In: calibration texts, a tokenizer. Out: windows of ids of one length.

import { HalfbyteError } from '../../base/errors.ts'
import type { Tokenizer } from '../../text/tokenize/tokenizer.ts'

export interface WindowOptions {
  /** Most windows. */
  readonly windows: number
  /** Tokens of a window. */
  readonly length: number
}

/**
 * The texts one after the other, cut into windows from the start; what is left at the end is not used. Each
 * window begins as the model's texts do. Throws `format` when there is not one window of text.
 */
export function calibrationWindows(
  texts: Iterable<string>,
  tokenizer: Pick<Tokenizer, 'encode' | 'addsBos' | 'bosId'>,
  { windows, length }: WindowOptions,
): number[][] {
  const ids: number[] = []
  for (const text of texts) {
    for (const id of tokenizer.encode(text, { addSpecial: true })) ids.push(id)
    if (ids.length >= windows * length) break
  }
  const count = Math.min(windows, Math.floor(ids.length / length))
  if (count < 1) {
    throw new HalfbyteError(
      'format',
      `the calibration text has ${ids.length} tokens and one window takes ${length}; give more text, or a smaller --context`,
      { tokens: ids.length, window: length },
    )
  }
  return Array.from({ length: count }, (_, window) => {
    const own = ids.slice(window * length, (window + 1) * length)
    if (tokenizer.addsBos && tokenizer.bosId !== undefined) own[0] = tokenizer.bosId
    return own
  })
}
