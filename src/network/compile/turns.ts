// Work that comes one after the other: runs of a graph share one arena.

export class Turns {
  /** The last requested work. */
  #last: Promise<unknown> = Promise.resolve()

  /**
   * Does the work when all earlier work has ended, well or not. An abort rejects at once with the signal's
   * reason, also while the work waits; it then does not begin.
   */
  take<Made>(work: () => Promise<Made>, signal?: AbortSignal): Promise<Made> {
    const made = this.#last.then(() => {
      signal?.throwIfAborted()
      return work()
    })
    this.#last = made.catch(() => undefined)
    return signal === undefined ? made : orAborted(made, signal)
  }
}

function orAborted<Made>(made: Promise<Made>, signal: AbortSignal): Promise<Made> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort)
    made.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
