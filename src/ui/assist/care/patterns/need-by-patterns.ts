// Need by patterns. In: a folded message. Out: what its writer, or someone they know, may need help with, if a
// pattern of a language matches.
import { memo } from '../../../../core/base/values.ts'
import { LETTER, unaccented } from '../fold.ts'
import { ASIAN } from './asian.ts'
import { ENGLISH } from './english.ts'
import { GERMANIC } from './germanic.ts'
import type { Need, PatternSet, RecognizedNeed } from './pattern-set.ts'
import { ROMANCE } from './romance.ts'
import { SEMITIC } from './semitic.ts'
import { SLAVIC } from './slavic.ts'

/** `\b` for all scripts: the built-in one supports only ASCII. */
const BOUNDARY = `(?:(?<=${LETTER})(?!${LETTER})|(?<!${LETTER})(?=${LETTER}))`

/** Scripts, with a pattern for their letters. A text is compared only with languages in its scripts. */
const SCRIPTS = {
  latin: /[a-z]/,
  cyrillic: /\p{Script=Cyrillic}/u,
  hebrew: /\p{Script=Hebrew}/u,
  arabic: /\p{Script=Arabic}/u,
  devanagari: /\p{Script=Devanagari}/u,
  han: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u,
  hangul: /\p{Script=Hangul}/u,
} as const

/** The patterns in use. They live for one task: those of all languages would take 6 MB in each tab. */
const compiled = new Map<readonly string[], RegExp>()

class Language {
  readonly #set: PatternSet

  constructor(set: PatternSet) {
    this.#set = set
  }

  get name(): string {
    return this.#set.language
  }

  isIn(text: string): boolean {
    return SCRIPTS[this.#set.script ?? 'latin'].test(text)
  }

  needIn(text: string): Need | undefined {
    const { selfHarm, medical, violence, harmless } = this.#set
    const serious = this.#corrected(text).replaceAll(this.#any(harmless, 'g'), ' ')
    if (this.#any(medical).test(serious)) return 'medical'
    if (this.#any(violence).test(serious)) return 'violence'
    return this.#any(selfHarm).test(serious) ? 'self-harm' : undefined
  }

  #corrected(text: string): string {
    const { spellings = [] } = this.#set
    return spellings.reduce(
      (written, spelling) =>
        written.replaceAll(
          memo(compiled, spelling, () => this.#compile([spelling[0]], 'g', 'both')),
          spelling[1],
        ),
      text,
    )
  }

  #any(sources: readonly string[], flags = ''): RegExp {
    return memo(compiled, sources, () => this.#compile(sources, flags))
  }

  #compile(sources: readonly string[], flags: string, edges = this.#set.edges ?? 'start'): RegExp {
    const { script = 'latin' } = this.#set
    const source = unaccented(sources.join('|'))
    // Folded Latin text is ASCII, for which the built-in `\b` is correct and much faster.
    if (script === 'latin') return new RegExp(`\\b(?:${source})${edges === 'both' ? '\\b' : ''}`, flags)
    const start = edges === 'none' ? '' : `(?<!${LETTER})`
    const spelt = source.replaceAll('\\b', BOUNDARY).replaceAll('\\w', LETTER)
    return new RegExp(`${start}(?:${spelt})`, `${flags}u`)
  }
}

const LANGUAGES = [ENGLISH, ...ROMANCE, ...GERMANIC, ...SLAVIC, ...ASIAN, ...SEMITIC].map(
  (set) => new Language(set),
)

/** The need that a pattern finds in a folded text. */
export function needByPatterns(said: string): RecognizedNeed | undefined {
  if (compiled.size === 0) setTimeout(() => compiled.clear())
  for (const language of LANGUAGES) {
    const need = language.isIn(said) ? language.needIn(said) : undefined
    if (need !== undefined) return { need, language: language.name }
  }
  return undefined
}
