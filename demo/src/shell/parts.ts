// Lazy parts. In: dynamic imports of the page's code. Out: whether each one loaded, and whether any is
// missing.

/** Parts of the page's code; one that does not load may belong to a removed build. */
export class Parts {
  readonly #missing = new Set<() => Promise<unknown>>()
  readonly #changed: () => void

  /** `changed` is called when a part turns out to be missing or has loaded after all. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  get isMissing(): boolean {
    return this.#missing.size > 0
  }

  /** False if the part could not be loaded. */
  async load(part: () => Promise<unknown>): Promise<boolean> {
    try {
      await part()
      if (this.#missing.delete(part)) this.#changed()
      return true
    } catch {
      this.#missing.add(part)
      this.#changed()
      return false
    }
  }
}
