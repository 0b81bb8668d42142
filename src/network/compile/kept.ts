// A cache of data made for certain shapes, by key: the least recently used entry is dropped when there are
// too many.

/** Plans that are kept. */
const MOST_PLANS = 32

export class Kept<Plan> {
  readonly #plans = new Map<string, Plan>()
  readonly #drop: (plan: Plan) => void

  /** `drop` frees a plan's resources. */
  constructor(drop: (plan: Plan) => void) {
    this.#drop = drop
  }

  get(key: string): Plan | undefined {
    const plan = this.#plans.get(key)
    if (plan !== undefined) {
      this.#plans.delete(key)
      this.#plans.set(key, plan)
    }
    return plan
  }

  set(key: string, plan: Plan): void {
    this.#plans.set(key, plan)
    if (this.#plans.size <= MOST_PLANS) return
    const [oldest, dropped] = this.#plans.entries().next().value!
    this.#plans.delete(oldest)
    this.#drop(dropped)
  }

  clear(): void {
    for (const plan of this.#plans.values()) this.#drop(plan)
    this.#plans.clear()
  }
}
