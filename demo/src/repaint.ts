// Repainting. In: many requests. Out: few paintings, one per frame at most, and fewer when each takes long.

/** Longest share of the time that painting may take: the rest is for the person's input. */
const SHARE = 0.25

/** Paints as often as the page can afford. */
export class Repaint {
  readonly #paint: () => Promise<unknown>
  #isAsked = false
  /** Before this time, on the page's clock, nothing is painted. */
  #earliest = 0

  /** `paint` resolves when the page shows what it was told. */
  constructor(paint: () => Promise<unknown>) {
    this.#paint = paint
  }

  request(): void {
    if (this.#isAsked) return
    this.#isAsked = true
    const wait = this.#earliest - performance.now()
    if (wait > 0) setTimeout(() => requestAnimationFrame(this.#frame), wait)
    else requestAnimationFrame(this.#frame)
  }

  readonly #frame = (): void => {
    this.#isAsked = false
    const start = performance.now()
    void this.#paint().then(() => {
      const end = performance.now()
      this.#earliest = end + (end - start) * (1 / SHARE - 1)
    })
  }
}
