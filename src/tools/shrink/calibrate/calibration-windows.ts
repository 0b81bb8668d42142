// Splits the ids of calibration texts into windows.
import type { TextPieces } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { encodeChat } from '../../../core/text/chat/chat-template.ts'
import { collectIds, encodeStream, takeIds } from '../../../core/text/tokenize/encode-stream.ts'
import type { Tokenizer } from '../../../core/text/tokenize/tokenizer.ts'

/** Includes special tokens. In a chat they come from its template, in a text from the tokenizer. */
export type CalibrationText =
  | { readonly form: 'text'; readonly text: TextPieces }
  | { readonly form: 'chat'; readonly text: string }

interface WindowOptions {
  /** Maximum windows. */
  readonly windows: number
  /** Tokens per window. */
  readonly length: number
}

type WindowTokenizer = Pick<Tokenizer, 'encode' | 'prefix' | 'suffix' | 'addsBos' | 'bosId'>

/**
 * Concatenates the texts and splits them into windows; the remainder is unused, and text after the last
 * window is not read. Each window begins like the model's texts, with BOS if the tokenizer adds it. Throws
 * `format` if there is less than one window of text.
 */
export async function calibrationWindows(
  texts: Iterable<CalibrationText> | AsyncIterable<CalibrationText>,
  tokenizer: WindowTokenizer,
  { windows, length }: WindowOptions,
): Promise<number[][]> {
  const { ids } = await collectIds(takeIds(encodeTexts(texts, tokenizer), windows * length))
  const count = Math.min(windows, Math.floor(ids.length / length))
  if (count < 1) {
    throw new HalfbyteError(
      'format',
      `the calibration text has ${ids.length} tokens, but a window takes ${length}; give more text, or a smaller --context`,
      { tokens: ids.length, window: length },
    )
  }
  return Array.from({ length: count }, (_, window) => {
    const own = [...ids.subarray(window * length, (window + 1) * length)]
    if (tokenizer.addsBos && tokenizer.bosId !== undefined) own[0] = tokenizer.bosId
    return own
  })
}

async function* encodeTexts(
  texts: Iterable<CalibrationText> | AsyncIterable<CalibrationText>,
  tokenizer: WindowTokenizer,
): AsyncGenerator<number[]> {
  for await (const { form, text } of texts) {
    if (form === 'chat') yield encodeChat(tokenizer, text)
    else yield* encodeStream(tokenizer, text, { addSpecial: true, parseSpecial: true })
  }
}
