// In: tags of browsers and pages. Out: the language of the interface, here and in first-paint.js.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { isRightToLeft, languageFor, TRANSLATED } from './languages.ts'

const TAGS: readonly (readonly [string, string | undefined])[] = [
  ['en-GB', 'en'],
  ['he-IL', 'he'],
  ['iw', 'he'],
  ['in', 'id'],
  ['pt-BR', 'pt'],
  ['pt-PT', 'pt'],
  ['de-Latn-CH-1996', 'de'],
  ['DE_at', undefined],
  ['zh', 'zh-Hans'],
  ['zh-CN', 'zh-Hans'],
  ['zh-SG', 'zh-Hans'],
  ['zh-Hans-HK', 'zh-Hans'],
  ['zh-TW', 'zh-Hant'],
  ['zh-HK', 'zh-Hant'],
  ['zh-Hant-CN', 'zh-Hant'],
  ['sv', undefined],
  ['', undefined],
  ['x', undefined],
]
const isThere = (code: string | undefined) =>
  code === undefined || code === 'en' || TRANSLATED.some((known) => known === code)

test.each(TAGS)('the tag %s means %s', (tag, code) => {
  expect(languageFor(tag)).toBe(isThere(code) ? code : undefined)
})

test('the script of a language without a translation is known, for the texts of a page', () => {
  expect(['ar', 'he', 'fa-IR', 'ur', 'en', 'fi'].map(isRightToLeft)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ])
})

test('the script before the first paint chooses the same language', () => {
  const script = readFileSync(join(import.meta.dirname, '../../../demo/first-paint.js'), 'utf8').replace(
    "{ __UNLOADED__: '' }",
    JSON.stringify(Object.fromEntries(['en', ...TRANSLATED].map((code) => [code, `${code} failed`]))),
  )
  const shown = (languages: readonly string[], settings = '{}') => {
    const root = { dataset: {}, lang: '', dir: '' }
    runInNewContext(script, {
      document: { documentElement: root },
      navigator: { languages },
      localStorage: { getItem: (key: string) => (key === 'halfbyte-settings' ? settings : null) },
      addEventListener: () => undefined,
    })
    return [root.lang, root.dir]
  }
  for (const [tag] of TAGS) {
    const code = languageFor(tag) ?? 'en'
    expect(shown([tag]), tag).toEqual([code, isRightToLeft(code) ? 'rtl' : 'ltr'])
  }
  expect(shown(['sv', 'he', 'en'])).toEqual(['he', 'rtl'])
  expect(shown(['he'], '{"version":2,"language":"en"}')).toEqual(['en', 'ltr'])
  expect(shown(['he'], '{"version":2,"language":"auto"}')).toEqual(['he', 'rtl'])
})
