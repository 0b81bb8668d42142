// Languages. In: a user's message. Out: whether it is in a language other than English, so that the page can
// tell the user that a model only knows English. Such a model would answer with unrelated English text.

/** The beginning of a text is enough to tell its language. */
const MAX_LETTERS = 400

const setOf = (...words: readonly string[]): ReadonlySet<string> => new Set(words.join(' ').split(' '))

/** Frequent words of German, French, Spanish, Portuguese, Italian and Dutch that do not occur in English. */
const OTHERS = setOf(
  'ich du wir ihr sie nicht und ist das eine einen einem einer wie geht mich bitte danke wer wo warum',
  'kannst können erzähle geschichte über für auf guten morgen abend hallo gibt heute sind haben',
  'je nous vous ils elles pas les une comment allez bonjour bonsoir merci qui où pourquoi raconte',
  'histoire avec dans suis quel quelle oui',
  'yo tú él nosotros cómo estás hola gracias quién dónde porque cuéntame cuento por favor para qué',
  'eu você ele ela nós não uma olá tudo bem obrigado obrigada quem onde porque conta história muito',
  'della stai ciao grazie chi perché raccontami storia sono buongiorno',
  'ik jij hij wij niet een het gaat wie waar waarom vertel verhaal jullie alsjeblieft goedemorgen',
)
const ENGLISH = setOf(
  'the a an is are was were you i me my we it he she they of and or to in on at for with about from not do does did',
  'can could would will what who how where why when which this that please hello hi tell write make give story have has',
)

/** True if foreign words outnumber English ones, or most letters are not Latin. */
export function isOtherLanguage(text: string): boolean {
  const begin = text.slice(0, MAX_LETTERS).toLowerCase()
  const letters = begin.match(/\p{L}/gu) ?? []
  const latin = begin.match(/\p{Script=Latin}/gu) ?? []
  if (letters.length > 2 * latin.length) return true
  const words = begin.match(/\p{L}+/gu) ?? []
  const count = (known: ReadonlySet<string>) => words.filter((word) => known.has(word)).length
  return count(OTHERS) > count(ENGLISH)
}
