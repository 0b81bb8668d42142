// Sentences and words of English. In: a text. Out: its sentences, and its words as Treebank's rules cut them;
// both are approximations of NLTK's, which learned its abbreviations from newspapers.

/** Before a name, so that a capital after them begins no sentence. */
const TITLES = new Set(
  'mr mrs ms dr prof sen rep gov gen col st jan feb mar apr jun jul aug sept oct nov dec'.split(' '),
)
/** A capital after them begins a sentence. */
const ABBREVIATIONS = new Set(['vs', 'jr', 'sr', 'inc', 'ltd', 'co', 'corp'])

/** A mark of an end, what closes after it, marks that stand alone, and white space. */
const END = /(?<=\S)[.?!]+["'”’)\]}*_]*(?:\s+[.?!]+(?=\s|$))*(?=\s)/g

/** A line break alone ends no sentence. */
export function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  let from = 0
  for (const { 0: mark, index } of text.matchAll(END)) {
    const end = index + mark.length
    const [word = ''] = /\S*$/.exec(text.slice(from, index)) ?? []
    const next = text.slice(end).trimStart()
    if (next === '' || (mark.startsWith('.') && goesOn(word, mark, next))) continue
    sentences.push(text.slice(from, end).trim())
    from = end
  }
  const rest = text.slice(from).trim()
  return rest === '' ? sentences : [...sentences, rest]
}

/** Whether a full stop belongs to an initial, an abbreviation or an ellipsis. */
function goesOn(word: string, mark: string, next: string): boolean {
  const bare = word.toLowerCase().replace(/^[("'[*]+/, '')
  if (mark.startsWith('..') || TITLES.has(bare) || (/^\p{L}$/u.test(bare) && bare !== 'i')) return true
  const isAbbreviated =
    ABBREVIATIONS.has(bare) || (/^\p{L}(?:\.\p{L})+$/u.test(bare) && !NO_ABBREVIATIONS.has(bare))
  return isAbbreviated && !/^\p{Lu}/u.test(next)
}

/** NLTK's model has not learned these. */
const NO_ABBREVIATIONS = new Set(['e.g', 'i.e'])

/** Words, marks, and the parts of contractions. A full stop parts only from the last word of a sentence. */
export const wordTokens = (text: string): string[] =>
  sentencesOf(text).flatMap((sentence) =>
    sentence
      .replaceAll(/([?!;@#$%&*()[\]{}<>"“”—]|--|\.\.\.)/g, ' $1 ')
      .replaceAll(/([,:])(?!\d)/g, ' $1 ')
      .replace(/\.(["'”’)\]}*_\s]*)$/, ' . $1')
      .replaceAll(/('(?:s|m|d|ll|re|ve)|n't)(?=\s|$)/gi, ' $1')
      .split(/\s+/)
      .filter((token) => token !== ''),
  )
