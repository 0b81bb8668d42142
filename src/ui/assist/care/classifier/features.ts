// What the classifier sees of a message. In: a folded text and the lexicon. Out: its language and the
// features of each passage.
//
// The lexicon maps words of 19 languages to concepts, such as "take" or "too much", so that a combination
// that was learnt in one language is recognized in all. Other words are represented by their letters.

/** A language. `spaced`: it separates its words; otherwise a stem may match anywhere. */
interface Written {
  readonly code: string
  readonly letters: RegExp
  readonly spaced: boolean
}

const LATIN = /[a-z]/
const CYRILLIC = /\p{Script=Cyrillic}/u
const written = (codes: string, letters: RegExp, spaced: boolean): Written[] =>
  codes.split(' ').map((code) => ({ code, letters, spaced }))

export const WRITTEN: readonly Written[] = [
  ...written('en es pt fr de it nl pl tr id vi', LATIN, true),
  ...written('ru uk', CYRILLIC, true),
  ...written('ar', /\p{Script=Arabic}/u, false),
  ...written('he', /\p{Script=Hebrew}/u, false),
  ...written('hi', /\p{Script=Devanagari}/u, true),
  ...written('ja', /[\p{Script=Hiragana}\p{Script=Katakana}]/u, false),
  ...written('zh', /\p{Script=Han}/u, false),
  ...written('ko', /\p{Script=Hangul}/u, false),
]

/** Words that only identify the language. */
export const COMMON = 0
/** The number of concepts, including `COMMON`. */
export const CONCEPTS = 84
/** Concepts, and unordered pairs of them. */
export const MEANINGS = (CONCEPTS * (CONCEPTS + 1)) / 2
/** Hashed words, pairs of words and parts of words. With fewer, words of need would share others' weights. */
export const SURFACES = 65536

const STEM_BITS = 24
const LONGEST_STEM = 18
/** Maximum letters of a stem that count when languages are compared; a longer match may be chance. */
const MAX_CREDIT = 7
/** Maximum words of a passage; longer sentences are split into overlapping passages. */
const PASSAGE = 28
/** Characters that count as a word where words are not separated. */
const JOINED_WORD = 2
/** Lengths of the parts of words; parts include the spaces around a word, so that beginnings differ. */
const PARTS = [3, 4, 5]
/** Lengths of the runs of characters where words are not separated. */
const RUNS = [1, 2, 3, 4]

const step = (hash: number, unit: number) => Math.imul(hash ^ unit, 0x01000193) >>> 0
const finish = (hash: number) => {
  const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (mixed ^ (mixed >>> 13)) >>> 0
}
const hashed = (text: string, seed = 0x811c9dc5) => {
  let hash = seed
  for (let index = 0; index < text.length; index++) hash = step(hash, text.charCodeAt(index))
  return hash
}
const SEEDS = new Map(WRITTEN.map(({ code }) => [code, hashed(`${code}:`)]))

/** With a space after an elided article or pronoun: "j' ai". */
const elided = (text: string) => text.replaceAll(/(?<!\p{L})(\p{L}{1,2}')(?=\p{L})/gu, '$1_')

/** Concepts by the keys of `stemKey`. */
export type Lexicon = ReadonlyMap<number, number>

/** The key of a stem of a language. `_` stands for a space, so that `die_` is the whole word. */
export const stemKey = (language: string, stem: string): number =>
  finish(hashed(elided(stem), SEEDS.get(language)!)) >>> (32 - STEM_BITS)

interface Reading {
  readonly concepts: readonly number[]
  /** Number of letters covered by stems of the lexicon. */
  readonly known: number
}

/** The concepts in a text whose words are separated, and enclosed, by `_`. */
function read(text: string, { code, spaced }: Written, lexicon: Lexicon): Reading {
  const seed = SEEDS.get(code)!
  const concepts: number[] = []
  let known = 0
  let start = spaced ? 1 : 0
  while (start < text.length) {
    let length = 0
    let concept = COMMON
    let hash = seed
    const most = Math.min(LONGEST_STEM, text.length - start)
    for (let count = 1; count <= most; count++) {
      hash = step(hash, text.charCodeAt(start + count - 1))
      const found = lexicon.get(finish(hash) >>> (32 - STEM_BITS))
      if (found !== undefined) [length, concept] = [count, found]
    }
    if (length > 0) known += Math.min(length, MAX_CREDIT)
    if (length > 0 && concept !== COMMON) concepts.push(concept)
    const end = start + Math.max(1, length)
    if (!spaced) start = text[end - 1] === '_' && length > 1 ? end - 1 : end
    else if (text[end - 1] === '_') start = end
    else {
      const space = text.indexOf('_', end)
      start = space === -1 ? text.length : space + 1
    }
  }
  return { concepts, known }
}

const joined = (text: string) =>
  elided(`_${text.replaceAll(/[^\p{L}\p{M}\p{N}'-]+/gu, '_')}_`.replaceAll('__', '_'))

/** The language whose words cover most of the text; undefined if it is in none of the scripts. */
export function languageOf(folded: string, lexicon: Lexicon): Written | undefined {
  const text = joined(folded.slice(0, 400))
  let best: Written | undefined
  let most = -1
  for (const candidate of WRITTEN) {
    if (!candidate.letters.test(text)) continue
    const { known } = read(text, candidate, lexicon)
    // Kana identify Japanese, which shares its other characters with Chinese.
    const weight = candidate.code === 'ja' ? known + text.length : known
    if (weight > most) [best, most] = [candidate, weight]
  }
  return best
}

const pairIndex = (low: number, high: number) => CONCEPTS + (high * (high - 1)) / 2 + low
const surface = (text: string, seed: number) => finish(hashed(text, seed)) % SURFACES

/** Features of one passage: indices into the weights of meanings and of surfaces, each at most once. */
export interface Passage {
  readonly meanings: readonly number[]
  readonly surfaces: readonly number[]
}

/** Adds the parts of a text that have the given lengths. The seeds tell the lengths apart. */
function addParts(found: Set<number>, text: string, lengths: readonly number[], seed: number): void {
  for (const length of lengths)
    for (let start = 0; start + length <= text.length; start++)
      found.add(surface(text.slice(start, start + length), seed + length))
}

function surfacesOf(text: string, spaced: boolean): number[] {
  const found = new Set<number>()
  if (!spaced) addParts(found, text, RUNS, 20)
  else {
    const words = text.split('_').filter((word) => word !== '')
    words.forEach((word, index) => {
      found.add(surface(word, 1))
      found.add(surface(`${words[index - 1] ?? ''}_${word}`, 2))
      addParts(found, `_${word}_`, PARTS, 10)
    })
  }
  return [...found]
}

/** Concepts in the order in which they were said: each with the next, and with the one after. */
const followers = (concepts: readonly number[]): number[] => [
  ...new Set(
    concepts.flatMap((concept, index) =>
      concepts.slice(index + 1, index + 3).map((next) => surface(`${concept}>${next}`, 5)),
    ),
  ),
]

function passageOf(text: string, language: Written, lexicon: Lexicon): Passage {
  const said = read(text, language, lexicon).concepts
  const concepts = [...new Set(said)].sort((one, other) => one - other)
  const pairs = concepts.flatMap((high, index) => concepts.slice(0, index).map((low) => pairIndex(low, high)))
  return {
    meanings: [...concepts, ...pairs],
    surfaces: [...surfacesOf(text, language.spaced), ...followers(said)],
  }
}

const tooLong = (text: string, spaced: boolean) => {
  const words = spaced ? text.split('_').length - 2 : text.length / JOINED_WORD
  return words > PASSAGE
}

/** Overlapping parts of a long sentence. */
function parts(text: string, spaced: boolean): string[] {
  if (!tooLong(text, spaced)) return [text]
  const words = spaced ? text.slice(1, -1).split('_') : [...text]
  const size = spaced ? PASSAGE : PASSAGE * JOINED_WORD
  const glue = spaced ? '_' : ''
  const count = Math.ceil((words.length - size / 2) / (size / 2))
  return Array.from(
    { length: count },
    (_, index) => `_${words.slice((index * size) / 2, (index * size) / 2 + size).join(glue)}_`,
  )
}

/** The passages of a text: sentences, neighbouring pairs of short ones, and parts of long ones. */
export function passages(folded: string, language: Written, lexicon: Lexicon): Passage[] {
  const sentences = folded
    .split(/[.!?。！？।؟\n]+/u)
    .map(joined)
    .filter((sentence) => sentence.length > 2)
  const pairs = sentences
    .slice(1)
    .map((sentence, index) => `${sentences[index]}${sentence.slice(1)}`)
    .filter((pair) => !tooLong(pair, language.spaced))
  const single = sentences.flatMap((sentence) => parts(sentence, language.spaced))
  return [...single, ...pairs].map((text) => passageOf(text, language, lexicon))
}
