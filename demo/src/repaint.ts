// Repainting. In: many requests. Out: few paintings, one per frame at most, and fewer when each takes long.

/** Longest share of the time that painting may take: the rest is for the person's input. */
const SHARE = 0.25

/** Paints as often as the page can afford. */
export class Repaint {
  readonly #paint: () => void
  readonly #painted: (ms: number) => void
  #isAsked = false
  #isPainting = false
  /** Before this time, on the page's clock, nothing is painted. */
  #earliest = 0

  /** `paint` changes what the page shows, at once or in microtasks. `painted` learns how long the frame took with style and layout. */
  constructor(paint: () => void, painted: (ms: number) => void) {
    this.#paint = paint
    this.#painted = painted
  }

  request(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    if (!this.#isPainting) this.#wait()
  }

  #wait(): void {
    const wait = this.#earliest - performance.now()
    if (wait > 0) setTimeout(() => requestAnimationFrame(this.#frame), wait)
    else requestAnimationFrame(this.#frame)
  }

  readonly #frame = (): void => {
    this.#isAsked = false
    this.#isPainting = true
    const start = performance.now()
    this.#paint()
    // The next task: the browser has laid out and painted before it.
    setTimeout(() => {
      const end = performance.now()
      this.#earliest = end + (end - start) * (1 / SHARE - 1)
      this.#isPainting = false
      this.#painted(end - start)
      if (this.#isAsked) this.#wait()
    })
  }
}
