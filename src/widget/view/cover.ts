// The cover. In: a bubble that is open on a phone, its keyboard. Out: a panel of the visible size, which
// keeps the focus, since it covers the page.
import type { ReactiveController, ReactiveControllerHost } from 'lit'

/** The width up to which the panel covers the page. The style sheet has the same value. */
const PHONE = '(max-width: 480px)'

export class Cover implements ReactiveController {
  readonly #host: ReactiveControllerHost & HTMLElement
  readonly #isOpen: () => boolean
  readonly #refocus: () => void
  readonly #phone = window.matchMedia(PHONE)
  #listening = new AbortController()

  /** `isOpen`: whether the panel is one that opens, and is open. */
  constructor(host: ReactiveControllerHost & HTMLElement, isOpen: () => boolean, refocus: () => void) {
    this.#host = host
    this.#isOpen = isOpen
    this.#refocus = refocus
    host.addController(this)
  }

  /** True while the panel covers the page. */
  get isCovering(): boolean {
    return this.#isOpen() && this.#phone.matches
  }

  hostConnected(): void {
    this.#listening = new AbortController()
    const { signal } = this.#listening
    this.#phone.addEventListener('change', () => this.#host.requestUpdate(), { signal })
    for (const name of ['resize', 'scroll'])
      window.visualViewport?.addEventListener(name, () => this.hostUpdated(), { signal })
  }

  hostDisconnected(): void {
    this.#listening.abort()
  }

  /** A keyboard covers a part of the page that style sheets of some browsers do not know of. */
  hostUpdated(): void {
    const panel = this.#panel
    const { visualViewport: visible } = window
    if (panel === null || visible === null) return
    const isFitted = this.isCovering && visible.scale === 1
    panel.style.height = isFitted ? `${visible.height}px` : ''
    panel.style.top = isFitted ? `${visible.offsetTop}px` : ''
  }

  /** Takes back the focus that leaves for the covered page. */
  readonly onFocusOut = ({ relatedTarget: next }: FocusEvent): void => {
    if (!this.isCovering || !(next instanceof Node)) return
    if (this.#host.contains(next) && next !== this.#host) return
    if (this.#panel?.contains(next) !== true) this.#refocus()
  }

  get #panel(): HTMLElement | null {
    return this.#host.shadowRoot?.querySelector<HTMLElement>('.panel') ?? null
  }
}
