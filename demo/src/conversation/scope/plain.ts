// Plain wording. In: a message as people type it. Out: the same in lower case, without emoji, abbreviations
// and contractions, for patterns to match.

const SHORT_FORMS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "i'm": 'i am',
    im: 'i am',
    "i've": 'i have',
    ive: 'i have',
    "i'd": 'i would',
    "i'll": 'i will',
    "you're": 'you are',
    youre: 'you are',
    "you've": 'you have',
    "we're": 'we are',
    "they're": 'they are',
    "what's": 'what is',
    whats: 'what is',
    wats: 'what is',
    wat: 'what',
    "that's": 'that is',
    thats: 'that is',
    "it's": 'it is',
    its: 'it is',
    "who's": 'who is',
    whos: 'who is',
    "how's": 'how is',
    hows: 'how is',
    "where's": 'where is',
    wheres: 'where is',
    "there's": 'there is',
    "name's": 'name is',
    "don't": 'do not',
    dont: 'do not',
    "doesn't": 'does not',
    doesnt: 'does not',
    "didn't": 'did not',
    didnt: 'did not',
    "isn't": 'is not',
    isnt: 'is not',
    "aren't": 'are not',
    "wasn't": 'was not',
    wasnt: 'was not',
    "can't": 'cannot',
    cant: 'cannot',
    "let's": 'let us',
    lets: 'let us',
    wanna: 'want to',
    gimme: 'give me',
    kinda: 'kind of',
    sorta: 'sort of',
    r: 'are',
    u: 'you',
    ya: 'you',
    ur: 'your',
    hru: 'how are you',
    wyd: 'what are you doing',
    hbu: 'what about you',
    wbu: 'what about you',
    sup: 'what is up',
    wassup: 'what is up',
    gm: 'good morning',
    gn: 'good night',
    thx: 'thanks',
    thanx: 'thanks',
    thnx: 'thanks',
    tnx: 'thanks',
    ty: 'thanks',
    tysm: 'thanks',
    abt: 'about',
    pls: 'please',
    plz: 'please',
    k: 'ok',
    kk: 'ok',
    okay: 'ok',
    okey: 'ok',
    lmao: 'lol',
    rofl: 'lol',
    favorite: 'favourite',
    color: 'colour',
    mum: 'mom',
  }),
)

const EMOJI = /\p{Extended_Pictographic}|[\u{1f1e6}-\u{1f1ff}\u{1f3fb}-\u{1f3ff}]|\u200d|\ufe0f/gu
const FACES = /(?<!\S)(?:[:;=8x][-'^]?[)(dpo3|/\\*]+|<3+|\^_*\^|[)(]+)(?!\S)/gi

/** The text in lower case, in full words, with single spaces. */
export const plainText = (text: string): string =>
  text
    .normalize('NFKC')
    .replaceAll(/[’‘`´]/g, "'")
    .replaceAll(/[“”„]/g, '"')
    .replaceAll(EMOJI, ' ')
    .replaceAll(FACES, ' ')
    .toLowerCase()
    .replaceAll(/\b(?:ha){2,}h?\b|\b(?:he){2,}\b/g, 'lol')
    // "hiii", "soooo"
    .replaceAll(/([a-z])\1{2,}\b/g, '$1')
    .replaceAll(/\bso{2,}\b/g, 'so')
    .replaceAll(/[a-z]+(?:'[a-z]+)?/g, (word) => SHORT_FORMS.get(word) ?? word)
    .replaceAll(/\s+/g, ' ')
    .trim()

/** The parts of a plain text between marks of punctuation. */
export const clausesOf = (plain: string): readonly string[] =>
  plain
    .split(/[.!?,;:…()"~*\n-]+(?=\s|$)|(?<=\s|^)[-–—"(*]+/)
    .map((clause) => clause.trim())
    .filter((clause) => clause !== '')

/** True if a message has no letters or digits, or only random ones, typed to try the keyboard. */
export function isUnclear(text: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(text)) return true
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? []
  const isTyped = (word: string) =>
    /^[a-z]+$/.test(word) &&
    /[bcdfghjklmnpqrstvwxz]{5}|^([a-z])\1{2,}$|^(?:asdf|qwer|hjkl|jkl|yxcv|zxcv)/.test(word)
  return words.length > 0 && words.length <= 5 && 2 * words.filter(isTyped).length >= words.length
}
