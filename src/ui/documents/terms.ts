// The terms of a text by which passages are found: its words in lower case and without accents, and pairs of
// letters in scripts without spaces.

/** Diacritics of Latin, Greek, Cyrillic, Hebrew and Arabic. In other scripts marks are letters. */
const DIACRITICS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0640]/g
/** Letters that Unicode does not decompose. */
const LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: 'ss',
    æ: 'ae',
    œ: 'oe',
    ø: 'o',
    ł: 'l',
    đ: 'd',
    ð: 'd',
    þ: 'th',
    ı: 'i',
    ة: 'ه',
    ى: 'ي',
  }),
)
const SPACELESS =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー々]+)/u
/** Thousands in English, German, French and Swiss numbers. */
const GROUPED = /(?<=\d)[,.'’\u00a0\u202f](?=\d{3}(?!\d))/g
/** Words of this length or more are also indexed by their beginning, which inflected forms share. */
const LEAST_STEM = 5
/** Length of an indexed beginning, in letters. */
const STEM = 5
/** Marks a beginning; no word contains this character. */
const STEM_MARK = '^'

export const folded = (text: string): string =>
  text
    .replaceAll(GROUPED, '')
    .normalize('NFKD')
    .replaceAll(DIACRITICS, '')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[ßæœøłđðþıةى]/g, (letter) => LETTERS.get(letter) ?? letter)

/** Every term as often as it occurs. */
export function termsOf(text: string): string[] {
  const terms: string[] = []
  for (const [word] of folded(text).matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    for (const run of word.split(SPACELESS)) {
      if (run === '') continue
      if (SPACELESS.test(run)) terms.push(...pairsOf(run))
      else terms.push(run, ...(run.length >= LEAST_STEM ? [STEM_MARK + run.slice(0, STEM)] : []))
    }
  }
  return terms
}

export const isStem = (term: string): boolean => term.startsWith(STEM_MARK)

function pairsOf(run: string): string[] {
  const letters = [...run]
  if (letters.length === 1) return letters
  return letters.slice(1).map((letter, index) => (letters[index] ?? '') + letter)
}
