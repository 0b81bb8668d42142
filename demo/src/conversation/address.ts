// The page's address. In: the open conversation, and the browser's Back and Forward. Out: an address per
// conversation, so that a reload, a bookmark or another tab opens it again.
import type { ReactiveController, ReactiveControllerHost } from 'lit'
import type { Conversation } from './store/conversations.ts'

/** The address of a conversation, relative to the page. */
export const addressOf = (id: string): string => `#${encodeURIComponent(id)}`

/** The id in the page's address; empty if there is none. */
export function addressedId(): string {
  try {
    return decodeURIComponent(location.hash.slice(1))
  } catch {
    // Users may type anything there.
    return ''
  }
}

/** Keeps the address and the open conversation in sync. */
export class ConversationAddress implements ReactiveController {
  /** The conversation that the address refers to. */
  #followed: string | undefined
  readonly #open: (id: string) => void

  /** `open` gets the id of the address that the user navigates to; empty for a new conversation. */
  constructor(host: ReactiveControllerHost, open: (id: string) => void) {
    this.#open = open
    host.addController(this)
  }

  readonly #onAddress = (): void => {
    this.#followed = undefined
    this.#open(addressedId())
  }

  hostConnected(): void {
    window.addEventListener('popstate', this.#onAddress)
  }

  hostDisconnected(): void {
    window.removeEventListener('popstate', this.#onAddress)
  }

  /**
   * A conversation gets its address with its first message. Only a change of conversation adds a history
   * entry.
   */
  follow({ id, messages }: Conversation): void {
    const isOther = this.#followed !== undefined && this.#followed !== id
    this.#followed = id
    const named = messages.length === 0 ? '' : id
    if (named === addressedId()) return
    const address = named === '' ? location.pathname + location.search : addressOf(named)
    if (isOther) history.pushState(undefined, '', address)
    else history.replaceState(history.state, '', address)
  }
}
