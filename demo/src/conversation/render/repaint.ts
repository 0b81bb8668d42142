// Repainting. In: many requests. Out: few paintings: at most one per frame, and fewer when each takes long.
import { nextTask } from '../../shell/tasks.ts'

/** Largest share of the time that painting may take; the rest is for input. */
const SHARE = 0.5

/** Paints as often as the page can afford. */
export class Repaint {
  readonly #paint: () => Promise<void>
  readonly #painted: (ms: number) => void
  #isAsked = false
  #isBusy = false
  /** Nothing is painted before this time of the page's clock. */
  #earliest = 0

  /**
   * `paint` changes what the page shows and lays it out, in microtasks. `painted` gets the time of that work
   * or of the frame, the longer of the two.
   */
  constructor(paint: () => Promise<void>, painted: (ms: number) => void) {
    this.#paint = paint
    this.#painted = painted
  }

  /** `isUrgent`: the user is waiting. */
  request(isUrgent = false): void {
    if (isUrgent) this.#earliest = 0
    this.#isAsked = true
    if (!this.#isBusy) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    while (this.#isAsked) {
      const wait = this.#earliest - performance.now()
      await (wait > 0 ? new Promise((resolve) => setTimeout(resolve, wait)) : nextTask())
      this.#isAsked = false
      const start = performance.now()
      await this.#paint()
      const laidOut = performance.now() - start
      // In one task, changes and painting would block a slow page. This lets input in between.
      const painted = await frameTime()
      this.#earliest = performance.now() + (laidOut + painted) * (1 / SHARE - 1)
      this.#painted(Math.max(laidOut, painted))
    }
    this.#isBusy = false
  }
}

/** Resolves after the next frame with the time it took. While the page is hidden, there is none. */
const frameTime = (): Promise<number> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => {
      const start = performance.now()
      // By the next task, the browser has done layout and painting.
      setTimeout(() => resolve(performance.now() - start))
    })
  })
