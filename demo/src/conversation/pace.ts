// Pace. In: how long frames take. Out: how many letters the next one may add to what is shown.

/** What a frame may take of the page's own thread, in milliseconds: half of what counts as a long task. */
const FRAME_MS = 25
/** How fast frames grow that are far from that. */
const GROWTH = 1.25

export class Pace {
  /** Letters that the next frame adds. */
  letters: number
  /** What each adds at least: frames cost more than letters, and a page that is starved must not fall ever further behind. */
  least: number

  constructor(first: number, least: number) {
    this.letters = first
    this.least = least
  }

  /** A frame took so long. `isFull`: it added as much as it might. */
  took(ms: number, isFull: boolean): void {
    if (ms > FRAME_MS) this.letters = Math.max(this.least, Math.floor((this.letters * FRAME_MS) / ms))
    else if (isFull) this.letters = Math.ceil(this.letters * GROWTH)
  }
}
