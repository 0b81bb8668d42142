// Tally. In: the bytes of files as they come, side by side. Out: their sum, how fast it grows, and how long the rest takes.

/** Bytes, and milliseconds where it says so. */
export interface FetchProgress {
  /** Of all files so far, and of all files whose size is known. */
  readonly loaded: number
  readonly total: number
  /** True when every byte came from storage. */
  readonly cached: boolean
  /** Bytes that came per second of late; absent before anything came. */
  readonly bytesPerSecond?: number
  /** Seconds that the rest will take at that rate; absent where that is unknown. */
  readonly secondsLeft?: number
}

/** What the rate is taken over: long enough to be steady, short enough to follow a train out of a tunnel. */
const WINDOW_MS = 5000

export class Tally {
  readonly #report: ((progress: FetchProgress) => void) | undefined
  readonly #now: () => number
  /** `isSized` is false for one whose server does not say how long it is. */
  readonly #files: { loaded: number; total: number; isSized: boolean }[] = []
  /** Bytes that have come from the network, at some times of the window; the oldest first. */
  readonly #marks: { readonly at: number; readonly bytes: number }[] = []
  #fetched = 0
  #cached = true
  /** Files that have not begun; each counts as long as the longest of those that have. */
  left = 0

  constructor(report: ((progress: FetchProgress) => void) | undefined, now = () => performance.now()) {
    this.#report = report
    this.#now = now
  }

  /** Adds a file that need not be fetched. */
  stored(size: number): void {
    this.#files.push({ loaded: size, total: size, isSized: true })
    this.#emit()
  }

  /** Takes the progress of one more file. What its first call brings was there before. */
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

  #mark(bytes: number): void {
    const at = this.#now()
    this.#fetched += bytes
    this.#marks.push({ at, bytes: this.#fetched })
    while (this.#marks.length > 2 && at - this.#marks[1]!.at > WINDOW_MS) this.#marks.shift()
  }

  #emit(): void {
    const sum = (of: 'loaded' | 'total') => this.#files.reduce((all, file) => all + file[of], 0)
    const [loaded, total] = [sum('loaded'), sum('total')]
    const [first, last] = [this.#marks[0], this.#marks.at(-1)]
    const seconds = first === undefined || last === undefined ? 0 : (last.at - first.at) / 1000
    const bytesPerSecond = seconds > 0 ? (last!.bytes - first!.bytes) / seconds : 0
    const rest = this.left * Math.max(...this.#files.map((file) => file.total))
    const isSized = this.#files.every((file) => file.isSized)
    this.#report?.({
      loaded,
      total,
      cached: this.#cached,
      ...(bytesPerSecond > 0 && { bytesPerSecond }),
      ...(bytesPerSecond > 0 && isSized && { secondsLeft: (total - loaded + rest) / bytesPerSecond }),
    })
  }
}
