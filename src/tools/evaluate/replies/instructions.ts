// IFEval's instructions as checks of replies. The rules are those of lm-evaluation-harness 0.4.13, whose
// regular expressions are Python's.
import { isCount, type JsonObject } from '../../../core/base/values.ts'

/** These abbreviations precede a name, so a capital after them does not start a sentence. */
const TITLES = new Set(
  'mr mrs ms dr prof sen rep gov gen col st jan feb mar apr jun jul aug sept oct nov dec'.split(' '),
)
/** After these, a capital starts a sentence. */
const ABBREVIATIONS = new Set(['vs', 'jr', 'sr', 'inc', 'ltd', 'co', 'corp'])

/** An end mark, closing marks after it, standalone marks, and white space. */
const END = /(?<=\S)[.?!]+["'”’)\]}*_]*(?:\s+[.?!]+(?=\s|$))*(?=\s)/g

/** A line break alone does not end a sentence. */
function sentencesOf(text: string): string[] {
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

/** Abbreviations that NLTK's model does not know. */
const NO_ABBREVIATIONS = new Set(['e.g', 'i.e'])

/**
 * Words, marks, and the parts of contractions. A full stop is split off only from the last word of a
 * sentence.
 */
const wordTokens = (text: string): string[] =>
  sentencesOf(text).flatMap((sentence) =>
    sentence
      .replaceAll(/([?!;@#$%&*()[\]{}<>"“”—]|--|\.\.\.)/g, ' $1 ')
      .replaceAll(/([,:])(?!\d)/g, ' $1 ')
      .replace(/\.(["'”’)\]}*_\s]*)$/, ' . $1')
      .replaceAll(/('(?:s|m|d|ll|re|ve)|n't)(?=\s|$)/gi, ' $1')
      .split(/\s+/)
      .filter((token) => token !== ''),
  )

const SCRIPTS: ReadonlyMap<string, string> = new Map([
  ['bn', 'Bengali'],
  ['gu', 'Gujarati'],
  ['kn', 'Kannada'],
  ['ko', 'Hangul'],
  ['pa', 'Gurmukhi'],
  ['ta', 'Tamil'],
  ['te', 'Telugu'],
  ['th', 'Thai'],
])

/**
 * Whether most letters are of the language's script. Undefined for a language that shares its script with
 * others (Latin, Cyrillic, Arabic, Devanagari), because telling those apart needs a model of each language.
 */
function scriptCheck(language: string): ((text: string) => boolean) | undefined {
  const script = SCRIPTS.get(language)
  if (script === undefined) return undefined
  const own = new RegExp(`\\p{Script=${script}}`, 'gu')
  return (text) => 2 * (text.match(own)?.length ?? 0) > (text.match(/[\p{L}\p{M}]/gu)?.length ?? 0)
}

/** Whether a non-blank text follows the instruction. */
export type Check = (text: string) => boolean

/** `unknown`: not an instruction of IFEval, or an argument is missing. */
type Found = Check | 'unchecked' | 'unknown'

/** Python's `\w`. `\b` matches at the boundary between such a character and any other. */
const WORD = '[\\p{L}\\p{N}_]'
const BORDER = `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

const count = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length

/** `relation`: "at least" or "less than". */
const compared = (found: number, relation: string, threshold: number): boolean =>
  relation === 'less than' ? found < threshold : found >= threshold

/** Whether there are cased letters and all have the same case. */
const isUpper = (text: string): boolean => /\p{Uppercase}/u.test(text) && !/[\p{Lowercase}\p{Lt}]/u.test(text)
const isLower = (text: string): boolean => /\p{Lowercase}/u.test(text) && !/[\p{Uppercase}\p{Lt}]/u.test(text)

function paragraphCount(text: string): number | undefined {
  const parts = text.split(/\s?\*\*\*\s?/)
  const inner = parts.slice(1, -1)
  if (inner.some((part) => part.trim() === '')) return undefined
  const ends = parts.length === 1 ? parts : [parts[0]!, parts.at(-1)!]
  return inner.length + ends.filter((part) => part.trim() !== '').length
}

function startsParagraph(text: string, total: number, nth: number, word: string): boolean {
  const paragraphs = text.split('\n\n')
  const filled = paragraphs.filter((each) => each.trim() !== '').length
  const chosen = nth <= filled ? paragraphs[nth - 1]!.trim() : ''
  const [first = ''] = chosen.split(/\s+/)
  const letters = first
    .replace(/^'+/, '')
    .replace(/^"+/, '')
    .split(/[.,?!'"]/)[0]
  return filled === total && chosen !== '' && letters!.toLowerCase() === word.toLowerCase()
}

function postscript(marker: string): RegExp {
  if (marker === 'P.P.S') return /p\.\s?p\.\s?s/
  return marker === 'P.S.' ? /p\.\s?s\./ : new RegExp(literal(marker.toLowerCase()))
}

function isTwoResponses(text: string): boolean {
  const parts = text.split('******')
  if (parts.slice(1, -1).some((part) => part.trim() === '')) return false
  const [one, other, ...more] = parts.map((part) => part.trim()).filter((part) => part !== '')
  return other !== undefined && more.length === 0 && one !== other
}

function isJson(text: string): boolean {
  const bare = text
    .trim()
    .replace(/^```json/, '')
    .replace(/^```Json/, '')
    .replace(/^```JSON/, '')
  try {
    JSON.parse(bare.replace(/^```/, '').replace(/```$/, '').trim())
    return true
  } catch {
    return false
  }
}

/**
 * Non-empty sections between asterisks. A section between double asterisks counts twice if both forms match.
 */
function highlightCount(text: string): number {
  const held = (pattern: RegExp, bare: (section: string) => string) =>
    [...text.matchAll(pattern)].filter(([section]) => bare(section).trim() !== '').length
  return (
    held(/\*[^\n*]*\*/g, (section) => section.replaceAll('*', '')) +
    held(/\*\*[^\n*]*\*\*/g, (section) => section.slice(2, -2))
  )
}

const OPTIONS = ['My answer is yes.', 'My answer is no.', 'My answer is maybe.']

type Make = (given: Arguments) => Found

/** Arguments by name. Throws `Missing` for one of the wrong type. */
class Arguments {
  readonly #given: JsonObject
  constructor(given: JsonObject) {
    this.#given = given
  }
  text(key: string): string {
    const value = this.#given[key]
    if (typeof value === 'string' && value.trim() !== '') return value.trim()
    throw new Missing()
  }
  texts(key: string): readonly string[] {
    const value = this.#given[key]
    if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value
    throw new Missing()
  }
  count(key: string): number {
    const value = this.#given[key]
    if (isCount(value)) return value
    throw new Missing()
  }
  relation(key: string): string {
    const value = this.text(key)
    if (value === 'at least' || value === 'less than') return value
    throw new Missing()
  }
}

class Missing extends Error {}

const CHECKS: ReadonlyMap<string, Make> = new Map(
  Object.entries({
    'change_case:capital_word_frequency': (given) => {
      const relation = given.relation('capital_relation')
      const least = given.count('capital_frequency')
      return (text) => compared(wordTokens(text).filter(isUpper).length, relation, least)
    },
    'change_case:english_capital': () => (text) => isUpper(text),
    'change_case:english_lowercase': () => (text) => isLower(text),
    'combination:repeat_prompt': (given) => {
      const prompt = given.text('prompt_to_repeat').toLowerCase()
      return (text) => text.trim().toLowerCase().startsWith(prompt)
    },
    'combination:two_responses': () => isTwoResponses,
    'detectable_content:number_placeholders': (given) => {
      const least = given.count('num_placeholders')
      return (text) => count(text, /\[[^\n]*?\]/g) >= least
    },
    'detectable_content:postscript': (given) => {
      const pattern = postscript(given.text('postscript_marker'))
      return (text) => pattern.test(text.toLowerCase())
    },
    'detectable_format:constrained_response': () => (text) => OPTIONS.some((option) => text.includes(option)),
    'detectable_format:json_format': () => isJson,
    'detectable_format:multiple_sections': (given) => {
      const pattern = new RegExp(`\\s?${literal(given.text('section_spliter'))}\\s?\\p{Nd}+\\s?`, 'gu')
      const least = given.count('num_sections')
      return (text) => count(text, pattern) >= least
    },
    'detectable_format:number_bullet_lists': (given) => {
      const exact = given.count('num_bullets')
      const starred = /(?<=^|\n)\s*\*[^*][^\n]*(?=\n|$)/g
      const dashed = /(?<=^|\n)\s*-[^\n]*(?=\n|$)/g
      return (text) => count(text, starred) + count(text, dashed) === exact
    },
    'detectable_format:number_highlighted_sections': (given) => {
      const least = given.count('num_highlights')
      return (text) => highlightCount(text) >= least
    },
    'detectable_format:title': () => (text) =>
      [...text.matchAll(/<<[^\n]+>>/g)].some(([title]) => title.replace(/^<+/, '').replace(/>+$/, '').trim()),
    'keywords:existence': (given) => {
      const patterns = given.texts('keywords').map((word) => new RegExp(literal(word), 'iu'))
      return (text) => patterns.every((pattern) => pattern.test(text))
    },
    'keywords:forbidden_words': (given) => {
      const words = given.texts('forbidden_words')
      const patterns = words.map((word) => new RegExp(BORDER + literal(word) + BORDER, 'iu'))
      return (text) => !patterns.some((pattern) => pattern.test(text))
    },
    'keywords:frequency': (given) => {
      const pattern = new RegExp(literal(given.text('keyword')), 'giu')
      const relation = given.relation('relation')
      const threshold = given.count('frequency')
      return (text) => compared(count(text, pattern), relation, threshold)
    },
    'keywords:letter_frequency': (given) => {
      const letter = given.text('letter').toLowerCase()
      const relation = given.relation('let_relation')
      const threshold = given.count('let_frequency')
      return (text) => compared(text.toLowerCase().split(letter).length - 1, relation, threshold)
    },
    'language:response_language': (given) => scriptCheck(given.text('language')) ?? 'unchecked',
    'length_constraints:nth_paragraph_first_word': (given) => {
      const total = given.count('num_paragraphs')
      const nth = given.count('nth_paragraph')
      const word = given.text('first_word')
      return nth === 0 ? 'unknown' : (text) => startsParagraph(text, total, nth, word)
    },
    'length_constraints:number_paragraphs': (given) => {
      const exact = given.count('num_paragraphs')
      return (text) => paragraphCount(text) === exact
    },
    'length_constraints:number_sentences': (given) => {
      const relation = given.relation('relation')
      const threshold = given.count('num_sentences')
      return (text) => compared(sentencesOf(text).length, relation, threshold)
    },
    'length_constraints:number_words': (given) => {
      const relation = given.relation('relation')
      const threshold = given.count('num_words')
      return (text) => compared(count(text, /[\p{L}\p{N}_]+/gu), relation, threshold)
    },
    'punctuation:no_comma': () => (text) => !text.includes(','),
    'startend:end_checker': (given) => {
      const end = given.text('end_phrase').toLowerCase()
      return (text) =>
        text
          .trim()
          .replace(/^"+|"+$/g, '')
          .toLowerCase()
          .endsWith(end)
    },
    'startend:quotation': () => (text) => /^"[\s\S]*"$/.test(text.trim()),
  } satisfies Record<string, Make>),
)

export function instructionCheck(id: string, given: JsonObject): Found {
  try {
    return CHECKS.get(id)?.(new Arguments(given)) ?? 'unknown'
  } catch (error) {
    if (error instanceof Missing) return 'unknown'
    throw error
  }
}
