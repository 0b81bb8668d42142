// The log. In: a conversation. Out: its messages, following the streaming end until the user scrolls up.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { repeat } from 'lit/directives/repeat.js'
import { Log } from '../../../src/ui/chat/log.ts'
import { allWords, Speaks, t } from '../words/words.ts'
import type { ChatMessage, MessageActs } from './message.ts'
import { Opening } from './opening.ts'
import { Repaint } from './render/repaint.ts'
import type { Conversation, StoredMessage } from './store/conversations.ts'

/** Number of screens rendered above the visible part. The rest follows when the user scrolls near. */
const AHEAD = 2

export class ChatLog extends LitElement {
  static override properties = {
    conversation: { attribute: false },
    model: { type: String },
    welcome: { attribute: false },
    acts: { attribute: false },
    busy: { type: Boolean },
    streaming: { type: Boolean },
  }
  declare conversation: Conversation
  /** Name of the model for the next answer. */
  declare model: string
  /** Shown while the conversation is empty. */
  declare welcome: TemplateResult | typeof nothing
  declare acts: MessageActs
  /** True while no question can be asked. */
  declare busy: boolean
  /** True while the last message is streaming. */
  declare streaming: boolean
  /** How much of an opened conversation is shown: first its end, then more with each frame. */
  #opening = new Opening([])
  readonly #earlier = new Repaint(
    () => this.#showEarlier(),
    (ms) => {
      this.#opening.took(ms)
      this.#askEarlier()
    },
  )
  readonly #log = new Log(this, () => this.#askEarlier())

  constructor() {
    super()
    new Speaks(this)
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override connectedCallback(): void {
    super.connectedCallback()
    window.addEventListener('keydown', this.#onKey, true)
    window.addEventListener('beforeprint', this.#showWhole)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    window.removeEventListener('keydown', this.#onKey, true)
    window.removeEventListener('beforeprint', this.#showWhole)
  }

  /** Scrolls to the end in the next frame, after layout, and stays there. */
  toEnd(): void {
    this.#log.toEnd()
  }

  /** Stays at the end unless the user has scrolled up. */
  follow(): void {
    this.#log.follow()
  }

  protected override render(): TemplateResult {
    const { id, messages } = this.conversation
    const isMixed = this.#isMixed
    const places = [...messages.keys()].slice(this.#opening.first)
    const seenFrom = messages.findLast(({ model }) => model !== undefined)?.seenFrom || -1
    return this.#log.view({
      words: allWords(),
      role: 'main',
      hasMessages: messages.length > 0,
      content:
        messages.length === 0
          ? this.welcome
          : keyed(
              id,
              repeat(places, String, (index) => this.#message(index, isMixed, index === seenFrom)),
            ),
    })
  }

  /** True if some answers or versions are from models other than the one named by the page. */
  get #isMixed(): boolean {
    const isOther = ({ model }: StoredMessage) => model !== undefined && model !== this.model
    return this.conversation.messages.some(
      (message) =>
        isOther(message) || message.others?.some(([first]) => first !== undefined && isOther(first)),
    )
  }

  /** `isFirstSeen`: the model no longer sees the messages above. */
  #message(index: number, isMixed: boolean, isFirstSeen: boolean): TemplateResult {
    const { messages } = this.conversation
    const isLast = index === messages.length - 1
    return html`${isFirstSeen ? html`<p class="unseen">${t('unseen')}</p>` : nothing}<chat-message .message=${messages[index]} ?mixed=${isMixed} ?last=${isLast} ?busy=${this.busy || this.streaming}
      ?streaming=${this.streaming && isLast} .tail=${this.#opening.tail(index)}
      .index=${index} .acts=${this.acts}></chat-message>`
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

  /** Shows more if the user is close to the top of the rendered part. */
  #askEarlier(): void {
    const log = this.#log.element
    if (this.#opening.isWhole || log === null || log.scrollTop > AHEAD * log.clientHeight) return
    this.#earlier.request()
  }

  async #showEarlier(): Promise<void> {
    const log = this.#log.element
    const left = log === null ? 0 : log.scrollHeight - log.scrollTop
    const message = this.querySelector<ChatMessage>('chat-message')
    this.#opening.advance((ms) => message?.read(ms) ?? true)
    this.requestUpdate()
    await this.updateComplete
    await message?.updateComplete
    if (this.#log.isFollowing) return this.follow()
    // Keeps the visible content in place.
    this.#log.keepBelow(left)
  }

  /**
   * Before a page search, or a jump to the beginning, the whole conversation must be rendered.
   */
  readonly #onKey = (event: KeyboardEvent): void => {
    const isSearch = event.code === 'KeyF' && (event.ctrlKey || event.metaKey)
    const isField = event.composedPath().some((each) => each instanceof HTMLTextAreaElement)
    if (isSearch || (event.key === 'Home' && !isField)) this.#showWhole()
  }

  /** Renders in the event's own task, because a browser prints what is rendered when the event ends. */
  readonly #showWhole = (): void => {
    if (this.#opening.isWhole) return
    const log = this.#log.element
    const left = log === null ? 0 : log.scrollHeight - log.scrollTop
    this.#opening.finish()
    this.requestUpdate()
    this.performUpdate()
    for (const message of this.querySelectorAll<ChatMessage>('chat-message')) message.showNow()
    if (this.#log.isFollowing) this.follow()
    else this.#log.keepBelow(left)
  }

  /** Messages render themselves. The log is up to date once the newest message is. */
  protected override async getUpdateComplete(): Promise<boolean> {
    const isComplete = await super.getUpdateComplete()
    await this.querySelector<LitElement>('.log-inside > chat-message:last-of-type')?.updateComplete
    return isComplete
  }
}

customElements.define('chat-log', ChatLog)
