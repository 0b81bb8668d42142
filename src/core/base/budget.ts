// Budgets limit how much an untrusted file or text can make the engine compute. Work is charged before it is
// done, and exceeding a limit throws the owner's error.
import type { HalfbyteError } from './errors.ts'

/** What ran out, the total requested, and the limit. */
export interface Excess {
  readonly what: 'work' | 'bytes'
  readonly asked: number
  readonly most: number
}

export interface Limits {
  /** Maximum number of units of work. The owner defines the unit. */
  readonly work: number
  /** Maximum bytes held at once. Default: no limit. */
  readonly bytes?: number
  /** When this signal aborts, the work throws its reason. */
  readonly signal?: AbortSignal | undefined
  /** Creates the error, which names both numbers and the next step. */
  readonly refuse: (excess: Excess) => HalfbyteError
}

/** Lets pending events run. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}

/**
 * Like `eventLoopTurn`, but without a timer, which browsers delay by milliseconds. For the first message of a
 * channel, Node loads its fetch, which takes as long as the load of a small network.
 */
export async function quickTurn(): Promise<void> {
  const { setImmediate: immediately } = globalThis as { setImmediate?: (then: () => void) => void }
  if (immediately !== undefined) return await new Promise((resolve) => immediately(resolve))
  const { port1, port2 } = new MessageChannel()
  await new Promise((resolve) => {
    port1.onmessage = resolve
    port2.postMessage(0)
  })
  port1.close()
}

/** Units of work between two turns of the event loop: about 50 ms. */
const TURN_UNITS = 1 << 20

/** One budget covers all work that one input causes. Once exceeded, it stays exceeded. */
export class Budget {
  readonly #limits: Limits
  #spent = 0
  #held = 0
  #spentAtTurn = 0
  #error: HalfbyteError | undefined

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Units of work spent so far. */
  get spentUnits(): number {
    return this.#spent
  }

  /** Bytes currently held. */
  get heldBytes(): number {
    return this.#held
  }

  /** Charges for work before it is done. */
  spend(units: number): void {
    this.#spent += units
    // Written so that NaN is rejected too.
    if (!(this.#spent <= this.#limits.work)) this.#exceed('work', this.#spent, this.#limits.work)
    this.#limits.signal?.throwIfAborted()
  }

  /** Charges for memory until it is released. */
  hold(bytes: number): void {
    const { bytes: most = Infinity } = this.#limits
    this.#held += bytes
    if (!(this.#held <= most)) this.#exceed('bytes', this.#held, most)
  }

  release(bytes: number): void {
    this.#held -= bytes
  }

  /** Throws if a limit was exceeded, for callers that catch other errors and continue. */
  check(): void {
    if (this.#error !== undefined) throw this.#error
  }

  /** Starts again with the same limits, for the next of several pieces of work. */
  renew(): void {
    this.#spent = 0
    this.#spentAtTurn = 0
    this.#error = undefined
  }

  /**
   * Yields to the event loop if much work was done since the last turn, so that an abort can arrive. Throws
   * the signal's reason.
   */
  async turn(): Promise<void> {
    if (this.#spent - this.#spentAtTurn >= TURN_UNITS) {
      this.#spentAtTurn = this.#spent
      await eventLoopTurn()
    }
    this.#limits.signal?.throwIfAborted()
  }

  #exceed(what: Excess['what'], asked: number, most: number): never {
    this.#error ??= this.#limits.refuse({ what, asked, most })
    throw this.#error
  }
}
