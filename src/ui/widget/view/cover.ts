// The cover. In: an open bubble on a phone, the on-screen keyboard. Out: a panel of the visible size that
// traps focus, because it covers the page.
import type { ReactiveController, ReactiveControllerHost } from 'lit'

/** The width in pixels up to which the panel covers the page. The style sheet has the same value. */
const PHONE = 480

const EVENTS = ['resize', 'scroll'] as const

export class Cover implements ReactiveController {
  readonly #host: ReactiveControllerHost & HTMLElement
  readonly #isOpen: () => boolean
  readonly #refocus: () => void

  /** `isOpen`: whether this is a bubble whose panel is open. */
  constructor(host: ReactiveControllerHost & HTMLElement, isOpen: () => boolean, refocus: () => void) {
    this.#host = host
    this.#isOpen = isOpen
    this.#refocus = refocus
    host.addController(this)
  }

  /** True while the panel covers the page. */
  get isCovering(): boolean {
    return this.#isOpen() && innerWidth <= PHONE
  }

  hostConnected(): void {
    for (const name of EVENTS) window.visualViewport?.addEventListener(name, this.#onChange)
  }

  hostDisconnected(): void {
    for (const name of EVENTS) window.visualViewport?.removeEventListener(name, this.#onChange)
  }

  /** The keyboard covers part of the page, which style sheets cannot detect in some browsers. */
  hostUpdated(): void {
    const panel = this.#panel
    const { visualViewport } = window
    if (!panel || !visualViewport) return
    const { height, offsetTop, scale } = visualViewport
    const isFitted = this.isCovering && scale === 1
    panel.style.height = isFitted ? `${height}px` : ''
    panel.style.top = isFitted ? `${offsetTop}px` : ''
  }

  /** Takes back focus that moves to the covered page. */
  readonly onFocusOut = ({ relatedTarget: next }: FocusEvent): void => {
    if (!this.isCovering || !(next instanceof Node)) return
    const isInside = this.#panel?.contains(next) || (next !== this.#host && this.#host.contains(next))
    if (!isInside) this.#refocus()
  }

  readonly #onChange = (): void => this.#host.requestUpdate()

  get #panel(): HTMLElement | null | undefined {
    return this.#host.shadowRoot?.querySelector<HTMLElement>('.panel')
  }
}
