// Texts. In: the browser's language, or the chosen one. Out: the page's texts in it.
import type { ReactiveController, ReactiveControllerHost } from 'lit'
import type { EngineNote, ErrorCode, NoteCode } from '../../../src/index.ts'
import { fill } from '../../../src/ui/chat/texts.ts'
import { ENGLISH, ENGLISH_REASONS, type Words } from './english.ts'
import type { LaterWords } from './later-english.ts'

export type Language = 'en' | 'he'
export type Word = keyof Words

/**
 * The sentences for each kind of error: the first one whose placeholders are all known is used; the last one
 * has none.
 */
export type Reasons = Readonly<Record<ErrorCode, readonly string[]>>

/** The sentence for each kind of note, from the note's values. */
export type Notes = Readonly<Record<NoteCode, string>>

interface Catalogue {
  readonly words: Words
  /** The texts that load later. Undefined for English, where each part includes its own. */
  readonly later: LaterWords | undefined
  /** English omits the codes whose library messages suit users. */
  readonly reasons: Partial<Reasons>
  /** Undefined for English. Codes added to the library later are missing. */
  readonly notes: Partial<Notes> | undefined
}

const IN_ENGLISH: Catalogue = {
  words: ENGLISH,
  later: undefined,
  reasons: ENGLISH_REASONS,
  notes: undefined,
}
/** Languages other than English load when they are used. */
const OTHERS: Readonly<Record<Exclude<Language, 'en'>, () => Promise<Catalogue>>> = {
  he: async () => {
    const { LATER, NOTES, REASONS, WORDS } = await import('./languages/he.ts')
    return { words: WORDS, later: LATER, reasons: REASONS, notes: NOTES }
  },
}
/** first-paint.js has the same list. */
const RIGHT_TO_LEFT: readonly Language[] = ['he']

let catalogue = IN_ENGLISH
let current: Language = 'en'
const hosts = new Set<ReactiveControllerHost>()

/** The language of the texts, for numbers and lists. */
export const language = (): Language => current

/** All texts: the same object while the language is the same. */
export const allWords = (): Words => catalogue.words

/** The texts of parts that load later, in the page's language; undefined if that is English. */
export const laterTranslation = (): LaterWords | undefined => catalogue.later

export const isRightToLeft = (): boolean => RIGHT_TO_LEFT.includes(current)

/** A text with its `values` filled in. */
export const t = (word: Word, values: Readonly<Record<string, string | number>> = {}): string =>
  fill(catalogue.words[word], values)

/** The meaning of an error in the page's language; undefined if the library's message says it. */
export const reason = (
  code: ErrorCode,
  values: Readonly<Record<string, string | number>>,
): string | undefined =>
  catalogue.reasons[code]?.map((text) => fill(text, values)).find((text) => !/\{\w+\}/.test(text))

/** An engine's note in the page's language, or the library's sentence if the language lacks its code. */
export const noteText = ({ code, text, values }: EngineNote): string => {
  const own = catalogue.notes?.[code]
  return own === undefined ? text : fill(own, values)
}

/** The first of the browser's languages that the page has, unless one was chosen. */
export function languageFor(
  chosen: 'auto' | Language,
  preferred: readonly string[] = navigator.languages,
): Language {
  if (chosen !== 'auto') return chosen
  const known = preferred
    .map((tag) => tag.split('-', 1)[0])
    .find((tag) => tag === 'en' || tag === 'he' || tag === 'iw')
  return known === undefined || known === 'en' ? 'en' : 'he'
}

/**
 * Shows the page in another language. Without a network, a language that was never used cannot be loaded: the
 * page then keeps its language.
 */
export async function speak(next: Language): Promise<void> {
  if (next !== current) {
    try {
      catalogue = next === 'en' ? IN_ENGLISH : await OTHERS[next]()
      current = next
    } catch {
      // The assumption of first-paint.js is reverted below.
    }
  }
  const root = document.documentElement
  if (root.lang === current) return
  root.lang = current
  root.dir = isRightToLeft() ? 'rtl' : 'ltr'
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
