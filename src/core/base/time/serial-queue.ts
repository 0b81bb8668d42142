// A queue that runs one piece of work at a time, in the order of the requests.
import { unlessAborted } from './abort.ts'

export class SerialQueue {
  /** Resolves once all work so far has settled. */
  #settled: Promise<unknown> = Promise.resolve()

  /** Resolves once everything that is now in the queue has settled. Never rejects. */
  async settled(): Promise<void> {
    await this.#settled
  }

  /**
   * Runs `work` when all earlier work has settled, whether it succeeded or failed. Rejects with the signal's
   * reason as soon as it aborts: waiting work then never begins, and running work keeps its place until it
   * settles.
   */
  run<Result>(work: () => Result | Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const result = this.#settled.then(() => {
      signal?.throwIfAborted()
      return work()
    })
    this.#settled = result.catch(() => undefined)
    return unlessAborted(result, signal)
  }

  /** Makes later work wait until `work`, which is already running, has settled. */
  add(work: Promise<unknown>): void {
    this.#settled = Promise.allSettled([this.#settled, work])
  }

  /**
   * Takes the next place in the queue and resolves with a function that releases it. Rejects with the
   * signal's reason if it aborts first; the place is then released.
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
