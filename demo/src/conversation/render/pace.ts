// Pacing. In: frame times. Out: how many characters the next frame may add.

/** Main-thread time that a frame may take, in milliseconds: half of what counts as a long task. */
const FRAME_MS = 25
/** Growth factor of the characters per frame while frames are much faster than that. */
const GROWTH = 1.25

export class Pace {
  /** Characters that the next frame adds. */
  letters: number
  /**
   * Minimum number of characters per frame. A frame has a fixed cost, so a slow page must not fall further
   * behind.
   */
  least: number

  constructor(first: number, least: number) {
    this.letters = first
    this.least = least
  }

  /** Call this with the duration of a frame. `isFull`: the frame added as much as it was allowed to. */
  took(ms: number, isFull: boolean): void {
    if (ms > FRAME_MS) this.letters = Math.max(this.least, Math.floor((this.letters * FRAME_MS) / ms))
    else if (isFull) this.letters = Math.ceil(this.letters * GROWTH)
  }
}
