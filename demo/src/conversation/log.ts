// The log. In: a conversation. Out: its messages, with the growing end in view until the person scrolls up.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { repeat } from 'lit/directives/repeat.js'
import { icon } from '../shell/icons.ts'
import { Speaks, t } from '../words/words.ts'
import type { ChatMessage } from './message.ts'
import { Opening } from './opening.ts'
import { Repaint } from './render/repaint.ts'
import type { Conversation } from './store/conversations.ts'

/** Distance from the end, in pixels, within which scrolling down means going to the end. */
const NEAR = 64
/** Screens above the visible part that are rendered. The rest follows when the person comes near. */
const AHEAD = 2
/** Distance from the end that still counts as the end, since browsers round. */
const AT_END = 4

export class ChatLog extends LitElement {
  static override properties = {
    conversation: { attribute: false },
    model: { type: String },
    welcome: { attribute: false },
    busy: { type: Boolean },
    streaming: { type: Boolean },
    following: { state: true },
  }
  declare conversation: Conversation
  /** Name of the model that answers next. */
  declare model: string
  /** Shown while the conversation is empty. */
  declare welcome: TemplateResult | typeof nothing
  /** True while the model cannot be asked anything. */
  declare busy: boolean
  /** True while the last message grows. */
  declare streaming: boolean
  declare following: boolean
  /** How much of an opened conversation is shown: its end first, and more with each frame. */
  #opening = new Opening([])
  readonly #earlier = new Repaint(
    () => this.#showEarlier(),
    (ms) => {
      this.#opening.took(ms)
      this.#askEarlier()
    },
  )
  readonly #sizes = new ResizeObserver(() => this.#stayAtEnd())
  /** Scroll position when it was last checked. */
  #top = 0

  constructor() {
    super()
    new Speaks(this)
    this.following = true
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  /** Scrolls to the end in the next frame, after layout, and stays there. */
  toEnd(): void {
    this.following = true
    requestAnimationFrame(() => this.#stayAtEnd())
  }

  protected override render(): TemplateResult {
    const { id, messages } = this.conversation
    const isMixed = this.#isMixed
    const places = [...messages.keys()].slice(this.#opening.first)
    return html`<main class="log" tabindex="0" aria-label=${t('conversation')} @scroll=${this.#onScroll}>
      <div class="log-inside">
        ${
          messages.length === 0
            ? this.welcome
            : keyed(
                id,
                repeat(places, String, (index) => this.#message(index, isMixed)),
              )
        }
      </div>
    </main>
    ${
      this.following || messages.length === 0
        ? nothing
        : html`<button class="to-end" aria-label=${t('toEnd')} @click=${this.toEnd}>${icon('down')}</button>`
    }`
  }

  /** True if not every answer is by the model that the page names. */
  get #isMixed(): boolean {
    return this.conversation.messages.some(({ model }) => model !== undefined && model !== this.model)
  }

  #message(index: number, isMixed: boolean): TemplateResult {
    const { messages } = this.conversation
    const isLast = index === messages.length - 1
    return html`<chat-message .message=${messages[index]} ?mixed=${isMixed} ?last=${isLast} ?busy=${this.busy || this.streaming}
      ?streaming=${this.streaming && isLast} .tail=${this.#opening.tail(index)} data-index=${index}></chat-message>`
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get('conversation')
    const { id, messages } = this.conversation
    if (changed.has('conversation') && before?.id !== id) {
      this.#opening = new Opening(messages)
      if (!this.#opening.isWhole)
        void customElements.whenDefined('chat-message').then(() => this.#askEarlier())
    }
    this.#opening.follow(messages)
  }

  /** Shows more if the person might soon see the beginning of what is shown. */
  #askEarlier(): void {
    const log = this.querySelector('.log')
    if (this.#opening.isWhole || log === null || log.scrollTop > AHEAD * log.clientHeight) return
    this.#earlier.request()
  }

  async #showEarlier(): Promise<void> {
    const log = this.querySelector('.log')
    const left = log === null ? 0 : log.scrollHeight - log.scrollTop
    const message = this.querySelector<ChatMessage>(`[data-index="${this.#opening.first}"]`)
    this.#opening.advance((ms) => message?.read(ms) ?? true)
    this.requestUpdate()
    await this.updateComplete
    await message?.updateComplete
    if (this.following || log === null) return this.follow()
    // What the person reads stays where it is.
    log.scrollTop = log.scrollHeight - left
    this.#top = log.scrollTop
  }

  protected override firstUpdated(): void {
    for (const part of this.querySelectorAll('.log, .log-inside')) this.#sizes.observe(part)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#sizes.disconnect()
  }

  /** Messages render themselves. The log is complete when the newest message is. */
  protected override async getUpdateComplete(): Promise<boolean> {
    const isComplete = await super.getUpdateComplete()
    await this.querySelector<LitElement>('.log-inside > :last-of-type')?.updateComplete
    return isComplete
  }

  /**
   * Stays at the end unless the person has just scrolled up, which the scroll event reports only with the
   * next frame.
   */
  follow(): void {
    const { scrollTop = 0 } = this.querySelector('.log') ?? {}
    if (scrollTop >= this.#top) this.#stayAtEnd()
  }

  #stayAtEnd(): void {
    const log = this.querySelector('.log')
    if (log === null || !this.following) return
    // The first screen has its beginning above, and no end to follow.
    log.scrollTop = this.conversation.messages.length === 0 ? 0 : log.scrollHeight
    this.#top = log.scrollTop
  }

  /** Only scrolling up leaves the end: an opening keyboard shrinks the log without scrolling it. */
  #onScroll(event: Event): void {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget as HTMLElement
    const left = scrollHeight - scrollTop - clientHeight
    if (scrollTop < this.#top) this.following = left < AT_END
    else if (left < NEAR) this.following = true
    this.#top = scrollTop
    this.#askEarlier()
  }
}

customElements.define('chat-log', ChatLog)
