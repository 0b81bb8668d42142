// The widget's language. In: the element and its ancestors, whose `lang` applies, and the texts that the page
// replaces. Out: its texts, their direction, and the tag for numbers.
import type { ReactiveController, ReactiveControllerHost } from 'lit'
import { ENGLISH, type Translation, type Words } from '../words/english.ts'
import { isRightToLeft, type Language, languageFor, type Translated } from '../words/languages.ts'

/** Each loads when a page needs it. Bundlers need complete paths. */
const TRANSLATIONS: Readonly<Record<Translated, () => Promise<Translation>>> = {
  ar: () => import('../words/languages/ar.ts'),
  bn: () => import('../words/languages/bn.ts'),
  de: () => import('../words/languages/de.ts'),
  es: () => import('../words/languages/es.ts'),
  fr: () => import('../words/languages/fr.ts'),
  he: () => import('../words/languages/he.ts'),
  hi: () => import('../words/languages/hi.ts'),
  id: () => import('../words/languages/id.ts'),
  it: () => import('../words/languages/it.ts'),
  ja: () => import('../words/languages/ja.ts'),
  ko: () => import('../words/languages/ko.ts'),
  nl: () => import('../words/languages/nl.ts'),
  pl: () => import('../words/languages/pl.ts'),
  pt: () => import('../words/languages/pt.ts'),
  ru: () => import('../words/languages/ru.ts'),
  tr: () => import('../words/languages/tr.ts'),
  uk: () => import('../words/languages/uk.ts'),
  vi: () => import('../words/languages/vi.ts'),
  'zh-Hans': () => import('../words/languages/zh-Hans.ts'),
  'zh-Hant': () => import('../words/languages/zh-Hant.ts'),
}

/** How long, in milliseconds, the first rendering waits for a translation. */
const MAX_WAIT = 1000

/** The `lang` of the element or of its nearest ancestor with one; empty if there is none. */
function tagOf(element: Element): string {
  for (let inside: Element | undefined = element; inside !== undefined; ) {
    const tag = inside.closest('[lang]')?.getAttribute('lang')
    if (tag !== undefined && tag !== null) return tag
    const root = inside.getRootNode()
    inside = root instanceof ShadowRoot ? root.host : undefined
  }
  return ''
}

/** Follows the `lang` of its host's page, and renders the host again when its texts change. */
export class Speech implements ReactiveController {
  readonly #host: ReactiveControllerHost & Element
  readonly #observer = new MutationObserver(() => this.#follow())
  /** The page's language tag. */
  #tag = ''
  /** The widget's texts in their language, overridden by those of the page. */
  #own: { readonly language: Language; readonly words: Words } = { language: 'en', words: ENGLISH }
  #merged: { readonly own: Words; readonly given: Partial<Words>; readonly words: Words } | undefined
  /** The translation that is being loaded. */
  #loading: Promise<unknown> | undefined

  constructor(host: ReactiveControllerHost & Element) {
    this.#host = host
    host.addController(this)
  }

  hostConnected(): void {
    for (let root = this.#host.getRootNode(); ; root = root.host.getRootNode()) {
      this.#observer.observe(root, { attributes: true, attributeFilter: ['lang'], subtree: true })
      if (!(root instanceof ShadowRoot)) break
    }
    this.#follow()
  }

  hostDisconnected(): void {
    this.#observer.disconnect()
  }

  /** The tag for numbers, plural forms and lists: the page's if the browser knows it. */
  get tag(): string {
    try {
      return (
        Intl.NumberFormat.supportedLocalesOf(this.#tag === '' ? [] : [this.#tag])[0] ?? this.#own.language
      )
    } catch {
      return this.#own.language
    }
  }

  /**
   * The language of the texts. Undefined if the page's language is unknown, because the page's `messages` may
   * be in any language.
   */
  get language(): Language | undefined {
    return languageFor(this.#tag) === undefined ? undefined : this.#own.language
  }

  get direction(): 'ltr' | 'rtl' | undefined {
    const { language } = this
    if (language === undefined) return undefined
    return isRightToLeft(language) ? 'rtl' : 'ltr'
  }

  /** Returns the same object until the language or `given` changes. */
  words(given: Partial<Words>): Words {
    const own = this.#own.words
    if (this.#merged?.own !== own || this.#merged.given !== given) {
      const entries = Object.entries(own).map(([name, text]) => [name, given[name as keyof Words] ?? text])
      this.#merged = { own, given, words: Object.fromEntries(entries) as Words }
    }
    return this.#merged.words
  }

  /** Resolves when the first rendering need not wait any longer; undefined if it need not wait at all. */
  get settled(): Promise<unknown> | undefined {
    return this.#loading && Promise.race([this.#loading, new Promise((end) => setTimeout(end, MAX_WAIT))])
  }

  #follow(): void {
    const tag = tagOf(this.#host)
    if (tag === this.#tag) return
    this.#tag = tag
    const language = languageFor(tag) ?? 'en'
    if (language === 'en') this.#speak(language, ENGLISH)
    else if (language !== this.#own.language) this.#load(language)
    this.#host.requestUpdate()
  }

  #load(language: Translated): void {
    const isWanted = () => (languageFor(this.#tag) ?? 'en') === language
    this.#loading = TRANSLATIONS[language]().then(
      ({ COMMON, WIDGET }) => isWanted() && this.#speak(language, { ...COMMON, ...WIDGET }),
      // Without its file, for example offline, the widget is in English.
      () => isWanted() && this.#speak('en', ENGLISH),
    )
  }

  #speak(language: Language, words: Words): void {
    this.#loading = undefined
    this.#own = { language, words }
    this.#host.requestUpdate()
  }
}
