// Used values. In: values one after another, as canonical texts. Out: whether a value is among them.
// Immutable: adding creates a new set that shares as much as possible.

/** Maximum number of values outside the shared sets before all are merged into one set. */
const MAX_ADDED = 32

export class Taken {
  static readonly none = new Taken(new Set(), [])
  readonly #shared: ReadonlySet<string>
  readonly #added: readonly string[]

  private constructor(shared: ReadonlySet<string>, added: readonly string[]) {
    this.#shared = shared
    this.#added = added
  }

  get size(): number {
    return this.#shared.size + this.#added.length
  }

  has(value: string): boolean {
    return this.#shared.has(value) || this.#added.includes(value)
  }

  with(value: string): Taken {
    const added = [...this.#added, value]
    if (added.length <= MAX_ADDED) return new Taken(this.#shared, added)
    return new Taken(new Set([...this.#shared, ...added]), [])
  }

  filter(test: (value: string) => boolean): readonly string[] {
    return [...this.#shared, ...this.#added].filter(test)
  }

  some(test: (value: string) => boolean): boolean {
    if (this.#added.some(test)) return true
    for (const value of this.#shared) if (test(value)) return true
    return false
  }
}
