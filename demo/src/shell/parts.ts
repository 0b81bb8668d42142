// Parts. In: imports of the page's code that follow later. Out: whether they came, and whether one is
// missing.

/** Parts of the page's code; one that does not come may belong to a build that is gone. */
export class Parts {
  readonly #missing = new Set<() => Promise<unknown>>()
  readonly #changed: () => void

  /** `changed` is called when something is missing, or no longer. */
  constructor(changed: () => void) {
    this.#changed = changed
  }

  get isMissing(): boolean {
    return this.#missing.size > 0
  }

  /** False if the part could not be had. */
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
