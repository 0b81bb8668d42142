// The log. In: the messages of a conversation. Out: a scrolling area that follows the streaming end until the
// user scrolls up.
import { html, nothing, type ReactiveController, type TemplateResult } from 'lit'
import type { CommonWords } from '../words/english.ts'
import type { ChatHost } from './composer.ts'
import { icon } from './icons.ts'

interface LogView {
  readonly words: CommonWords
  readonly role: 'main' | 'log'
  /** False on the welcome screen, which starts at the top and has no end to follow. */
  readonly hasMessages: boolean
  readonly content: unknown
}

/** Distance from the end, in pixels, within which scrolling down snaps to the end. */
const NEAR = 64
/** Distance from the end that still counts as the end, because browsers round. */
const AT_END = 4

export class Log implements ReactiveController {
  readonly #host: ChatHost
  readonly #onScrolled: () => void
  /** Absent in unit tests, whose documents have no layout. */
  readonly #sizes: ResizeObserver | undefined
  #isFollowing = true
  #hasMessages = false
  #watched: Element | null = null
  /** Scroll position when it was last checked. */
  #top = 0

  /** `onScrolled` is called after each scroll. */
  constructor(host: ChatHost, onScrolled: () => void = () => undefined) {
    this.#host = host
    this.#onScrolled = onScrolled
    if (globalThis.ResizeObserver) this.#sizes = new ResizeObserver(() => this.#stayAtEnd())
    host.addController(this)
  }

  get element(): HTMLElement | null {
    return this.#host.renderRoot.querySelector('.log')
  }

  /** True while the end stays in view. */
  get isFollowing(): boolean {
    return this.#isFollowing
  }

  /** Scrolls to the end in the next frame, after layout, and stays there. */
  toEnd(): void {
    this.#follow(true)
    requestAnimationFrame(() => this.#stayAtEnd())
  }

  /**
   * Stays at the end unless the user has just scrolled up; the scroll event reports that only in the next
   * frame.
   */
  follow(): void {
    const { scrollTop = 0 } = this.element ?? {}
    if (scrollTop >= this.#top) this.#stayAtEnd()
  }

  /** Keeps the visible content in place after something was added above it. */
  keepBelow(pixels: number): void {
    const { element } = this
    if (element === null) return
    element.scrollTop = element.scrollHeight - pixels
    this.#top = element.scrollTop
  }

  hostConnected(): void {
    this.hostUpdated()
  }

  hostUpdated(): void {
    const { element } = this
    if (element === this.#watched || element === null) return
    this.#watched = element
    for (const part of [element, ...element.children]) this.#sizes?.observe(part)
  }

  hostDisconnected(): void {
    this.#sizes?.disconnect()
    this.#watched = null
  }

  view({ words, role, hasMessages, content }: LogView): TemplateResult {
    this.#hasMessages = hasMessages
    return html`<div class="log" part="log" role=${role} aria-live=${role === 'log' ? 'off' : nothing} tabindex="0"
        aria-label=${words.conversation} @scroll=${this.#onScroll}
        @keydown=${this.#onKey}><div class="log-inside">${content}</div></div>
      ${
        this.#isFollowing || !hasMessages
          ? nothing
          : html`<button type="button" class="to-end" aria-label=${words.toEnd} @click=${this.#onToEnd}>${icon('down')}</button>`
      }`
  }

  #follow(isFollowing: boolean): void {
    if (isFollowing === this.#isFollowing) return
    this.#isFollowing = isFollowing
    this.#host.requestUpdate()
  }

  readonly #onToEnd = (): void => {
    this.toEnd()
    // The button disappears, and scrolling keys should work next.
    this.element?.focus()
  }

  /**
   * The browser's own scrolling takes several frames and aims at the initial end, but the end moves as
   * messages get their real heights.
   */
  readonly #onKey = (event: KeyboardEvent): void => {
    const { element } = this
    if (element === null || event.target !== element || (event.key !== 'Home' && event.key !== 'End')) return
    event.preventDefault()
    if (event.key === 'End') this.toEnd()
    else {
      this.#follow(element.scrollHeight - element.clientHeight < AT_END)
      element.scrollTop = 0
      this.#top = 0
    }
  }

  #stayAtEnd(): void {
    const { element } = this
    if (element === null || !this.#isFollowing) return
    element.scrollTop = this.#hasMessages ? element.scrollHeight : 0
    this.#top = element.scrollTop
  }

  /** Only scrolling up stops following: an opening keyboard shrinks the log without scrolling it. */
  readonly #onScroll = (event: Event): void => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget as HTMLElement
    const left = scrollHeight - scrollTop - clientHeight
    if (scrollTop < this.#top) this.#follow(left < AT_END)
    else if (left < NEAR) this.#follow(true)
    this.#top = scrollTop
    this.#onScrolled()
  }
}
