// Installing. In: the browser's offer to install the page. Out: whether there is one, and a way to accept it.

interface InstallEvent extends Event {
  prompt(): Promise<{ readonly outcome: 'accepted' | 'dismissed' }>
}

let offer: InstallEvent | undefined
const listeners = new Set<() => void>()

function set(next: InstallEvent | undefined): void {
  offer = next
  for (const listener of listeners) listener()
}

/** Call once, early: browsers make their offer soon after the page has loaded. */
export function awaitOffer(): void {
  window.addEventListener('beforeinstallprompt', (event) => {
    // The page offers it in its settings, not with a banner over the conversation.
    event.preventDefault()
    set(event as InstallEvent)
  })
  window.addEventListener('appinstalled', () => set(undefined))
}

export const canInstall = (): boolean => offer !== undefined

/** Calls `listener` when that changes, until the returned function is called. */
export function onOffer(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** An offer can be accepted only once. */
export async function install(): Promise<void> {
  const taken = offer
  set(undefined)
  await taken?.prompt()
}
