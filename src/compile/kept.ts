// What was made for some shapes, by key: the oldest goes when there are too many.

/** Plans that are kept. */
const MOST_PLANS = 32

export class Kept<Plan> {
  readonly #plans = new Map<string, Plan>()

  get(key: string): Plan | undefined {
    return this.#plans.get(key)
  }

  set(key: string, plan: Plan): void {
    this.#plans.set(key, plan)
    if (this.#plans.size > MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value!)
  }
}
