// Frames. In: requests to draw, often many at once. Out: one drawing in the next frame.

/** An answer may bring many chunks in a frame. A hidden page has no frames, so it draws at once. */
export class Frames {
  readonly #draw: () => void
  #isScheduled = false

  constructor(draw: () => void) {
    this.#draw = draw
  }

  schedule(): void {
    if (this.#isScheduled) return
    if (document.hidden) {
      this.#draw()
      return
    }
    this.#isScheduled = true
    requestAnimationFrame(() => {
      this.#isScheduled = false
      this.#draw()
    })
  }
}
