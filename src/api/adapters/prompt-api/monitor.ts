// Download monitors. In: shares of a download. Out: events, as a page's monitor gets them.
import type { DownloadMonitor } from './input.ts'

/**
 * Calls an event's handler attribute as browsers do: its error is reported and ends nothing, and a value that
 * is no function is ignored.
 */
export function callHandler(target: EventTarget, type: string, handler: () => unknown): void {
  EventTarget.prototype.addEventListener.call(target, type, (event) => {
    const call = handler()
    if (typeof call === 'function') Reflect.apply(call, target, [event])
  })
}

/** `loaded` is a fraction of 1, as in the API. */
export class MonitorTarget extends EventTarget implements DownloadMonitor {
  ondownloadprogress: ((event: ProgressEvent) => unknown) | null = null
  #last = -1

  constructor() {
    super()
    callHandler(this, 'downloadprogress', () => this.ondownloadprogress)
  }

  /** Every event of this target is a ProgressEvent. */
  override addEventListener(
    ...[type, listener, options]: Parameters<DownloadMonitor['addEventListener']>
  ): void {
    super.addEventListener(type, listener as EventListenerOrEventListenerObject | null, options)
  }

  /** Says nothing twice. */
  report(share: number): void {
    if (share === this.#last) return
    this.#last = share
    const progress = { loaded: share, total: 1, lengthComputable: true }
    this.dispatchEvent(Object.assign(new Event('downloadprogress'), progress))
  }
}
