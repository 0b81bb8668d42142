// Which texts languages can write: in, codes of languages; out, a test of a text by the scripts of Unicode.
import { HalfbyteError } from '../../../core/base/errors.ts'

export interface Scripts {
  /** Unicode's short names, like `Latn`. */
  readonly names: readonly string[]
  /** True for a text whose characters are all of these scripts or of none, as digits and most marks. */
  has(text: string): boolean
}

/** Languages that are written in several scripts at once, by ISO 15924's names of the mixtures. */
const MIXTURES: ReadonlyMap<string, readonly string[]> = new Map([
  ['Jpan', ['Hira', 'Kana', 'Hani']],
  ['Hrkt', ['Hira', 'Kana']],
  ['Kore', ['Hang', 'Hani']],
  ['Hans', ['Hani', 'Bopo']],
  ['Hant', ['Hani', 'Bopo']],
  ['Hanb', ['Hani', 'Bopo']],
])

/**
 * The scripts of languages, by Unicode's likely subtags: `en` is Latn, `sr` is Cyrl, `sr-Latn` is Latn,
 * `ja` is Hira, Kana and Hani. Throws `unsupported` for a code that is none, or of which Unicode knows no
 * script.
 */
export function scriptsOf(languages: readonly string[]): Scripts {
  const names = [...new Set(languages.flatMap(scriptsOfOne))]
  const own = names.map((name) => `\\p{scx=${name}}`).join('')
  // Characters of no script: Zyyy are shared ones, Zinh take the script of what they follow.
  const pattern = new RegExp(`^[${own}\\p{scx=Zyyy}\\p{scx=Zinh}]*$`, 'u')
  return { names, has: (text) => pattern.test(text) }
}

function scriptsOfOne(language: string): readonly string[] {
  const script = likelyScript(language)
  const names = script === undefined ? [] : (MIXTURES.get(script) ?? [script])
  if (names.length > 0 && names.every(isScript)) return names
  throw new HalfbyteError(
    'unsupported',
    `"${language}" is not a language of which Unicode knows the script; give codes like en, de, ja, zh-Hant or sr-Latn`,
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
