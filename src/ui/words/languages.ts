// Languages. In: BCP 47 tags that a browser, a page or a user prefers. Out: the interface's language for
// them.

/** The languages of the interface besides English. Each has a file in `languages/`. */
export const TRANSLATED = [
  'ar',
  'bn',
  'de',
  'es',
  'fr',
  'he',
  'hi',
  'id',
  'it',
  'ja',
  'ko',
  'nl',
  'pl',
  'pt',
  'ru',
  'tr',
  'uk',
  'vi',
  'zh-Hans',
  'zh-Hant',
] as const

export type Translated = (typeof TRANSLATED)[number]
export type Language = 'en' | Translated

/**
 * The interface's language for a tag, for example `zh-Hant` for `zh-TW`; undefined if it has none or the tag
 * is invalid. first-paint.js does the same.
 */
export function languageFor(tag: string): Language | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize()
    const code = language === 'zh' ? `zh-${script}` : language
    return code === 'en' ? code : TRANSLATED.find((translated) => translated === code)
  } catch {
    return undefined
  }
}

/** Also for the languages of pages whose texts are not among these. */
export const isRightToLeft = (tag: string): boolean => /^(?:ar|ckb|dv|fa|he|iw|ps|sd|ug|ur|yi)\b/.test(tag)
