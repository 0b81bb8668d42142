// A map of limited size that drops the least recently used value.

export class LruCache<Key, Value> {
  /** The most recently used value comes last. */
  readonly #values = new Map<Key, Value>()
  readonly #capacity: number
  readonly #drop: ((value: Value) => void) | undefined

  /** `drop` is called with each value that is evicted or replaced. */
  constructor(capacity: number, drop?: (value: Value) => void) {
    this.#capacity = capacity
    this.#drop = drop
  }

  /** Whether the key has a value. Does not count as a use. */
  has(key: Key): boolean {
    return this.#values.has(key)
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key)
    if (value !== undefined || this.#values.has(key)) this.#use(key, value as Value)
    return value
  }

  set(key: Key, value: Value): void {
    const before = this.#values.get(key)
    if (before !== undefined && before !== value) this.#drop?.(before)
    this.#use(key, value)
    if (this.#values.size <= this.#capacity) return
    const [oldest, dropped] = this.#values.entries().next().value!
    this.#values.delete(oldest)
    this.#drop?.(dropped)
  }

  /** Returns the key's value, or creates and stores it if there is none. */
  memo(key: Key, make: () => Value): Value {
    if (!this.#values.has(key)) this.set(key, make())
    return this.get(key) as Value
  }

  clear(): void {
    const dropped = [...this.#values.values()]
    this.#values.clear()
    for (const value of dropped) this.#drop?.(value)
  }

  #use(key: Key, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
  }
}
