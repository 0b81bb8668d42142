// Conversations. In: their list. Out: events `fresh`, `open` and `remove`, from a drawer on phones or a side
// bar.
import { html, LitElement, type TemplateResult } from 'lit'
import type { Conversation } from '../conversation/store/conversations.ts'
import { icon } from './icons.ts'
import { Modal } from './modal.ts'
import { nextTask } from './tasks.ts'

/** The list itself. Its events bubble. */
export class ConversationList extends LitElement {
  static override properties = {
    conversations: { attribute: false },
    current: { type: String },
    doomed: { state: true },
  }
  declare conversations: readonly Conversation[]
  declare current: string
  /** The conversation that the person is asked to confirm the deletion of. */
  declare doomed: string | undefined

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  protected override render(): TemplateResult {
    return html`
      <button class="outline wide" @click=${() => this.#emit('fresh')}>${icon('plus')}New chat</button>
      <ul class="list">${this.conversations.map((conversation) => this.#row(conversation))}</ul>
      ${this.conversations.length === 0 ? html`<p class="hint">Your conversations are kept here, on this device.</p>` : ''}
    `
  }

  #row({ id, title }: Conversation): TemplateResult {
    if (id === this.doomed) {
      return html`<li class="asking" @keydown=${this.#onKey}>
        <span>Delete this?</span>
        <button class="danger" aria-label="Delete ${title} for good" @click=${() => this.#remove(id)}>Delete</button>
        <button @click=${() => this.#spare(id)}>Keep</button>
      </li>`
    }
    return html`<li data-id=${id}>
      <button class="choice" dir="auto" aria-current=${id === this.current} @click=${() => this.#emit('open', id)}>${title}</button>
      <button class="quiet" aria-label="Delete ${title}" @click=${() => this.#doom(id)}>${icon('trash')}</button>
    </li>`
  }

  async #doom(id: string): Promise<void> {
    this.doomed = id
    await this.updateComplete
    this.querySelector<HTMLElement>('.asking button:last-child')?.focus()
  }

  async #spare(id: string): Promise<void> {
    this.doomed = undefined
    await this.updateComplete
    this.querySelector<HTMLElement>(`[data-id="${id}"] .quiet`)?.focus()
  }

  #remove(id: string): void {
    this.doomed = undefined
    this.#emit('remove', id)
    this.querySelector('button')?.focus()
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || this.doomed === undefined) return
    // The first Escape closes the question, the next one the drawer.
    event.preventDefault()
    void this.#spare(this.doomed)
  }

  #emit(name: string, detail?: string): void {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }))
  }
}

/** The same list as a drawer over the page. */
export class ConversationDrawer extends Modal {
  static override properties = {
    ...Modal.properties,
    conversations: { attribute: false },
    current: { type: String },
  }
  declare conversations: readonly Conversation[]
  declare current: string
  protected override heading = 'Conversations'
  protected override kind = 'drawer'

  protected override pieces(): readonly TemplateResult[] {
    return [
      html`<conversation-list .conversations=${this.conversations} current=${this.current}
        @fresh=${this.close} @open=${this.#closeNext}></conversation-list>`,
    ]
  }

  /**
   * Closing causes layout, which must not share a task with rendering another conversation. Until then, taps
   * are ignored.
   */
  async #closeNext(): Promise<void> {
    await nextTask()
    this.close()
  }
}

customElements.define('conversation-list', ConversationList)
customElements.define('conversation-drawer', ConversationDrawer)
