// The message input. In: whether something can be sent, or an answer stopped. Out: the form, which calls back
// with the text.
import { html, nothing, type ReactiveController, type ReactiveControllerHost, type TemplateResult } from 'lit'
import type { CommonWords } from '../words/english.ts'
import { icon } from './icons.ts'
import { isTouch, sends } from './keys.ts'
import { visibleText } from './visible.ts'

/** A Lit element that renders a part of the chat. */
export type ChatHost = ReactiveControllerHost & { readonly renderRoot: HTMLElement | DocumentFragment }

interface ComposerView {
  readonly words: CommonWords
  readonly placeholder: string
  /** Tooltip of the stop button. */
  readonly stopTitle: string
  /** True while an answer can be stopped. */
  readonly isAnswering: boolean
  /** False while no message can be sent. */
  readonly canSend: boolean
  /** True if something is attached, so that the text may be empty. */
  readonly hasMore?: boolean
  /** Content above, before and after the field. */
  readonly above?: TemplateResult | typeof nothing
  readonly before?: TemplateResult | typeof nothing
  readonly after?: TemplateResult | typeof nothing
  readonly onPaste?: (event: ClipboardEvent) => void
  /** Called with the trimmed text. */
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Maximum characters of a message: far more than a model reads, yet few enough for every processing step. */
const MAX_LETTERS = 200_000
/** Milliseconds within which a second click counts as part of the first. */
const DOUBLE_CLICK = 500

export class Composer implements ReactiveController {
  readonly #host: ChatHost
  #isEmpty = true
  /** True if the round button has focus and the next update may replace it. */
  #isOnButton = false
  /** When the send button was last clicked, on the page's clock. */
  #clicked = Number.NEGATIVE_INFINITY

  constructor(host: ChatHost) {
    this.#host = host
    host.addController(this)
  }

  get field(): HTMLTextAreaElement | null {
    return this.#host.renderRoot.querySelector('.composer textarea')
  }

  /** Puts text into the field, for the user to send. */
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
      // The stop button replaced Send under the pointer. Keyboard events have no detail.
      if (detail === 0 || timeStamp - this.#clicked > DOUBLE_CLICK) onStop()
    }
    // With an empty field, the button keeps focus, which a disabled button would lose.
    return html`<form class="composer" part="composer" @submit=${submit} @click=${this.#onClick}>
      ${view.above ?? nothing}${view.before ?? nothing}
      <textarea part="input" rows="1" dir="auto" maxlength=${MAX_LETTERS} aria-label=${words.message}
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
    const text = visibleText(this.field?.value ?? '')
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
    const isEmpty = visibleText(field.value) === ''
    if (isEmpty === this.#isEmpty) return
    this.#isEmpty = isEmpty
    this.#host.requestUpdate()
  }
}

/**
 * Grows with its text in browsers whose CSS cannot. Policies do not treat a property set by script as an
 * inline style.
 */
function grow(area: HTMLTextAreaElement): void {
  if (globalThis.CSS?.supports('field-sizing', 'content')) return
  area.style.height = 'auto'
  area.style.height = `${area.scrollHeight + 2}px`
}
