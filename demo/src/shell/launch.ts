// Launching. In: how the page was opened, by an installed app's shortcut, share target or file handler. Out:
// what to do first.

export type Launch =
  | { readonly kind: 'new' }
  | { readonly kind: 'models' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'files'; readonly files: readonly File[] }

/** Chromium's launch queue of an installed page, also used while it is open. */
interface LaunchQueue {
  setConsumer(
    consumer: (params: {
      readonly files?: readonly FileSystemFileHandle[]
      readonly targetURL?: string
    }) => void,
  ): void
}

/** The installed page's shortcut or share target that an address means; undefined for a plain visit. */
export function launchOf(address: string): Launch | undefined {
  const { searchParams } = new URL(address)
  const shared = ['title', 'text', 'url'].map((name) => searchParams.get(name)?.trim() ?? '')
  const text = [...new Set(shared)].filter((part) => part !== '').join('\n')
  if (text !== '') return { kind: 'text', text }
  if (searchParams.has('new')) return { kind: 'new' }
  return searchParams.has('models') ? { kind: 'models' } : undefined
}

/** Calls `act` for the page's address, which is then reset, and for later launches. */
export function onLaunch(act: (launch: Launch) => void): void {
  const first = location.href
  const begin = (address: string) => {
    const launch = launchOf(address)
    if (launch !== undefined) act(launch)
  }
  begin(first)
  // A reload must not repeat it.
  if (launchOf(first) !== undefined) history.replaceState(history.state, '', location.pathname)
  const { launchQueue } = window as { readonly launchQueue?: LaunchQueue }
  launchQueue?.setConsumer(({ files: handles = [], targetURL = first }) => {
    if (handles.length > 0) {
      void Promise.all(handles.map((handle) => handle.getFile())).then((files) =>
        act({ kind: 'files', files }),
      )
    } else if (targetURL !== first) begin(targetURL)
  })
}
