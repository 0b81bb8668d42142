// Saving an answer that grows. In: word that it has grown, and that the page may end. Out: saves of it, each
// soon after what it saves.

/** Most milliseconds from growth to its save. What ends the page without a word loses at most this much. */
const MOST_WAIT_MS = 500

/** Saves what has grown at once, and then at most once per `MOST_WAIT_MS`. */
export class GrowthSaver {
  readonly #save: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #saved = Number.NEGATIVE_INFINITY

  constructor(save: () => void) {
    this.#save = save
  }

  /** Call it when there is more to save. */
  grown(): void {
    const waited = performance.now() - this.#saved
    // Not by the timer alone, which may run once a minute in a page that is hidden.
    if (waited >= MOST_WAIT_MS) this.#now()
    else this.#timer ??= setTimeout(() => this.#now(), MOST_WAIT_MS - waited)
  }

  /** Saves pending changes within this task. */
  flush(): void {
    if (this.#timer !== undefined) this.#now()
  }

  /** Drops the pending save: the answer is stored elsewhere, or was discarded. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#saved = Number.NEGATIVE_INFINITY
  }

  #now(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#saved = performance.now()
    this.#save()
  }
}
