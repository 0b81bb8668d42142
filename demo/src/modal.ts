// Modals. In: a dialog's content. Out: an element that opens it over the page and closes it by button, Escape or backdrop.
import { html, LitElement, type PropertyValues, type TemplateResult } from 'lit'
import { icon } from './icons.ts'
import { nextTask } from './tasks.ts'

/** Renders into the page's own tree, so that one style sheet serves all. The browser keeps and returns the focus. */
export abstract class Modal extends LitElement {
  static override properties = { isOpen: { state: true } }
  declare isOpen: boolean

  constructor() {
    super()
    this.isOpen = false
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  /** Shows the dialog, which is rendered first: it is empty while closed. */
  async open(): Promise<void> {
    this.isOpen = true
    await this.updateComplete
    // The browser lays it out when it is shown, for the focus.
    await nextTask()
    if (this.isOpen) this.#dialog?.showModal()
  }

  protected close(): void {
    this.#dialog?.close()
  }

  /** Its title, and its content below that. */
  protected abstract heading: string
  protected abstract content(): TemplateResult
  /** A class for the dialog. */
  protected kind = 'sheet'

  protected override render(): TemplateResult {
    const id = `${this.localName}-title`
    return html`<dialog class=${this.kind} aria-labelledby=${id} @close=${this.#onClose} @click=${this.#onClick}>
      ${
        this.isOpen
          ? html`<div class="sheet-page">
            <header class="heading">
              <h2 id=${id}>${this.heading}</h2>
              <button class="quiet" aria-label="Close ${this.heading.toLowerCase()}" @click=${this.close}>${icon('close')}</button>
            </header>
            ${this.content()}
          </div>`
          : ''
      }
    </dialog>`
  }

  protected override shouldUpdate(changed: PropertyValues): boolean {
    return this.isOpen || changed.has('isOpen')
  }

  get #dialog(): HTMLDialogElement | null {
    return this.querySelector('dialog')
  }

  #onClose(): void {
    this.isOpen = false
  }

  /** The backdrop belongs to the dialog, all of whose inside is the page. */
  #onClick(event: Event): void {
    if (event.target === this.#dialog) this.close()
  }
}
