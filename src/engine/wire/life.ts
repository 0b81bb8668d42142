// Life messages. In: nothing. Out: what a page and its engine worker tell each other to notice an end.

import type { HostAssets } from '../host.ts'

/**
 * Messages beside Comlink's. The page names a lock; the worker takes it for its whole life and confirms.
 * Browsers do not report that a worker closed itself or was killed, but they release its locks.
 */
export type LifeMessage =
  | { readonly type: 'hold'; readonly lock: string }
  | { readonly type: 'held' }
  | { readonly type: 'ping' | 'pong' }
  /** The worker's module will be needed. */
  | { readonly type: 'prepare'; readonly assets: HostAssets }
  /** A message arrived that could not be read. It may have been any pending call. */
  | { readonly type: 'unread' }
  /** From the script that was to import the worker's own. */
  | { readonly type: 'missing' }
