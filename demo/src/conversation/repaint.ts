// Repainting. In: many requests. Out: few paintings, one per frame at most, and fewer when each takes long.
import { nextTask } from '../shell/tasks.ts'

/** Longest share of the time that painting may take: the rest is for the person's input. */
const SHARE = 0.5

/** Paints as often as the page can afford. */
export class Repaint {
  readonly #paint: () => Promise<void>
  readonly #painted: (ms: number) => void
  #isAsked = false
  #isBusy = false
  /** Before this time, on the page's clock, nothing is painted. */
  #earliest = 0

  /** `paint` changes what the page shows and has it laid out, in microtasks. `painted` learns how long that or the frame took, whichever was longer. */
  constructor(paint: () => Promise<void>, painted: (ms: number) => void) {
    this.#paint = paint
    this.#painted = painted
  }

  /** `isUrgent`: the person waits for it. */
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
      // In one task, changes and painting would hold a slow page up: so input comes in between.
      const painted = await frameTime()
      this.#earliest = performance.now() + (laidOut + painted) * (1 / SHARE - 1)
      this.#painted(Math.max(laidOut, painted))
    }
    this.#isBusy = false
  }
}

/** Resolves behind the next frame, with the time that it took. There is none while nobody sees the page. */
const frameTime = (): Promise<number> =>
  new Promise((resolve) => {
    requestAnimationFrame(() => {
      const start = performance.now()
      // The next task: the browser has laid out and painted before it.
      setTimeout(() => resolve(performance.now() - start))
    })
  })
