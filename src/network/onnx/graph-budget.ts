// The budget of a graph: the limits for understanding, planning and running it. The evaluator, the passes and
// the lowering charge for work before they do it.
import { Budget, type Excess } from '../../core/base/budget.ts'
import { HalfbyteError } from '../../core/base/errors.ts'

/** The limits of a network's graph; every key is optional. Each is a count or `Infinity`. */
export interface NetworkLimits {
  /**
   * Units of work before a run: precomputed elements, table entries, nodes and loops of the program. Default
   * 2^27, about 3 s.
   */
  readonly planning?: number | undefined
  /**
   * Steps of a run: multiplications in products; any other elementwise instruction counts as 16. Default
   * 2^40, about a minute on one core.
   */
  readonly steps?: number | undefined
  /** Bytes of the values that a run holds at once, excluding the file's weights. Default 512 MiB. */
  readonly bytes?: number | undefined
}

/** Units for elements read and written, products summed, and nodes. About 3 s. */
const MAX_WORK = 2 ** 27
/** Maximum bytes of live values. */
const MAX_BYTES = 2 ** 28
/** Limits of a network's run: its steps, and the bytes of its values. */
const MAX_STEPS = 2 ** 40
const MAX_RUN_BYTES = 2 ** 29

export const NETWORK_LIMITS: Readonly<Record<keyof NetworkLimits, number>> = Object.freeze({
  planning: MAX_WORK,
  steps: MAX_STEPS,
  bytes: MAX_RUN_BYTES,
})

/** The work budget of one decoder file. */
export const graphBudget = (signal?: AbortSignal): Budget =>
  new Budget({ work: MAX_WORK, bytes: MAX_BYTES, signal, refuse: tooMuch })

const tooMuch = ({ what, asked, most }: Excess): HalfbyteError =>
  new HalfbyteError(
    'out-of-memory',
    what === 'work'
      ? `reading the graph takes ${asked} steps of work but the limit is ${most}; export the model with less computed in its graph, or as GGUF or safetensors`
      : `the graph holds ${asked} bytes of computed values at once but the limit is ${most}; export the model with smaller masks and tables, or as GGUF or safetensors`,
    { what, asked, most },
  )

/** The budget of one program of a network: for its passes, the evaluator and its runs. */
export class ProgramBudget extends Budget {
  readonly #steps: number
  readonly #bytes: number
  #asked = 0

  constructor({ planning, steps, bytes }: NetworkLimits = {}, signal?: AbortSignal) {
    const most = bytes ?? NETWORK_LIMITS.bytes
    super({
      work: planning ?? NETWORK_LIMITS.planning,
      // Precomputed constants are copied into the network's memory.
      bytes: most / 2,
      signal,
      refuse: ({ what, asked, most }) =>
        what === 'work'
          ? beyond('planning', `planning it takes ${asked} units of work`, asked, most)
          : beyond('bytes', `precomputed constants take ${asked} bytes`, asked, 2 * most),
    })
    this.#steps = steps ?? NETWORK_LIMITS.steps
    this.#bytes = most
  }

  /** Charges for steps of a run. `node`: the node that needs them. */
  step(node: string, steps: number): void {
    this.#asked += steps
    if (!(this.#asked <= this.#steps))
      throw beyond('steps', `a run takes ${this.#asked} steps up to node ${node}`, this.#asked, this.#steps)
  }

  /** Resets the count of steps, for a program that is compiled again. */
  startAgain(): void {
    this.#asked = 0
  }

  /** Checks the bytes that a run holds at once. `what`: makes a noun for them. */
  room(what: () => string, bytes: number): void {
    if (!(bytes <= this.#bytes)) throw beyond('bytes', `${what()} takes ${bytes} bytes`, bytes, this.#bytes)
  }
}

export const beyond = (
  limit: keyof NetworkLimits,
  what: string,
  asked: number,
  most: number,
): HalfbyteError =>
  new HalfbyteError(
    'out-of-memory',
    `the network exceeds a limit: ${what}, but the limit is ${most}; give smaller inputs, or raise limits.${limit} of Network.load if you trust the file`,
    { limit, asked, most },
  )
