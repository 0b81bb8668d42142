// A queue that runs one piece of work at a time, in the order in which they were asked for.
import { unlessAborted } from './abort.ts'

export class SerialQueue {
  /** Resolves when all work so far has settled. */
  #settled: Promise<unknown> = Promise.resolve()

  /** Resolves when everything that is in the queue now has settled. Never rejects. */
  async settled(): Promise<void> {
    await this.#settled
  }

  /**
   * Runs `work` when all earlier work has settled, whether it succeeded or failed. Rejects with the signal's
   * reason as soon as it aborts: work that still waits then never begins, and work that has begun keeps its
   * place until it settles.
   */
  run<Result>(work: () => Result | Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const result = this.#settled.then(() => {
      signal?.throwIfAborted()
      return work()
    })
    this.#settled = result.catch(() => undefined)
    return unlessAborted(result, signal)
  }

  /** Makes later work wait until `work`, which runs already, has settled. */
  add(work: Promise<unknown>): void {
    this.#settled = Promise.allSettled([this.#settled, work])
  }

  /**
   * Takes the next place in the queue and resolves with a function that leaves it. Rejects with the signal's
   * reason if it aborts before; the place is then free.
   */
  async enter(signal?: AbortSignal): Promise<() => void> {
    let leave = () => {}
    const earlier = this.settled()
    this.add(
      new Promise<void>((resolve) => {
        leave = resolve
      }),
    )
    try {
      await unlessAborted(earlier, signal)
    } catch (error) {
      leave()
      throw error
    }
    return leave
  }
}
