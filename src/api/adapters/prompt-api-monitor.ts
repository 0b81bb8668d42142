// Download monitors. In: shares of a download. Out: events, as a page's monitor gets them.
import type { DownloadMonitor } from './prompt-api-input.ts'

/** `loaded` is a fraction of 1, as in the API. */
export class MonitorTarget extends EventTarget implements DownloadMonitor {
  ondownloadprogress: ((event: ProgressEvent) => unknown) | null = null
  #last = -1

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
    const event = Object.assign(new Event('downloadprogress'), progress)
    this.dispatchEvent(event)
    this.ondownloadprogress?.(event)
  }
}
