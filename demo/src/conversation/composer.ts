// The composer. In: whether the engine is ready or answering. Out: events `send`, with the text, and `stop`.
import { html, LitElement, type PropertyValues, type TemplateResult } from 'lit'
import { isTouch, sends } from '../../../src/widget/view/keys.ts'
import { icon } from '../shell/icons.ts'

export class ChatComposer extends LitElement {
  static override properties = {
    ready: { type: Boolean },
    busy: { type: Boolean },
    hint: { type: String },
  }
  declare ready: boolean
  declare busy: boolean
  /** Placeholder of the empty field. */
  declare hint: string

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override focus(): void {
    this.querySelector('textarea')?.focus()
  }

  protected override render(): TemplateResult {
    return html`<form class="composer" @submit=${this.#onSubmit} @click=${this.#onClick}>
      <textarea rows="1" aria-label="Message" dir="auto" enterkeyhint=${isTouch() ? 'enter' : 'send'} placeholder=${this.hint}
        @keydown=${this.#onKey} @input=${this.#fit}></textarea>
      ${
        this.busy
          ? html`<button type="button" class="round stop" aria-label="Stop" title="Stop (Escape)"
              aria-keyshortcuts="Escape" @click=${this.#stop}>${icon('stop')}</button>`
          : html`<button class="round" aria-label="Send" ?disabled=${!this.ready}>${icon('send')}</button>`
      }
    </form>`
  }

  protected override updated(changed: PropertyValues<this>): void {
    // The button that had the focus was replaced.
    if (changed.has('busy') && this.#hadFocus) this.querySelector<HTMLElement>('.round')?.focus()
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('busy')) this.#hadFocus = this.querySelector('.round') === document.activeElement
  }

  #hadFocus = false

  #onKey(event: KeyboardEvent): void {
    if (sends(event)) this.#onSubmit(event)
  }

  /** A click anywhere in the composer focuses the field. */
  #onClick(event: Event): void {
    if (event.target === event.currentTarget) this.focus()
  }

  #onSubmit(event: Event): void {
    event.preventDefault()
    const area = this.querySelector('textarea')
    const text = area?.value.trim() ?? ''
    if (area === null || text === '' || !this.ready || this.busy) return
    area.value = ''
    this.#fit()
    this.dispatchEvent(new CustomEvent('send', { detail: text }))
  }

  /** Grows with its text in browsers whose CSS cannot do it. */
  #fit(): void {
    const area = this.querySelector('textarea')
    if (area === null || CSS.supports('field-sizing', 'content')) return
    area.style.height = 'auto'
    area.style.height = `${area.scrollHeight + 2}px`
  }

  #stop(): void {
    this.dispatchEvent(new CustomEvent('stop'))
  }
}

customElements.define('chat-composer', ChatComposer)
