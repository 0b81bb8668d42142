// Signals that stop a server: the first one stops it gracefully, the second ends the process at once.

import { EXIT_CODES } from '../terminal/failure.ts'

/** The exit code that shells report for a process ended by SIGTERM. */
const TERMINATED = 143

type StopName = 'SIGINT' | 'SIGTERM'

export class StopSignals implements Disposable {
  readonly #stop = new AbortController()
  #name: StopName | undefined
  readonly #listener = (name: StopName) => {
    if (this.#name !== undefined) process.exit(name === 'SIGINT' ? EXIT_CODES.stopped : TERMINATED)
    this.#name = name
    this.#stop.abort()
  }

  constructor() {
    process.on('SIGINT', this.#listener)
    process.on('SIGTERM', this.#listener)
  }

  /** Aborts at the first signal. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** The name of the first signal. */
  get name(): StopName | undefined {
    return this.#name
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#listener)
    process.off('SIGTERM', this.#listener)
  }
}
