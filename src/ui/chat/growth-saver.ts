// Saves a streaming answer. In: notices that it has new text, and that the page may close. Out: timely saves.

/** Maximum milliseconds from new text to its save. A sudden end of the page loses at most this much. */
const MAX_WAIT_MS = 500

/** Saves new text at once, and then at most once per `MAX_WAIT_MS`. */
export class GrowthSaver {
  readonly #save: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #saved = Number.NEGATIVE_INFINITY

  constructor(save: () => void) {
    this.#save = save
  }

  /** Call this when there is new text to save. */
  grown(): void {
    const waited = performance.now() - this.#saved
    // The timer alone is not enough: in a hidden page it may fire only once a minute.
    if (waited >= MAX_WAIT_MS) this.#now()
    else this.#timer ??= setTimeout(() => this.#now(), MAX_WAIT_MS - waited)
  }

  /** Saves pending changes in this task. */
  flush(): void {
    if (this.#timer !== undefined) this.#now()
  }

  /** Cancels the pending save: the answer was stored elsewhere or discarded. */
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
