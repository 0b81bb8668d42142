// Modals. In: a dialog's content. Out: an element that opens it over the page and closes it by button, Escape or backdrop.
import { html, LitElement, type PropertyValues, type TemplateResult } from 'lit'
import { icon } from './icons.ts'
import { nextTask } from './tasks.ts'

/** Renders into the page's own tree, so that one style sheet serves all. The browser keeps and returns the focus. */
export abstract class Modal extends LitElement {
  static override properties = { isOpen: { state: true }, shown: { state: true } }
  declare isOpen: boolean
  /** Pieces of the content that are there. */
  declare shown: number
  /** True once all of them were rendered. */
  #isFilled = true

  constructor() {
    super()
    this.isOpen = false
    this.shown = 0
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  /** Opens the dialog at once and fills it piece by piece, each laid out in a task of its own; then it can be seen. */
  async open(): Promise<void> {
    if (this.#dialog?.open) return
    this.isOpen = true
    this.shown = 0
    await this.updateComplete
    this.#dialog?.showModal()
    while (this.isOpen && !this.#isFilled) {
      await nextTask()
      this.shown++
      await this.updateComplete
      this.#dialog?.getBoundingClientRect()
    }
  }

  protected close(): void {
    this.#dialog?.close()
  }

  /** Its title, and its content below that in pieces that are laid out fast. */
  protected abstract heading: string
  protected abstract pieces(): readonly TemplateResult[]
  /** What stands around the pieces. */
  protected around(pieces: readonly TemplateResult[]): unknown {
    return pieces
  }
  /** A class for the dialog. */
  protected kind = 'sheet'

  protected override render(): TemplateResult {
    const id = `${this.localName}-title`
    const pieces = this.isOpen ? this.pieces() : []
    this.#isFilled = this.shown >= pieces.length
    return html`<dialog class="${this.kind}${this.#isFilled ? '' : ' filling'}" aria-labelledby=${id} @close=${this.#onClose} @click=${this.#onClick}>
      ${
        this.isOpen
          ? html`<div class="sheet-page">
            <header class="heading">
              <h2 id=${id}>${this.heading}</h2>
              <button class="quiet" aria-label="Close ${this.heading.toLowerCase()}" @click=${this.close}>${icon('close')}</button>
            </header>
            ${this.around(pieces.slice(0, this.shown))}
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

  /** Comes with a frame, which has enough to do. It may have been opened again before this came. */
  async #onClose(): Promise<void> {
    await nextTask()
    this.isOpen = this.#dialog?.open ?? false
  }

  /** The backdrop belongs to the dialog, all of whose inside is the page. */
  #onClick(event: Event): void {
    if (event.target === this.#dialog) this.close()
  }
}
