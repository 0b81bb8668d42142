// Modals. In: a dialog's content. Out: an element that opens it over the page and closes it by button, Escape
// or a click on the backdrop.
import { html, LitElement, type PropertyValues, type TemplateResult } from 'lit'
import { language, Speaks, t, type Word } from '../words/words.ts'
import { icon } from './icons.ts'
import { nextTask } from './tasks.ts'

/** A heading as part of a sentence. Only in English is it certain to be lower case there. */
const inSentence = (heading: string): string => (language() === 'en' ? heading.toLowerCase() : heading)

/**
 * Renders into the page's own tree, so that one style sheet covers everything. The browser saves and restores
 * the focus.
 */
export abstract class Modal extends LitElement {
  static override properties = { isOpen: { state: true }, shown: { state: true } }
  declare isOpen: boolean
  /** Number of rendered pieces of the content. */
  declare shown: number
  /** True once all pieces were rendered. */
  #isFilled = true

  constructor() {
    super()
    new Speaks(this)
    this.isOpen = false
    this.shown = 0
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  /** Opens the dialog at once, renders each piece in its own task, and then makes the dialog visible. */
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

  /** The content below the title, in pieces that are each quick to lay out. */
  protected abstract heading: Word
  protected abstract pieces(): readonly TemplateResult[]
  /** Wraps the pieces in their container. */
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
            <div class="heading">
              <h2 id=${id}>${t(this.heading)}</h2>
              <button class="quiet" aria-label=${t('closeName', { name: inSentence(t(this.heading)) })} @click=${this.close}>${icon('close')}</button>
            </div>
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

  /**
   * The event arrives during a busy frame, so it is handled in the next task. The dialog may be open again by
   * then.
   */
  async #onClose(): Promise<void> {
    await nextTask()
    this.isOpen = this.#dialog?.open ?? false
  }

  /** Only clicks on the backdrop hit the dialog element itself, because its content covers the rest. */
  #onClick(event: Event): void {
    if (event.target === this.#dialog) this.close()
  }
}
