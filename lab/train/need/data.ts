// Data of the classifier of need. In: the word lists and messages beside this file, and the stored messages
// of the tests, and text of the repository. Out: the lexicon, and examples with their kind.
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CONCEPTS, stemKey } from '../../../src/ui/assist/care/classifier/features.ts'
import { folded } from '../../../src/ui/assist/care/fold.ts'
import { needByPatterns } from '../../../src/ui/assist/care/patterns/need-by-patterns.ts'

/** Kinds of message; the last is an ordinary one. */
export const KINDS = ['self-harm', 'medical', 'violence', 'ordinary'] as const
export type Kind = (typeof KINDS)[number]

export interface Example {
  readonly language: string
  readonly kind: Kind
  readonly text: string
}

const FOLDER = new URL('.', import.meta.url)
const STORED = new URL('../../../test/fixtures/assist/', import.meta.url)
/** Maximum number of variants of one line with alternatives. */
const VARIANTS = 14

const lines = (url: URL) =>
  readFileSync(url, 'utf8')
    .split('\n')
    .filter((line) => line !== '')

const namesIn = (folder: string) =>
  readdirSync(new URL(folder, FOLDER)).map((name) => name.replace('.txt', ''))

/** Concepts in the order of the English list, and the keys of each one's stems. */
export function readLexicon(): {
  readonly concepts: readonly string[]
  readonly keys: readonly Set<number>[]
} {
  const english = lines(new URL('lexicon/en.txt', FOLDER))
  const concepts = english.map((line) => line.split(' ')[0]!)
  if (concepts.length !== CONCEPTS) throw new Error(`expected ${CONCEPTS} concepts, found ${concepts.length}`)
  const keys = concepts.map(() => new Set<number>())
  for (const language of namesIn('lexicon'))
    for (const line of lines(new URL(`lexicon/${language}.txt`, FOLDER))) {
      const [concept, ...stems] = line.split(' ')
      const set = keys[concepts.indexOf(concept!)]
      if (set === undefined) throw new Error(`${language}: "${concept}" is not a concept`)
      for (const stem of new Set(stems.map((stem) => folded(stem))))
        if (stem !== '') set.add(stemKey(language, stem))
    }
  return { concepts, keys }
}

export const lexiconOf = (keys: readonly Set<number>[]): Map<number, number> =>
  new Map(keys.flatMap((set, concept) => [...set].map((key) => [key, concept] as const)))

/** A generator of pseudorandom numbers in [0, 1), the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Variants of a line in which `{one|other}` are alternatives. */
function variants(line: string, random: () => number): string[] {
  const slots = line.split(/[{}]/).map((part, index) => (index % 2 === 1 ? part.split('|') : [part]))
  const total = slots.reduce((count, slot) => count * slot.length, 1)
  const pick = () => slots.map((slot) => slot[Math.floor(random() * slot.length)]!).join('')
  const widest = Math.max(...slots.map((slot) => slot.length))
  const texts = new Set<string>()
  // Each alternative occurs at least once.
  for (let turn = 0; turn < widest; turn++) texts.add(slots.map((slot) => slot[turn % slot.length]!).join(''))
  // Bounded, because two choices may give the same text.
  for (let tries = 0; texts.size < Math.min(total, VARIANTS) && tries < 10 * VARIANTS; tries++)
    texts.add(pick())
  return [...texts].map((text) => text.replaceAll(/ +/g, ' ').trim())
}

/** Messages that were written for the classifier. */
export function writtenExamples(random: () => number): Example[] {
  return namesIn('messages').flatMap((language) => {
    let kind: Kind = 'ordinary'
    return lines(new URL(`messages/${language}.txt`, FOLDER)).flatMap((line) => {
      if (line.startsWith('# ')) {
        kind = line.slice(2) as Kind
        return []
      }
      return variants(line, random).map((text) => ({ language, kind, text }))
    })
  })
}

const LETTERS: Readonly<Record<string, Kind>> = { s: 'self-harm', m: 'medical', v: 'violence' }

/** Stored messages: language, the letter of the kind if known, and text. */
export const storedExamples = (name: string): Example[] =>
  lines(new URL(name, STORED))
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.split('\t'))
    .map((cells) => {
      const text = cells.at(-1)!
      const known = cells.length === 3 ? LETTERS[cells[1]!] : undefined
      const kind = name.includes('ordinary') ? 'ordinary' : (known ?? needByPatterns(folded(text))?.need)
      return { language: cells[0]!, kind: kind ?? 'self-harm', text }
    })

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Longer pieces of text are not like messages. */
const LONGEST = 200

const stringsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

/**
 * Ordinary text that has nothing to do with need: the interface in all its languages, sentences of the
 * guides, questions about numbers and prompts of the demo's model. Without it, a text without known words
 * would get the odds of need among the other examples.
 */
export function plainExamples(): Example[] {
  const files = (pattern: string) =>
    globSync(pattern, { cwd: ROOT }).map((path) => readFileSync(`${ROOT}${path}`, 'utf8'))
  const texts = [
    ...files('src/ui/**/languages/*.ts').flatMap((text) =>
      [...text.matchAll(/'((?:[^'\\\n]|\\.)+)'/g)].map((match) => match[1]!),
    ),
    ...files('docs/**/*.md').flatMap((text) => text.split(/(?<=[.!?])\s|\n/)),
    ...files('test/fixtures/assist/*questions*.txt').flatMap((text) =>
      text
        .split('\n')
        .filter((line) => !line.startsWith('#'))
        .map((line) => line.split('\t')[0]!),
    ),
    ...[...files('lab/train/prompts/*.json'), ...files('test/fixtures/assist/*.json')].flatMap((text) =>
      stringsIn(JSON.parse(text)),
    ),
  ]
  return texts
    .filter((text) => text.length <= LONGEST && /\p{L}{2}/u.test(text))
    .map((text) => ({ language: '', kind: 'ordinary', text }))
}
