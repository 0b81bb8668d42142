// BERT's normaliser and pre-tokenizer, for which Hugging Face's JavaScript library uses other character
// classes: it treats ideographs beyond plane 0 as letters, and lower-cases a sigma according to its position
// in the word.
import type { JsonObject } from '../../../base/values.ts'

/**
 * The ideographs that become words: the blocks that the tokenizers library lists, one of which starts too
 * late.
 */
const IDEOGRAPH =
  /[\u{4e00}-\u{9fff}\u{3400}-\u{4dbf}\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{f900}-\u{faff}\u{2f800}-\u{2fa1f}]/gu
const REMOVED = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu
const SPACE = /\p{White_Space}/gu
const ACCENT = /\p{Mn}/gu
/** A word, or a single punctuation character; ASCII symbols count as punctuation. */
const WORD = /[\p{P}$+<=>^`|~]|[^\p{White_Space}\p{P}$+<=>^`|~]+/gu

/** If `strip_accents` is absent or null, `lowercase` decides. */
export function bertNormalizer(json: JsonObject): (text: string) => string {
  const isLower = json['lowercase'] === true
  const strips = json['strip_accents'] ?? isLower
  return (text) => {
    let done = text
    if (json['clean_text'] === true) done = done.replaceAll(REMOVED, '').replaceAll(SPACE, ' ')
    if (json['handle_chinese_chars'] === true) done = done.replaceAll(IDEOGRAPH, ' $& ')
    if (strips === true) done = done.normalize('NFD').replaceAll(ACCENT, '')
    return isLower ? lowered(done) : done
  }
}

/** Lower-cases character by character, because a sigma has a different form at the end of a word. */
const lowered = (text: string): string =>
  text.includes('\u03a3')
    ? text
        .split('\u03a3')
        .map((part) => part.toLowerCase())
        .join('\u03c3')
    : text.toLowerCase()

/** The words of a text. Each punctuation character is its own word. */
export const bertWords = (text: string): readonly string[] => text.match(WORD) ?? []
