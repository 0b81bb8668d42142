// Adds up the bytes of concurrent downloads, and estimates the rate and the remaining time.
import { steadyClock } from '../../base/time/clocks.ts'
import type { Retry } from './retry.ts'

/** Progress of a download, in bytes. `total` is 0 if the server does not report it. */
export interface DownloadProgress {
  readonly phase: 'download'
  /** Bytes received so far, including those already on this device. */
  readonly loaded: number
  /** Bytes of all files; 0 if the server does not report the size. */
  readonly total: number
  /** True if every byte came from this device. */
  readonly cached: boolean
  /** Recent rate in bytes per second; absent until something has arrived. */
  readonly bytesPerSecond?: number
  /** Estimated seconds until the download ends at that rate; absent if that is unknown. */
  readonly secondsLeft?: number
  /** The next attempt of a failed request: its number, when, and why. Absent if none is waiting. */
  readonly retry?: Retry
}

/** Time over which the rate is averaged: long enough to be steady, short enough to follow changes. */
const WINDOW_MS = 5000

export class Tally {
  readonly #report: ((progress: DownloadProgress) => void) | undefined
  readonly #now: () => number
  /** `isSized` is false if the server does not send the size. */
  readonly #files: { loaded: number; total: number; isSized: boolean }[] = []
  /** Bytes received from the network, at several times in the window; the oldest first. */
  readonly #marks: { readonly at: number; readonly bytes: number }[] = []
  /** Requests that wait to be retried, and when that will be. */
  readonly #waiting = new Set<{ readonly retry: Retry; readonly until: number }>()
  #fetched = 0
  #cached = true
  /** Files that have not started. Each is assumed to be as long as the longest file that has. */
  left = 0

  constructor(report: ((progress: DownloadProgress) => void) | undefined, now = () => performance.now()) {
    this.#report = report
    this.#now = steadyClock(now)
  }

  /** Adds a file that need not be fetched. */
  stored(size: number): void {
    this.#files.push({ loaded: size, total: size, isSized: true })
    this.#emit()
  }

  /** Returns a progress callback for another file. Bytes in its first call count as already stored. */
  file(): (loaded: number, total: number) => void {
    const file = { loaded: 0, total: 0, isSized: true }
    this.#files.push(file)
    return (loaded, total) => {
      this.#cached = false
      this.#mark(loaded - file.loaded)
      file.loaded = loaded
      file.total = Math.max(total, loaded)
      file.isSized = total > 0
      this.#emit()
    }
  }

  /**
   * Reports that a request is being retried, and keeps reporting it while others receive bytes. Call the
   * returned function when the wait is over.
   */
  retry(retry: Retry): () => void {
    this.#cached = false
    const waiting = { retry, until: this.#now() + retry.waitMs }
    this.#waiting.add(waiting)
    this.#emit()
    return () => {
      this.#waiting.delete(waiting)
      this.#emit()
    }
  }

  /** The next retry, with the time left. */
  #nextRetry(): Retry | undefined {
    const [first] = [...this.#waiting].sort((a, b) => a.until - b.until)
    if (first === undefined) return undefined
    return { ...first.retry, waitMs: Math.max(0, Math.round(first.until - this.#now())) }
  }

  #mark(bytes: number): void {
    const at = this.#now()
    this.#fetched += bytes
    this.#marks.push({ at, bytes: this.#fetched })
    while (this.#marks.length > 2 && at - this.#marks[1]!.at > WINDOW_MS) this.#marks.shift()
  }

  #emit(): void {
    const retry = this.#nextRetry()
    const sum = (of: 'loaded' | 'total') => this.#files.reduce((all, file) => all + file[of], 0)
    const loaded = sum('loaded')
    const total = sum('total')
    const first = this.#marks[0]
    const last = this.#marks.at(-1)
    const seconds = first === undefined || last === undefined ? 0 : (last.at - first.at) / 1000
    const bytesPerSecond = seconds > 0 ? (last!.bytes - first!.bytes) / seconds : 0
    const rest = this.left * Math.max(...this.#files.map((file) => file.total))
    const isSized = this.#files.every((file) => file.isSized)
    this.#report?.({
      phase: 'download',
      loaded,
      total,
      cached: this.#cached,
      ...(bytesPerSecond > 0 && { bytesPerSecond }),
      ...(retry && { retry }),
      ...(bytesPerSecond > 0 && isSized && { secondsLeft: (total - loaded + rest) / bytesPerSecond }),
    })
  }
}
