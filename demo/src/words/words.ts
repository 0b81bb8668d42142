// Texts. In: the browser's language, or the chosen one. Out: the page's texts in it.
import type { ReactiveController, ReactiveControllerHost } from 'lit'
import type { EngineNote, ErrorCode, NoteCode } from '../../../src/index.ts'
import {
  isRightToLeft,
  type Language,
  languageFor,
  type Translated,
} from '../../../src/ui/words/languages.ts'
import { fill, say, type Values } from '../../../src/ui/words/message.ts'
import { ENGLISH, ENGLISH_REASONS, type Words } from './english.ts'
import type { LaterWords } from './later-english.ts'

export type Word = keyof Words

/**
 * The sentences for each kind of error: the first one whose placeholders are all known is used; the last one
 * has none.
 */
export type Reasons = Readonly<Record<ErrorCode, readonly string[]>>

/** The sentence for each kind of note, from the note's values. */
export type Notes = Readonly<Record<NoteCode, string>>

/** What to expect of each model of the library's catalogue, by its title. */
export type ModelTexts = Readonly<Record<string, string>>

/** A file of `languages/`. */
export interface Translation {
  readonly WORDS: Words
  /** The texts of `later-english.ts`. */
  readonly LATER: LaterWords
  readonly MODELS: ModelTexts
  readonly REASONS: Reasons
  readonly NOTES: Notes
}

/** Without a translation the page is in English. */
let translation: Translation | undefined
let current: Language = 'en'
const hosts = new Set<ReactiveControllerHost>()

/** Each loads when it is used. */
const TRANSLATIONS: Readonly<Record<Translated, () => Promise<Translation>>> = {
  ar: () => import('./languages/ar.ts'),
  bn: () => import('./languages/bn.ts'),
  de: () => import('./languages/de.ts'),
  es: () => import('./languages/es.ts'),
  fr: () => import('./languages/fr.ts'),
  he: () => import('./languages/he.ts'),
  hi: () => import('./languages/hi.ts'),
  id: () => import('./languages/id.ts'),
  it: () => import('./languages/it.ts'),
  ja: () => import('./languages/ja.ts'),
  ko: () => import('./languages/ko.ts'),
  nl: () => import('./languages/nl.ts'),
  pl: () => import('./languages/pl.ts'),
  pt: () => import('./languages/pt.ts'),
  ru: () => import('./languages/ru.ts'),
  tr: () => import('./languages/tr.ts'),
  uk: () => import('./languages/uk.ts'),
  vi: () => import('./languages/vi.ts'),
  'zh-Hans': () => import('./languages/zh-Hans.ts'),
  'zh-Hant': () => import('./languages/zh-Hant.ts'),
}

/** The language of the texts, for numbers, dates and lists. */
export const language = (): Language => current

/** All texts: the same object while the language is the same. */
export const allWords = (): Words => translation?.WORDS ?? ENGLISH

/** The texts of parts that load later, in the page's language; undefined if that is English. */
export const laterTranslation = (): LaterWords | undefined => translation?.LATER

/** A text with its `values`. */
export const t = (word: Word, values: Values = {}): string => say(allWords()[word], values, current)

/** The meaning of an error in the page's language; undefined if the library's message says it. */
export function reason(code: ErrorCode, values: Values): string | undefined {
  // English omits the codes whose library messages suit users.
  const reasons: Partial<Reasons> = translation?.REASONS ?? ENGLISH_REASONS
  const found = reasons[code]?.find((text) => !/\{\w+\}/.test(fill(text, values)))
  return found === undefined ? undefined : say(found, values, current)
}

/** An engine's note in the page's language. The library's sentences are English. */
export const noteText = ({ code, text, values }: EngineNote): string => {
  const own = translation?.NOTES[code]
  return own === undefined ? text : say(own, values, current)
}

/** What to expect of a model, from its English text. */
export const modelText = (title: string, about: string): string => translation?.MODELS[title] ?? about

/** The chosen language, or the first of the browser's languages that the page supports. */
export const languageToSpeak = (
  chosen: 'auto' | Language,
  preferred: readonly string[] = navigator.languages,
): Language =>
  chosen === 'auto' ? (preferred.map(languageFor).find((known) => known !== undefined) ?? 'en') : chosen

/**
 * Shows the page in another language. Without a network, a language that was never used cannot be loaded: the
 * page then keeps its language.
 */
export async function speak(next: Language): Promise<void> {
  if (next !== current) {
    try {
      translation = next === 'en' ? undefined : await TRANSLATIONS[next]()
      current = next
    } catch {
      // The assumption of first-paint.js is reverted below.
    }
  }
  const root = document.documentElement
  if (root.lang === current) return
  root.lang = current
  root.dir = isRightToLeft(current) ? 'rtl' : 'ltr'
  for (const host of hosts) host.requestUpdate()
}

/** Renders its host again when the language changes. */
export class Speaks implements ReactiveController {
  readonly #host: ReactiveControllerHost

  constructor(host: ReactiveControllerHost) {
    this.#host = host
    host.addController(this)
  }

  hostConnected(): void {
    hosts.add(this.#host)
  }

  hostDisconnected(): void {
    hosts.delete(this.#host)
  }
}
