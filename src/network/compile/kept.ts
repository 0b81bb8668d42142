// What was made for some shapes, by key: what was not used for longest goes when there are too many.

/** Programs that are kept. */
const MOST_PROGRAMS = 32

export class Kept<Made> {
  readonly #made = new Map<string, Made>()
  readonly #drop: (made: Made) => void

  /** `drop` frees what a program has. */
  constructor(drop: (made: Made) => void) {
    this.#drop = drop
  }

  get(key: string): Made | undefined {
    const made = this.#made.get(key)
    if (made !== undefined) {
      this.#made.delete(key)
      this.#made.set(key, made)
    }
    return made
  }

  set(key: string, made: Made): void {
    this.#made.set(key, made)
    if (this.#made.size <= MOST_PROGRAMS) return
    const [oldest, dropped] = this.#made.entries().next().value!
    this.#made.delete(oldest)
    this.#drop(dropped)
  }

  clear(): void {
    for (const made of this.#made.values()) this.#drop(made)
    this.#made.clear()
  }
}
