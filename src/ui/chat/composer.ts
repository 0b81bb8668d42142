// The composer. In: whether something can be sent, or an answer stopped. Out: the form for a message, which
// calls back with the text.
import { html, nothing, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from 'lit'
import { icon } from './icons.ts'
import { isTouch, sends } from './keys.ts'
import type { COMMON } from './texts.ts'

/** A Lit element that renders a part of the chat. */
export type ChatHost = ReactiveControllerHost & { readonly renderRoot: HTMLElement | DocumentFragment }

/** Texts in the language of the person. */
export type CommonWords = { readonly [Name in keyof typeof COMMON]: string }

interface ComposerView {
  readonly words: CommonWords
  readonly placeholder: string
  /** Explains the button that stops, where a mouse rests on it. */
  readonly stopTitle: string
  /** True while an answer can be stopped. */
  readonly isAnswering: boolean
  /** False while a message could not be answered next. */
  readonly canSend: boolean
  /** True if a message goes with something else, so that it may have no text. */
  readonly hasMore?: boolean
  /** Shown above, before and after the field. */
  readonly above?: TemplateResult | typeof nothing
  readonly before?: TemplateResult | typeof nothing
  readonly after?: TemplateResult | typeof nothing
  readonly onPaste?: (event: ClipboardEvent) => void
  /** Gets the trimmed text. */
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Characters of a message: far more than a model reads, and few enough for every step before it. */
const MOST_LETTERS = 200_000
/** Milliseconds within which a second click belongs to the first. */
const DOUBLE_CLICK = 500

export class Composer implements ReactiveController {
  readonly #host: ChatHost
  #isEmpty = true
  /** The round button has the focus, and may be replaced by the next update. */
  #isOnButton = false
  /** When the button was last clicked to send, on the page's clock. */
  #clicked = Number.NEGATIVE_INFINITY

  constructor(host: ChatHost) {
    this.#host = host
    host.addController(this)
  }

  get field(): HTMLTextAreaElement | null {
    return this.#host.renderRoot.querySelector('.composer textarea')
  }

  /** Puts a text into the field, for the person to send. */
  write(text: string): void {
    const { field } = this
    if (field === null) return
    field.value = text
    this.#onInput()
  }

  hostUpdate(): void {
    this.#isOnButton = this.#button?.matches(':focus') === true
  }

  hostUpdated(): void {
    if (this.#isOnButton) this.#button?.focus()
  }

  get #button(): HTMLElement | null {
    return this.#host.renderRoot.querySelector('.composer .round')
  }

  view(view: ComposerView): TemplateResult {
    const { words, isAnswering, canSend, hasMore = false, onPaste, onStop } = view
    const submit = (event: Event) => this.#submit(event, view)
    const stop = ({ detail, timeStamp }: MouseEvent) => {
      // The button took the place of Send under the pointer. A key has no detail.
      if (detail === 0 || timeStamp - this.#clicked > DOUBLE_CLICK) onStop()
    }
    // Without a text the button keeps the focus, which one that is disabled would lose.
    return html`<form class="composer" part="composer" @submit=${submit} @click=${this.#onClick}>
      ${view.above ?? nothing}${view.before ?? nothing}
      <textarea part="input" rows="1" dir="auto" maxlength=${MOST_LETTERS} aria-label=${words.message}
        placeholder=${view.placeholder} enterkeyhint=${isTouch() ? 'enter' : 'send'}
        @keydown=${(event: KeyboardEvent) => sends(event) && submit(event)}
        @input=${this.#onInput} @paste=${onPaste ?? nothing}></textarea>
      ${view.after ?? nothing}
      ${
        isAnswering
          ? html`<button type="button" class="round stop" part="button-primary stop" aria-label=${words.stop}
              title=${view.stopTitle} aria-keyshortcuts="Escape" @click=${stop}>${icon('stop')}</button>`
          : html`<button class="round send" part="button-primary send" aria-label=${words.send} title=${words.send}
              ?disabled=${!canSend} aria-disabled=${this.#isEmpty && !hasMore ? 'true' : nothing}>${icon('send')}</button>`
      }
    </form>`
  }

  #submit(event: Event, { canSend, isAnswering, hasMore = false, onSend }: ComposerView): void {
    event.preventDefault()
    const text = this.field?.value.trim() ?? ''
    if ((text === '' && !hasMore) || !canSend || isAnswering) return
    if (event.type === 'submit') this.#clicked = event.timeStamp
    this.write('')
    onSend(text)
  }

  /** A click anywhere in the composer focuses the field. */
  readonly #onClick = (event: Event): void => {
    if (event.target === event.currentTarget) this.field?.focus()
  }

  readonly #onInput = (): void => {
    const { field } = this
    if (field === null) return
    grow(field)
    const isEmpty = field.value.trim() === ''
    if (isEmpty === this.#isEmpty) return
    this.#isEmpty = isEmpty
    this.#host.requestUpdate()
  }
}

/** Grows with its text in browsers whose CSS cannot. A policy takes a set property for no inline style. */
function grow(area: HTMLTextAreaElement): void {
  if (globalThis.CSS?.supports('field-sizing', 'content')) return
  area.style.height = 'auto'
  area.style.height = `${area.scrollHeight + 2}px`
}
