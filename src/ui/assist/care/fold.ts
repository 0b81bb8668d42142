// Spelling. In: a message. Out: its beginning in lower case, with one form of each letter and quotation mark.
/** Longer texts are documents; only their beginning is checked. */
const MAX_LETTERS = 4000

/** Letters whose accent is not a separate mark, and forms that people use interchangeably. */
const LETTERS: ReadonlyMap<string, string> = new Map([
  ...[...'łđıøєґأإآىة'].map((letter, index) => [letter, [...'ldioегااايه'][index]!] as const),
  ['ß', 'ss'],
  ['œ', 'oe'],
])

/** Without accents, vowel points and tatweel, with straight quotation marks. */
export const unaccented = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670]/g, '')
    .normalize('NFC')
    .replaceAll(/[łđıøєґأإآىةßœ]/g, (letter) => LETTERS.get(letter)!)
    .replaceAll(/[’ʼ`´]/g, "'")

export const folded = (text: string): string =>
  unaccented(text.slice(0, MAX_LETTERS).toLowerCase())
    .replaceAll(/[“”„«»「」『』]/g, '"')
    .replaceAll(/[ \t\r\u00a0\u3000]+/g, ' ')

/** A letter or a digit, as the source of a regular expression. */
export const LETTER = String.raw`[\p{L}\p{N}]`
