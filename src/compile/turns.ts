// Work that comes one after the other: runs of a graph share one arena.

export class Turns {
  /** The last work that was asked for. */
  #last: Promise<unknown> = Promise.resolve()

  /** Does the work when all earlier work has ended, well or not. */
  take<Made>(work: () => Promise<Made>): Promise<Made> {
    const made = this.#last.then(work)
    this.#last = made.catch(() => undefined)
    return made
  }
}
