// Repainting. In: many requests. Out: few paints: at most one per frame, and fewer if each takes long.
import { nextTask } from '../../shell/tasks.ts'

/** Maximum share of time for painting; the rest is for input. */
const SHARE = 0.5

/** Paints as often as the page can afford. */
export class Repaint {
  readonly #paint: () => Promise<void>
  readonly #painted: (ms: number) => void
  #isAsked = false
  #isBusy = false
  /** Nothing is painted before this time on the page's clock. */
  #earliest = 0

  /**
   * `paint` updates and lays out the page in microtasks. `painted` gets the duration of that work or of the
   * frame, whichever is longer.
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
      // In one task, changes and painting would block a slow page. This lets input through in between.
      const painted = await frameTime()
      this.#earliest = performance.now() + (laidOut + painted) * (1 / SHARE - 1)
      this.#painted(Math.max(laidOut, painted))
    }
    this.#isBusy = false
  }
}

/** Resolves after the next frame with the time it took. While the page is hidden, there are no frames. */
const frameTime = (): Promise<number> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => {
      const start = performance.now()
      // By the next task, the browser has done layout and painting.
      setTimeout(() => resolve(performance.now() - start))
    })
  })
