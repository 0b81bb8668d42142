// Decides whether a text belongs to given languages. In: language codes. Out: a test of a text by Unicode
// scripts.
import { HalfbyteError } from '../../../core/base/errors.ts'

export interface Scripts {
  /** Unicode's short names, like `Latn`. */
  readonly names: readonly string[]
  /**
   * Whether all characters of a text belong to these scripts or to none, such as digits and most punctuation.
   */
  has(text: string): boolean
}

/** Scripts that are mixtures of several, by their ISO 15924 names. */
const MIXTURES: ReadonlyMap<string, readonly string[]> = new Map([
  ['Jpan', ['Hira', 'Kana', 'Hani']],
  ['Hrkt', ['Hira', 'Kana']],
  ['Kore', ['Hang', 'Hani']],
  ['Hans', ['Hani', 'Bopo']],
  ['Hant', ['Hani', 'Bopo']],
  ['Hanb', ['Hani', 'Bopo']],
])

/**
 * The scripts of languages, by Unicode's likely subtags: `en` is Latn, `sr` is Cyrl, `sr-Latn` is Latn, `ja`
 * is Hira, Kana and Hani. Throws `unsupported` for an invalid code, or one whose script Unicode does not
 * know.
 */
export function scriptsOf(languages: readonly string[]): Scripts {
  const names = [...new Set(languages.flatMap(scriptsOfOne))]
  const own = names.map((name) => `\\p{scx=${name}}`).join('')
  // Characters of no single script: Zyyy are shared, Zinh inherit the preceding character's script.
  const pattern = new RegExp(`^[${own}\\p{scx=Zyyy}\\p{scx=Zinh}]*$`, 'u')
  return { names, has: (text) => pattern.test(text) }
}

function scriptsOfOne(language: string): readonly string[] {
  const script = likelyScript(language)
  const names = script === undefined ? [] : (MIXTURES.get(script) ?? [script])
  if (names.length > 0 && names.every(isScript)) return names
  throw new HalfbyteError(
    'unsupported',
    `"${language}" is not a language whose script Unicode knows; give codes like en, de, ja, zh-Hant or sr-Latn`,
    { language },
  )
}

function likelyScript(language: string): string | undefined {
  try {
    return new Intl.Locale(language).maximize().script
  } catch {
    return undefined
  }
}

function isScript(name: string): boolean {
  try {
    return new RegExp(`\\p{scx=${name}}`, 'u') instanceof RegExp
  } catch {
    return false
  }
}
